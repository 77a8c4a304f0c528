// SPDX-License-Identifier: MIT
// Logging in without a client secret: assertions by certificate and by federation, managed
// identities, claims challenges.
#include "azure_fixture.hpp"

#include "tests/emulators/azure/crypto.hpp"
#include "tests/emulators/azure/keys.hpp"
#include "tests/unit/azure/credential_keys.hpp"

#include <functional>

namespace siteagent::azure_emulator {
namespace {

using azure::test::make_certificate;
using azure::test::sign_jwt;
using azure::test::test_certificate;
using base::json;

const std::string client = "33333333-3333-3333-3333-333333333333";

class azure_login_proof : public cloud {
protected:
  // Making keys takes its time: two for all tests.
  static const test_certificate& ours() {
    static const test_certificate one = make_certificate(base::manual_clock().wall());
    return one;
  }

  static const test_certificate& other() {
    static const test_certificate one = make_certificate(base::manual_clock().wall());
    return one;
  }

  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch())
        .count();
  }

  void register_certificate(const std::string& more = "") {
    seed(
        R"({"applications":[{"client_id":")" + client + R"(","certificates":[)" +
        json(ours().certificate).dump() + "]}]" + more + "}"
    );
  }

  std::string token_url(const std::string& tenant = tenant_1) const {
    return base_url + "/" + tenant + "/oauth2/v2.0/token";
  }

  json header() const {
    const auto facts = certificate_of(ours().certificate);
    return json::object({{"alg", "RS256"}, {"x5t", facts->sha1}, {"x5t#S256", facts->sha256}});
  }

  json claims() const {
    return json::object(
        {{"aud", token_url()},
         {"iss", client},
         {"sub", client},
         {"jti", "one"},
         {"nbf", now()},
         {"exp", now() + 600}}
    );
  }

  answer log_in(const std::string& assertion, const std::string& path = "") {
    return raw(
        "POST",
        path.empty() ? "/" + tenant_1 + "/oauth2/v2.0/token" : path,
        net::build_query(
            {{"grant_type", "client_credentials"},
             {"client_id", client},
             {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
             {"client_assertion", assertion},
             {"scope", "https://management.azure.com/.default"}}
        )
    );
  }

  answer log_in(const json& head, const json& body) {
    return log_in(sign_jwt(ours(), head.dump(), body.dump()));
  }

  static std::int64_t number_of(const answer& a) {
    return a.body["error_codes"][0].integer().value_or(0);
  }
};

TEST_F(azure_login_proof, a_registered_certificate_opens_arm) {
  register_certificate();
  const auto a = log_in(header(), claims());
  ASSERT_EQ(a.status, 200) << a.body.dump();
  token_ = a.body["access_token"].string_or("");
  EXPECT_EQ(get("").status, 200);
  EXPECT_EQ(log_in(header(), claims()).status, 200) << "clients keep an assertion while it lives";
}

TEST_F(azure_login_proof, one_thumbprint_is_enough_and_the_other_endpoints_count_too) {
  register_certificate();
  for (const char* gone : {"x5t", "x5t#S256"}) {
    json head = header();
    head.erase(gone);
    EXPECT_EQ(log_in(head, claims()).status, 200) << gone;
  }
  json adfs = claims();
  adfs.set("aud", base_url + "/adfs/oauth2/token");
  EXPECT_EQ(
      log_in(sign_jwt(ours(), header().dump(), adfs.dump()), "/adfs/oauth2/token").status, 200
  );
}

struct wrong_assertion {
  std::string name;
  std::function<void(json& header, json& claims)> change;
  int code;
};

class azure_login_assertions : public azure_login_proof,
                               public testing::WithParamInterface<wrong_assertion> {};

TEST_P(azure_login_assertions, that_are_wrong_are_refused) {
  register_certificate();
  json head = header();
  json body = claims();
  GetParam().change(head, body);
  const auto a = log_in(head, body);
  EXPECT_EQ(a.status, 401) << a.body.dump();
  EXPECT_EQ(a.body["error"].string_or(""), "invalid_client");
  EXPECT_EQ(number_of(a), GetParam().code) << a.body.dump();
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    azure_login_assertions,
    testing::Values(
        wrong_assertion{"thumbprint", [](json& h, json&) { h.set("x5t#S256", "AAAA"); }, 700027},
        wrong_assertion{
            "no_thumbprint",
            [](json& h, json&) {
              h.erase("x5t");
              h.erase("x5t#S256");
            },
            700027},
        wrong_assertion{"algorithm", [](json& h, json&) { h.set("alg", "none"); }, 700027},
        wrong_assertion{
            "padding", [](json& h, json&) { h.set("alg", "PS256"); }, 700027}, // signed as RS256
        wrong_assertion{"audience", [](json&, json& c) { c.set("aud", "https://x/"); }, 700023},
        wrong_assertion{"issuer", [](json&, json& c) { c.set("iss", "somebody"); }, 700021},
        wrong_assertion{"subject", [](json&, json& c) { c.set("sub", "somebody"); }, 700021},
        wrong_assertion{"expired", [](json&, json& c) { c.set("exp", 1); }, 700024},
        wrong_assertion{"no_expiry", [](json&, json& c) { c.erase("exp"); }, 700024},
        wrong_assertion{
            "early", [](json&, json& c) { c.set("nbf", *c["exp"].integer() + 3600); }, 700024}
    ),
    [](const auto& row) { return row.param.name; }
);

TEST_F(azure_login_proof, a_foreign_key_a_broken_token_and_a_used_one_are_refused) {
  register_certificate(R"(,"assertions_only_once":true)");
  EXPECT_EQ(number_of(log_in(sign_jwt(other(), header().dump(), claims().dump()))), 700027)
      << "the thumbprint of one key and the signature of another";
  EXPECT_EQ(number_of(log_in("a.b.c")), 50027);
  EXPECT_EQ(number_of(log_in("nonsense")), 50027);
  EXPECT_EQ(log_in(header(), claims()).status, 200);
  EXPECT_EQ(number_of(log_in(header(), claims())), 700027);
  json fresh = claims();
  fresh.set("jti", "two");
  EXPECT_EQ(log_in(header(), fresh).status, 200);
}

TEST_F(azure_login_proof, an_expired_certificate_is_refused) {
  register_certificate();
  advance(std::chrono::hours(24 * 366));
  EXPECT_EQ(number_of(log_in(header(), claims())), 700027);
}

class azure_login_federation : public azure_login_proof {
protected:
  void trust(const json& key) {
    json f = json::object({{"issuer", "https://oidc.example/"}, {"subject", "repo:a/b"}});
    for (const auto& [name, value] : key.members()) {
      f.set(name, value);
    }
    seed(
        R"({"applications":[{"client_id":")" + client + R"(","federated_credentials":[)" +
        f.dump() + "]}]}"
    );
  }

  json foreign() const {
    return json::object(
        {{"iss", "https://oidc.example/"},
         {"sub", "repo:a/b"},
         {"aud", "api://AzureADTokenExchange"},
         {"exp", now() + 600}}
    );
  }

  answer present(const json& body, const test_certificate& by) {
    return log_in(sign_jwt(by, R"({"alg":"RS256","kid":"k1"})", body.dump()));
  }
};

TEST_F(azure_login_federation, a_trusted_issuers_token_opens_by_key_and_by_key_set) {
  trust(json::object({{"key", ours().public_key}}));
  EXPECT_EQ(present(foreign(), ours()).status, 200);
  const json web_key =
      json::object({{"kty", "RSA"}, {"kid", "k1"}, {"n", ours().modulus}, {"e", "AQAB"}});
  trust(json::object({{"jwks", json::object({{"keys", json::array({web_key})}})}}));
  const auto a = present(foreign(), ours());
  EXPECT_EQ(a.status, 200) << a.body.dump();
  EXPECT_EQ(number_of(present(foreign(), other())), 700027);
}

TEST_F(azure_login_federation, what_does_not_match_is_named) {
  trust(json::object({{"key", ours().public_key}}));
  const auto refused_for = [&](const char* claim, const char* value) {
    json body = foreign();
    body.set(claim, value);
    return number_of(present(body, ours()));
  };
  EXPECT_EQ(refused_for("iss", "https://evil.example/"), 700211);
  EXPECT_EQ(refused_for("aud", "api://other"), 700212);
  EXPECT_EQ(refused_for("sub", "repo:a/c"), 700213);
  EXPECT_EQ(refused_for("sub", "REPO:A/B"), 700213) << "case counts";
  EXPECT_EQ(refused_for("exp", "1"), 700024);
}

TEST_F(azure_login_proof, every_row_of_the_table_can_be_had_by_seed) {
  for (const int code : {500011, 70021, 53003, 90033, 50196, 7000112, 7000229}) {
    seed(
        R"({"applications":[{"client_id":")" + client + R"(","secret":"s","refused_with":)" +
        std::to_string(code) + "}]}"
    );
    const auto a =
        raw("POST",
            "/" + tenant_1 + "/oauth2/v2.0/token",
            "grant_type=client_credentials&client_secret=s&client_id=" + client +
                "&scope=https%3A%2F%2Fmanagement.azure.com%2F.default");
    EXPECT_EQ(number_of(a), code);
    EXPECT_GE(a.status, 400);
  }
}

TEST_F(azure_login_proof, a_wrong_seed_changes_nothing) {
  for (const char* wrong :
       {R"({"applications":[{"client_id":"a","certificates":["no pem"]}]})",
        R"({"applications":[{"client_id":"a","refused_with":4711}]})",
        R"({"applications":[{"client_id":"a","federated_credentials":[{"issuer":"i"}]}]})",
        R"({"identities":[{}]})",
        R"({"continuous_access":"yes"})"}) {
    EXPECT_FALSE(azure_.seed(parsed(wrong))) << wrong;
  }
  EXPECT_FALSE(fetch_token().empty());
}

TEST_F(azure_login_proof, a_claims_challenge_is_met_by_a_token_asked_for_with_its_claims) {
  seed(R"({"continuous_access":true})");
  const auto refused = get("");
  EXPECT_EQ(refused.status, 401);
  const std::string challenge = refused.header("WWW-Authenticate");
  EXPECT_NE(challenge.find("error=\"insufficient_claims\""), std::string::npos);
  const auto from = challenge.find("claims=\"") + 8;
  const std::string demanded =
      from_base64url(challenge.substr(from, challenge.find('"', from) - from));
  token_ = fetch_token();
  EXPECT_EQ(get("").status, 401) << "without them it is the same again";
  const auto ask = [&](const std::string& with) {
    return raw(
        "POST",
        "/" + tenant_1 + "/oauth2/v2.0/token",
        net::build_query(
            {{"grant_type", "client_credentials"},
             {"client_id", client},
             {"client_secret", "emulator-secret"},
             {"scope", "https://management.azure.com/.default"},
             {"claims", with}}
        )
    );
  };
  EXPECT_EQ(number_of(ask("{")), 9000410);
  token_ =
      ask(R"({"access_token":{"xms_cc":{"values":["CP1"]}}})").body["access_token"].string_or("");
  EXPECT_EQ(get("").status, 401) << "what a client can do is no answer to a challenge";
  token_ = ask(demanded).body["access_token"].string_or("");
  EXPECT_EQ(get("").status, 200);
}

class azure_login_identity : public cloud {
protected:
  answer ask(const std::string& query, const net::header_list& headers = {{"metadata", "true"}}) {
    return raw("GET", "/metadata/identity/oauth2/token?" + query, "", headers);
  }

  static inline const std::string right =
      "api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com%2F";
};

TEST_F(azure_login_identity, a_machine_gets_tokens_whose_numbers_are_texts) {
  seed(R"({"identities":[{"client_id":"i1","object_id":"o1"},
      {"client_id":"i2","object_id":"o2","resource_id":"/subscriptions/s/u2"}]})");
  const auto a = ask(right);
  ASSERT_EQ(a.status, 200) << a.body.dump();
  EXPECT_EQ(a.body["client_id"].string_or(""), "i1");
  EXPECT_EQ(a.body["expires_in"].string_or(""), "86399");
  EXPECT_TRUE(a.body["expires_on"].is_string());
  EXPECT_EQ(a.body["token_type"].string_or(""), "Bearer");
  EXPECT_EQ(a.body["resource"].string_or(""), "https://management.azure.com/");
  token_ = a.body["access_token"].string_or("");
  EXPECT_EQ(get("").status, 200);
  for (const char* chosen :
       {"&client_id=i2", "&object_id=O2", "&msi_res_id=%2Fsubscriptions%2Fs%2FU2"}) {
    EXPECT_EQ(ask(right + chosen).body["client_id"].string_or(""), "i2") << chosen;
  }
}

TEST_F(azure_login_identity, refuses_what_the_service_refuses) {
  EXPECT_EQ(ask(right).body["error_description"].string_or(""), "Identity not found");
  seed(R"({"identities":[{"client_id":"i1"}]})");
  EXPECT_EQ(ask(right).status, 200);
  for (const auto& [query, headers] : std::vector<std::pair<std::string, net::header_list>>{
           {right, {}},
           {right, {{"metadata", "true"}, {"x-forwarded-for", "203.0.113.9"}}},
           {"resource=x", {{"metadata", "true"}}},
           {"api-version=2018-02-01", {{"metadata", "true"}}},
           {right + "&client_id=unknown", {{"metadata", "true"}}},
           {right + "&client_id=i1&object_id=i1", {{"metadata", "true"}}}}) {
    const auto a = ask(query, headers);
    EXPECT_EQ(a.status, 400) << query;
    EXPECT_EQ(a.body["error"].string_or(""), "invalid_request");
  }
}

} // namespace
} // namespace siteagent::azure_emulator
