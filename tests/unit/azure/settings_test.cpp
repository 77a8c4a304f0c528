// SPDX-License-Identifier: MIT
#include "plugins/azure/settings.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace siteagent::azure {

namespace {

base::json minimal() {
  return *base::json::parse(
      R"({"subscription_id":"s","tenant_id":"t","client_id":"c","client_secret":"r"})"
  );
}

std::string refusal(const std::function<void(base::json&)>& change) {
  base::json d = minimal();
  change(d);
  const auto s = parse_settings(d.dump());
  return s ? "" : s.error().message;
}

TEST(azure_settings, names_every_missing_credential_in_order) {
  EXPECT_EQ(
      parse_settings("{}").error().message,
      "Azure backend requires subscription_id, tenant_id, client_id, client_secret in "
      "backend_settings"
  );
  EXPECT_EQ(
      refusal([](base::json& d) { d.set("client_id", " "); }),
      "Azure backend requires client_id in backend_settings"
  );
}

TEST(azure_settings, have_the_documented_defaults) {
  const auto s = parse_settings(minimal().dump());
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->network_cidr, "10.0.0.0/16");
  EXPECT_EQ(s->subnet_cidr, "10.0.0.0/24");
  EXPECT_EQ(s->resource_manager, "https://management.azure.com");
  EXPECT_EQ(s->audience, "https://management.azure.com");
  EXPECT_TRUE(s->password_login);
  EXPECT_EQ(s->disk, disk_source::size);
  EXPECT_EQ(s->poll_min, std::chrono::seconds(1));
  EXPECT_FALSE(s->is_shared_group());
  EXPECT_EQ(s->warnings.size(), 1U);
}

TEST(azure_settings, refuses_plain_http_except_to_this_machine) {
  const auto cloud = [](const char* url) {
    return [url](base::json& d) {
      d.set("cloud", base::json::object({{"resource_manager", url}}));
    };
  };
  EXPECT_EQ(refusal(cloud("http://127.0.0.1:8080")), "");
  EXPECT_EQ(refusal(cloud("https://arm.example/")), "");
  EXPECT_NE(refusal(cloud("http://arm.example")).find("https"), std::string::npos);
  EXPECT_NE(refusal(cloud("https://arm.example/path")), "");
  EXPECT_NE(refusal(cloud("ftp://arm.example")), "");
}

TEST(azure_settings, an_own_cloud_is_its_own_audience) {
  base::json d = minimal();
  d.set("cloud", base::json::object({{"resource_manager", "http://127.0.0.1:8080/"}}));
  EXPECT_EQ(parse_settings(d.dump())->audience, "http://127.0.0.1:8080");
}

TEST(azure_settings, checks_networks_against_each_other) {
  EXPECT_NE(refusal([](base::json& d) { d.set("subnet_cidr", "192.168.0.0/24"); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("subnet_cidr", "10.0.0.0/30"); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("network_cidr", "10.0.0.0"); }), "");
  EXPECT_NE(
      refusal([](base::json& d) { d.set("network_cidr", "10.0.0.1/16"); }).find("10.0.0.0/16"),
      std::string::npos
  );
}

TEST(azure_settings, ssh_ranges_are_ranges_addresses_or_service_tags) {
  base::json d = minimal();
  d.set(
      "allowed_ssh_ranges",
      base::json::array({"203.0.113.9/24", "198.51.100.7", "AzureCloud.WestEurope"})
  );
  const auto s = parse_settings(d.dump());
  ASSERT_TRUE(s);
  EXPECT_EQ(
      s->allowed_ssh_ranges,
      (std::vector<std::string>{"203.0.113.0/24", "198.51.100.7", "AzureCloud.WestEurope"})
  );
  EXPECT_TRUE(s->warnings.empty());
  d.set("allowed_ssh_ranges", "198.51.100.7");
  EXPECT_EQ(parse_settings(d.dump())->allowed_ssh_ranges.size(), 1U);
  for (const char* bad : {"*", "203.0.113.7:443", "<html>", "010.0.0.1"}) {
    EXPECT_NE(
        refusal([&](base::json& x) { x.set("allowed_ssh_ranges", base::json::array({bad})); }), ""
    ) << bad;
  }
  d.set("allowed_ssh_ranges", base::json::array({"0.0.0.0/0"}));
  EXPECT_EQ(parse_settings(d.dump())->warnings.size(), 1U);
}

TEST(azure_settings, refuses_what_this_version_cannot_keep) {
  EXPECT_NE(refusal([](base::json& d) { d.set("max_hourly_price", "0.10"); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("max_machines", 3); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("subnet_id", "/x"); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("public_ip", "none"); }), "");
  EXPECT_EQ(refusal([](base::json& d) { d.set("public_ip", "standard"); }), "");
}

TEST(azure_settings, refuses_words_and_numbers_out_of_range) {
  EXPECT_NE(refusal([](base::json& d) { d.set("password_login", "maybe"); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("disk_source", "guess"); }), "");
  EXPECT_NE(
      refusal([](base::json& d) {
        d.set("polling", base::json::object({{"min_ms", 0}}));
      }),
      ""
  );
  EXPECT_NE(
      refusal([](base::json& d) {
        d.set("tags", base::json::object({{"azure-x", "y"}}));
      }),
      ""
  );
  EXPECT_NE(refusal([](base::json& d) { d.set("tags", base::json::object({{"a/b", "y"}})); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("default_resource_group", "a/b"); }), "");
  EXPECT_EQ(
      refusal([](base::json& d) { d.set("default_resource_group", "team.build_rg(1)"); }), ""
  );
}

TEST(azure_settings, the_schema_is_one_and_accepts_the_documented_example) {
  const auto schema = base::json_schema::compile(settings_schema());
  ASSERT_TRUE(schema) << schema.error().message;
  base::json d = minimal();
  d.set("allowed_ssh_ranges", base::json::array({"203.0.113.0/24"}));
  d.set("unknown_key", true);
  EXPECT_FALSE(schema->check(d));
  d.set("disk_source", "guess");
  EXPECT_TRUE(schema->check(d));
}

} // namespace

} // namespace siteagent::azure
