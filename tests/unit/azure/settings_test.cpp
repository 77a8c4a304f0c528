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

TEST(azure_settings, a_price_limit_is_an_exact_number_with_or_without_its_currency) {
  base::json d = minimal();
  d.set("max_hourly_price", base::json::number("0.25"));
  EXPECT_EQ(parse_settings(d.dump())->max_hourly_price, base::decimal::parse("0.25"));
  EXPECT_EQ(parse_settings(d.dump())->currency, "USD");
  d.set("max_hourly_price", "0.100000001 eur");
  EXPECT_EQ(parse_settings(d.dump())->max_hourly_price, base::decimal::parse("0.100000001"));
  EXPECT_EQ(parse_settings(d.dump())->currency, "EUR");
  d.set("currency", "EUR");
  EXPECT_TRUE(parse_settings(d.dump()));
  d.set("currency", "USD");
  EXPECT_FALSE(parse_settings(d.dump()));
  for (const char* bad : {"", "0", "-1", "free", "0,25", "0.25 EURO", "1e400", "0.25EUR"}) {
    EXPECT_NE(refusal([&](base::json& x) { x.set("max_hourly_price", bad); }), "") << bad;
  }
  EXPECT_NE(refusal([](base::json& x) { x.set("currency", "E1R"); }), "");
}

TEST(azure_settings, only_the_public_cloud_has_a_price_list_of_its_own) {
  EXPECT_EQ(parse_settings(minimal().dump())->prices, "https://prices.azure.com");
  base::json d = minimal();
  d.set(
      "cloud", base::json::object({{"resource_manager", "https://management.usgovcloudapi.net"}})
  );
  EXPECT_EQ(parse_settings(d.dump())->prices, "");
  d.set("max_hourly_price", "0.10");
  EXPECT_NE(parse_settings(d.dump()).error().message.find("cloud.prices"), std::string::npos);
  d.member_ref("cloud").set("prices", "http://127.0.0.1:8080/");
  EXPECT_EQ(parse_settings(d.dump())->prices, "http://127.0.0.1:8080");
  d.member_ref("cloud").set("prices", "http://prices.example");
  EXPECT_FALSE(parse_settings(d.dump()));
}

TEST(azure_settings, a_machine_limit_is_a_whole_number) {
  for (const auto& [text, wanted] : {std::pair{"3", 3}, {"0", 0}}) {
    base::json d = minimal();
    d.set("max_machines", text);
    EXPECT_EQ(parse_settings(d.dump())->max_machines, wanted);
  }
  EXPECT_NE(refusal([](base::json& d) { d.set("max_machines", -1); }), "");
  EXPECT_NE(refusal([](base::json& d) { d.set("max_machines", "many"); }), "");
  EXPECT_EQ(parse_settings(minimal().dump())->max_machines, std::nullopt);
}

TEST(azure_settings, an_existing_subnet_is_one_of_the_same_subscription) {
  const std::string network =
      "/subscriptions/S/resourceGroups/net.team/providers/Microsoft.Network/virtualNetworks/v";
  base::json d = minimal();
  d.set("subnet_id", network + "/subnets/machines");
  const auto s = parse_settings(d.dump());
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->subnet->name(), "machines");
  EXPECT_TRUE(s->public_ip);
  d.set("public_ip", "none");
  EXPECT_FALSE(parse_settings(d.dump())->public_ip);
  d.set("network_cidr", "10.0.0.0/16");
  EXPECT_NE(parse_settings(d.dump())->warnings.at(0).find("network_cidr"), std::string::npos);
  for (const std::string& bad :
       {std::string("machines"),
        network,
        network + "/subnets/GatewaySubnet",
        "/subscriptions/other" + network.substr(16) + "/subnets/machines",
        network + "/subnets/a/x/y"}) {
    EXPECT_NE(refusal([&](base::json& x) { x.set("subnet_id", bad); }), "") << bad;
  }
  EXPECT_NE(refusal([](base::json& x) { x.set("public_ip", "basic"); }), "");
}

TEST(azure_settings, tags_are_names_and_values_azure_takes) {
  const auto with = [](const std::string& name, const std::string& value) {
    return refusal([&](base::json& d) { d.set("tags", base::json::object({{name, value}})); });
  };
  std::string cyrillic;
  for (int i = 0; i < 256; ++i) {
    cyrillic += "я";
  }
  EXPECT_EQ(with("cost center (EU)", cyrillic), "");
  EXPECT_NE(with("a", cyrillic + "x"), "");
  EXPECT_EQ(with(std::string(512, 'n'), ""), "");
  EXPECT_NE(with(std::string(513, 'n'), ""), "");
  EXPECT_NE(with("", "x"), "");
  for (const char* name :
       {"a<b",
        "a>b",
        "a%b",
        "a&b",
        "a\\b",
        "a?b",
        "a/b",
        "a\nb",
        "Microsoft-x",
        "AZUREx",
        "windows",
        "Display-Name"}) {
    EXPECT_NE(with(name, "x"), "") << name;
  }
  EXPECT_NE(with("a", "b\nc"), "");
  EXPECT_NE(
      refusal([](base::json& d) {
        d.set("tags", base::json::object({{"Team", "a"}, {"team", "b"}}));
      }),
      ""
  );
  const auto many = [](int count) {
    return refusal([&](base::json& d) {
      base::json tags = base::json::object();
      for (int i = 0; i < count; ++i) {
        tags.set("t" + std::to_string(i), "x");
      }
      d.set("tags", tags);
    });
  };
  EXPECT_EQ(many(40), "");
  EXPECT_NE(many(41).find("50"), std::string::npos);
}

TEST(azure_settings, defaults_outside_the_offer_are_a_warning) {
  base::json d = minimal();
  d.set("allowed_ssh_ranges", "203.0.113.0/24");
  d.set("default_size", "Standard_B1s");
  d.set("default_location", "westeurope");
  d.set("default_image", "Canonical:jammy:22_04-lts:latest");
  d.set("allowed_sizes", base::json::array({"Standard_B2s"}));
  d.set("allowed_locations", base::json::array({"West Europe"}));
  d.set("allowed_images", base::json::array({"canonical:jammy:22_04-lts"}));
  const auto s = parse_settings(d.dump());
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_EQ(s->warnings.size(), 1U);
  EXPECT_NE(s->warnings[0].find("default_size"), std::string::npos);
  for (const char* bad : {"ubuntu", "a:b", "a::c", "a:b:c:d:e"}) {
    EXPECT_NE(
        refusal([&](base::json& x) { x.set("allowed_images", base::json::array({bad})); }), ""
    ) << bad;
  }
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
