// SPDX-License-Identifier: MIT
#include "azure_fixture.hpp"

#include "tests/emulators/azure/crypto.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_login = cloud;

const std::string grant = "grant_type=client_credentials";
const std::string id = "&client_id=33333333-3333-3333-3333-333333333333";
const std::string secret = "&client_secret=emulator-secret";
const std::string scope = "&scope=https%3A%2F%2Fmanagement.azure.com%2F.default";

TEST_F(azure_login, grants_a_token_with_the_claims_that_clients_read) {
  const auto a = raw("POST", "/" + tenant_1 + "/oauth2/v2.0/token", grant + id + secret + scope);
  ASSERT_EQ(a.status, 200);
  EXPECT_EQ(a.body["token_type"].string_or(""), "Bearer");
  EXPECT_EQ(a.body["expires_in"].integer(), 3599);
  const std::string token = a.body["access_token"].string_or("");
  const auto parts = base::split(token, '.');
  ASSERT_EQ(parts.size(), 3U);
  const auto claims = parsed(from_base64url(parts[1]));
  EXPECT_EQ(claims["tid"].string_or(""), tenant_1);
  EXPECT_EQ(claims["aud"].string_or(""), "https://management.azure.com");
  EXPECT_FALSE(claims["oid"].string_or("").empty());
  EXPECT_EQ(claims["exp"].integer().value_or(0) - claims["iat"].integer().value_or(0), 3599);
}

TEST_F(azure_login, answers_v1_and_adfs_and_a_scope_with_a_double_slash) {
  const auto v1 = raw(
      "POST", "/" + tenant_1 + "/oauth2/token", grant + id + secret + "&resource=https%3A%2F%2Fx%2F"
  );
  EXPECT_EQ(v1.status, 200);
  EXPECT_EQ(v1.body["expires_in"].string_or(""), "3599") << "v1 writes its numbers as text";
  EXPECT_EQ(v1.body["resource"].string_or(""), "https://x/");
  const auto adfs = raw(
      "POST", "/adfs/oauth2/token", grant + id + secret + "&scope=https%3A%2F%2Fhost%2F%2F.default"
  );
  EXPECT_EQ(adfs.status, 200);
  EXPECT_EQ(adfs.body["expires_in"].integer(), 3599);
}

TEST_F(azure_login, refuses_with_the_codes_of_entra) {
  seed(R"({"applications":[
    {"client_id":"33333333-3333-3333-3333-333333333333"},
    {"client_id":"55555555-5555-5555-5555-555555555555","secret_expired":true}]})");

  struct row {
    std::string tenant;
    std::string form;
    int status;
    std::string error;
    int code;
  };

  const row rows[] = {
      {tenant_1, grant + id + "&client_secret=wrong" + scope, 401, "invalid_client", 7000215},
      {tenant_1,
       grant + "&client_id=55555555-5555-5555-5555-555555555555" + secret + scope,
       401,
       "invalid_client",
       7000222},
      {tenant_1,
       grant + "&client_id=66666666-6666-6666-6666-666666666666" + secret + scope,
       400,
       "unauthorized_client",
       700016},
      {"77777777-7777-7777-7777-777777777777",
       grant + id + secret + scope,
       400,
       "invalid_tenant",
       90002},
      {"nonsense", grant + id + secret + scope, 400, "invalid_request", 900023},
      {tenant_1, grant + id + scope, 400, "invalid_request", 900144},
      {tenant_1, id + secret + scope, 400, "invalid_request", 900144},
      {tenant_1, grant + id + secret, 400, "invalid_request", 900144},
      {tenant_1, grant + id + secret + "&scope=user.read", 400, "invalid_scope", 70011},
      {tenant_1, "grant_type=password" + id + secret + scope, 400, "unsupported_grant_type", 70003},
  };
  for (const auto& r : rows) {
    const auto a = raw("POST", "/" + r.tenant + "/oauth2/v2.0/token", r.form);
    EXPECT_EQ(a.status, r.status) << r.code;
    EXPECT_EQ(a.body["error"].string_or(""), r.error) << r.code;
    EXPECT_EQ(a.body["error_codes"][0].integer(), r.code);
    EXPECT_EQ(
        a.body["error_description"].string_or("").rfind("AADSTS" + std::to_string(r.code), 0), 0U
    );
    EXPECT_EQ(a.body.dump().find("emulator-secret"), std::string::npos);
  }
}

TEST_F(azure_login, describes_itself_by_openid_configuration) {
  const auto a = raw("GET", "/" + tenant_1 + "/v2.0/.well-known/openid-configuration");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(
      a.body["token_endpoint"].string_or(""), base_url + "/" + tenant_1 + "/oauth2/v2.0/token"
  );
  EXPECT_EQ(
      raw("GET", "/adfs/.well-known/openid-configuration").body["token_endpoint"].string_or(""),
      base_url + "/adfs/oauth2/token"
  );
  const auto unknown =
      raw("GET", "/77777777-7777-7777-7777-777777777777/v2.0/.well-known/openid-configuration");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.body["error_codes"][0].integer(), 90002);
  EXPECT_EQ(raw("GET", "/common/discovery/instance?api-version=1.1").status, 200);
}

TEST_F(azure_login, arm_refuses_absent_broken_foreign_and_expired_tokens) {
  const std::string path = subscription_1 + "?api-version=2022-12-01";
  const auto absent = raw("GET", path);
  EXPECT_EQ(absent.status, 401);
  EXPECT_EQ(absent.code(), "AuthenticationFailed");
  EXPECT_NE(absent.header("WWW-Authenticate").find("/" + tenant_1 + "\""), std::string::npos)
      << "the owning tenant is how clients find it";
  EXPECT_EQ(absent.header("x-ms-failure-cause"), "gateway");
  EXPECT_EQ(raw("GET", path, "", {{"authorization", "Basic abc"}}).code(), "AuthenticationFailed");
  EXPECT_EQ(
      raw("GET", path, "", {{"authorization", "Bearer a.b.c"}}).code(), "InvalidAuthenticationToken"
  );
  EXPECT_EQ(
      raw("GET", path, "", {{"authorization", "Bearer " + token_ + "x"}}).code(),
      "InvalidAuthenticationToken"
  );
  EXPECT_EQ(get("").status, 200);
  advance(std::chrono::seconds(3600));
  EXPECT_EQ(get("").code(), "ExpiredAuthenticationToken");
  token_ = fetch_token();
  EXPECT_EQ(get("").status, 200);
}

TEST_F(azure_login, a_token_of_another_tenant_does_not_open_the_subscription) {
  seed(R"({"applications":[{"tenant":"other.example","client_id":"a1","secret":"s"}]})");
  token_ = fetch_token("a1", "s", "other.example");
  const auto a = get("");
  EXPECT_EQ(a.status, 401);
  EXPECT_EQ(a.code(), "InvalidAuthenticationTokenTenant");
}

TEST_F(azure_login, an_unknown_subscription_is_404_with_and_without_token) {
  const std::string path = "/subscriptions/88888888-8888-8888-8888-888888888888";
  const auto anonymous = raw("GET", path + "?api-version=2022-12-01");
  EXPECT_EQ(anonymous.status, 404);
  EXPECT_EQ(anonymous.header("WWW-Authenticate"), "");
  EXPECT_EQ(arm("GET", path).code(), "SubscriptionNotFound");
}

} // namespace
} // namespace siteagent::azure_emulator
