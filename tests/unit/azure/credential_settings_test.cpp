// SPDX-License-Identifier: MIT
// Which credential and which cloud the settings mean, and what they refuse.
#include "plugins/azure/credential_settings.hpp"
#include "plugins/azure/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include <map>

namespace siteagent::azure {

namespace {

using base::json;
using testing::HasSubstr;

using variables = std::map<std::string, std::string>;

base::result<settings> parsed(const std::string& members, const variables& set = {}) {
  const std::string text = R"({"subscription_id":"s",)" + members + "}";
  return parse_settings(text, [set](const char* name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

std::string refusal(const std::string& members, const variables& set = {}) {
  const auto s = parsed(members, set);
  return s ? "" : s.error().message;
}

const std::string who = R"("tenant_id":"t","client_id":"c",)";

TEST(azure_credentials, are_inferred_from_the_keys_that_are_there) {
  struct row {
    std::string members;
    credential_kind kind;
  };

  const row rows[] = {
      {who + R"("client_secret":"r")", credential_kind::client_secret},
      {who + R"("client_certificate":"r")", credential_kind::client_certificate},
      {who + R"("client_certificate":"r","client_certificate_password":"p",
                "send_certificate_chain":true)",
       credential_kind::client_certificate},
      {who + R"("federated_token_file":"/run/token")", credential_kind::workload_identity},
      {R"("managed_identity_object_id":"o")", credential_kind::managed_identity},
      {R"("credential":"managed_identity")", credential_kind::managed_identity},
      {who + R"("credential":"client_secret","client_secret":"r","client_certificate":"")",
       credential_kind::client_secret},
  };
  for (const row& r : rows) {
    const auto s = parsed(r.members);
    ASSERT_TRUE(s) << r.members << ": " << s.error().message;
    EXPECT_EQ(s->credentials.kind, r.kind) << r.members;
  }
}

TEST(azure_credentials, two_at_once_are_refused_naming_both_keys) {
  const std::string two = refusal(who + R"("client_secret":"r","client_certificate":"c")");
  EXPECT_THAT(two, HasSubstr("client_secret"));
  EXPECT_THAT(two, HasSubstr("client_certificate are two credentials"));
  const std::string against = refusal(
      who + R"("credential":"client_certificate","client_certificate":"c","client_secret":"r")"
  );
  EXPECT_THAT(against, HasSubstr("client_secret: belongs to another credential"));
  EXPECT_THAT(against, HasSubstr("credential: client_certificate"));
  EXPECT_THAT(
      refusal(R"("credential":"managed_identity","client_id":"c","managed_identity_object_id":"o")"
      ),
      HasSubstr("each name a managed identity")
  );
  EXPECT_THAT(refusal(who + R"("credential":"password")"), HasSubstr("'password' is none of"));
}

TEST(azure_credentials, name_what_their_kind_lacks) {
  const auto text = [](const std::string& keys) {
    return "Azure backend requires " + keys + " in backend_settings";
  };
  EXPECT_EQ(refusal(R"("tags":{})"), text("tenant_id, client_id, client_secret"));
  EXPECT_EQ(
      refusal(R"("credential":"client_certificate","client_id":"c")"),
      text("tenant_id, client_certificate")
  );
  EXPECT_EQ(
      refusal(R"("credential":"workload_identity")"),
      text("tenant_id, client_id, federated_token_file")
  );
  EXPECT_EQ(refusal(R"("credential":"managed_identity")"), "") << "it needs nothing";
}

TEST(azure_credentials, take_the_environment_only_when_workload_identity_is_asked_for) {
  const variables set{
      {"AZURE_TENANT_ID", "t-env"},
      {"AZURE_CLIENT_ID", "c-env"},
      {"AZURE_FEDERATED_TOKEN_FILE", "/var/run/token"},
      {"AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us/"}};
  const auto s = parsed(R"("credential":"workload_identity")", set);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->tenant_id, "t-env");
  EXPECT_EQ(s->client_id, "c-env");
  EXPECT_EQ(s->credentials.federated_token_file, "/var/run/token");
  EXPECT_EQ(s->authority, "https://login.microsoftonline.us");
  const auto own = parsed(
      R"("credential":"workload_identity","client_id":"mine",
         "cloud":{"authority":"https://login.example"})",
      set
  );
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->client_id, "mine");
  EXPECT_EQ(own->authority, "https://login.example");
  EXPECT_THAT(refusal(R"("client_secret":"r")", set), HasSubstr("requires tenant_id, client_id"));
  EXPECT_EQ(
      parsed(who + R"("federated_token_file":"/own")", set)->authority,
      "https://login.microsoftonline.com"
  );
}

TEST(azure_credentials, of_a_rehearsal_replace_those_of_any_kind) {
  const json schema = *json::parse(settings_schema());
  for (const std::string& own :
       {who + R"("client_secret":"r")",
        who + R"("client_certificate":"r","client_certificate_password":"p")",
        who + R"("federated_token_file":"/run/token")",
        std::string(R"("credential":"managed_identity",)"
                    R"("managed_identity_object_id":"o")")}) {
    json rehearsed = *json::parse("{" + own + "}");
    for (const auto& [key, value] : schema.at({"x-rehearsal", "settings"}).members()) {
      rehearsed.set(key, value);
    }
    rehearsed.set("subscription_id", "s"); // stays the operator's own
    const std::string text =
        std::regex_replace(rehearsed.dump(), std::regex("\\{emulator\\}"), "http://127.0.0.1:1");
    const auto s = parse_settings(text);
    ASSERT_TRUE(s) << own << ": " << s.error().message;
    EXPECT_EQ(s->credentials.kind, credential_kind::client_secret);
  }
}

TEST(azure_credentials, a_token_file_has_an_absolute_path) {
  EXPECT_THAT(refusal(who + R"("federated_token_file":"token")"), HasSubstr("absolute path"));
}

TEST(azure_credentials, the_metadata_service_is_spoken_to_in_the_clear_only_where_it_is) {
  const auto with = [](const std::string& origin) {
    return R"("credential":"managed_identity","cloud":{"metadata":")" + origin + "\"}";
  };
  EXPECT_EQ(
      parsed(R"("credential":"managed_identity")")->credentials.metadata_origin,
      "http://169.254.169.254"
  );
  EXPECT_EQ(refusal(with("http://127.0.0.1:8080/")), "");
  EXPECT_EQ(refusal(with("https://metadata.example")), "");
  EXPECT_THAT(refusal(with("http://metadata.example")), HasSubstr("clear text"));
  EXPECT_THAT(refusal(with("http://169.254.169.254:81")), HasSubstr("clear text"));
  EXPECT_THAT(refusal(with("http://169.254.169.254.evil.example")), HasSubstr("clear text"));
  EXPECT_THAT(refusal(with("http://169.254.169.254@evil.example")), HasSubstr("cloud.metadata"));
  const variables set{{"AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:41"}};
  EXPECT_EQ(
      parsed(R"("credential":"managed_identity")", set)->credentials.metadata_origin,
      "http://127.0.0.1:41"
  );
  EXPECT_EQ(parsed(who + R"("client_secret":"r")", set)->credentials.metadata_origin, "");
}

struct cloud_row {
  std::string name;
  std::string resource_manager;
  std::string authority;
};

class azure_clouds : public testing::TestWithParam<cloud_row> {};

TEST_P(azure_clouds, are_known_by_the_names_azure_gives_them) {
  const cloud_row& r = GetParam();
  const auto s = parsed(who + R"("client_secret":"r","cloud":{"name":")" + r.name + "\"}");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->resource_manager, r.resource_manager);
  EXPECT_EQ(s->authority, r.authority);
  EXPECT_EQ(s->audience, r.resource_manager);
  const bool is_public = r.resource_manager == "https://management.azure.com";
  EXPECT_EQ(s->prices.empty(), !is_public) << "sovereign clouds have no retail prices";
}

const std::string us = "https://management.usgovcloudapi.net";
const std::string china = "https://management.chinacloudapi.cn";
const std::string worldwide = "https://management.azure.com";

INSTANTIATE_TEST_SUITE_P(
    names,
    azure_clouds,
    testing::Values(
        cloud_row{"AzureCloud", worldwide, "https://login.microsoftonline.com"},
        cloud_row{"AzurePublic", worldwide, "https://login.microsoftonline.com"},
        cloud_row{"azurecloud", worldwide, "https://login.microsoftonline.com"},
        cloud_row{"AzureChinaCloud", china, "https://login.chinacloudapi.cn"},
        cloud_row{"AzureChina", china, "https://login.chinacloudapi.cn"},
        cloud_row{"AzureUSGovernment", us, "https://login.microsoftonline.us"}
    )
);

TEST(azure_cloud_settings, explicit_origins_win_over_the_name) {
  const auto s = parsed(who + R"("client_secret":"r","cloud":{"name":"AzureChinaCloud",
        "authority":"https://login.partner.microsoftonline.cn","audience":"https://x/"})");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->resource_manager, china);
  EXPECT_EQ(s->authority, "https://login.partner.microsoftonline.cn");
  EXPECT_EQ(s->audience, "https://x/");
}

TEST(azure_cloud_settings, a_private_cloud_is_its_origins_and_has_no_prices) {
  const auto s =
      parsed(who + R"("client_secret":"r","cloud":{"resource_manager":"https://arm.local.example",
        "authority":"https://login.local.example","ca_file":"/etc/ca.pem"})");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->audience, "https://arm.local.example");
  EXPECT_EQ(s->ca_file, "/etc/ca.pem");
  EXPECT_EQ(s->prices, "");
}

TEST(azure_cloud_settings, closed_and_unknown_ones_are_refused_with_the_reason) {
  const auto with = [](const char* name) {
    return refusal(who + R"("client_secret":"r","cloud":{"name":")" + name + "\"}");
  };
  EXPECT_THAT(with("AzureGermanCloud"), HasSubstr("closed in October 2021"));
  EXPECT_THAT(with("AzureMoon"), HasSubstr("none of AzureCloud"));
}

} // namespace

} // namespace siteagent::azure
