// SPDX-License-Identifier: MIT
// What needs no Azure: names, rules, settings, the description.
#include "tests/unit/azure/cloud_host_fixture.hpp"

#include "plugins/azure/cloud_host/host_bodies.hpp"
#include "plugins/azure/cloud_host/rights.hpp"
#include "plugins/azure/cloud_host/rules.hpp"
#include "plugins/azure/cloud_host/size_name.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using testing::ElementsAre;
using testing::HasSubstr;

json parsed(const std::string& text) {
  const auto document = json::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? *document : json();
}

TEST(azure_host_size, comes_in_azures_spelling) {
  for (const std::string name :
       {"Standard_D8s_v5",
        "Standard_B1ms",
        "Standard_DS3_v2_Promo",
        "Standard_NC24ads_A100_v4",
        "Standard_E96ias_v5",
        "Standard_M8-2ms",
        "Basic_A1",
        "Standard_F16s_v2"}) {
    std::string lower = base::to_lower(name);
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
    EXPECT_EQ(cloud_host::canonical_size(lower), name);
    EXPECT_EQ(cloud_host::canonical_size(upper), name);
  }
  EXPECT_EQ(cloud_host::canonical_size("huge"), "huge");
}

TEST(azure_host_size, A31_arm64_is_known_by_the_name) {
  for (const char* arm :
       {"Standard_D4ps_v5", "standard_d2plds_v6", "Standard_B2pts_v2", "Standard_E8pds_v6"}) {
    EXPECT_TRUE(cloud_host::is_arm64_size(arm)) << arm;
  }
  for (const char* x64 :
       {"Standard_D4s_v5", "Standard_NP10s", "Standard_DS3_v2_Promo", "Standard_FX4mds", "huge"}) {
    EXPECT_FALSE(cloud_host::is_arm64_size(x64)) << x64;
  }
}

class azure_host_place : public azure_hosts {
protected:
  fake_call validate(const char* key, const json& value) {
    json body = json::object(
        {{"name", "b1"}, {"location", "West Europe"}, {"size", "standard_d2s_v5"}, {"disk_gb", 64}}
    );
    body.set(key, value);
    return run(&provider::validate_host, body);
  }
};

TEST_F(azure_host_place, R12_what_azure_could_not_make_is_refused_without_a_call) {
  const fake_call good = validate("name", "b.1_x-y");
  ASSERT_EQ(good.code, SAGENT_OK) << good.message;
  EXPECT_EQ(good.emitted[0]["size"].string_or(""), "Standard_D2s_v5");
  EXPECT_EQ(validate("disk_gb", 4095).code, SAGENT_OK);
  const std::pair<const char*, json> wrong[] = {
      {"name", "B1"},
      {"name", "-b"},
      {"name", "b_"},
      {"name", "a/b"},
      {"name", ""},
      {"name", std::string(65, 'a')},
      {"name", "12345"},
      {"location", ""},
      {"location", "west/europe"},
      {"size", "big"},
      {"size", "Standard_"},
      {"size", "Standard_D4ps_v5"},
      {"size", "Standard_D2s_v5' or '1"},
      {"disk_gb", 0},
      {"disk_gb", 4096},
      {"disk_gb", json()}};
  for (const auto& [key, value] : wrong) {
    const fake_call call = validate(key, value);
    EXPECT_EQ(call.code, SAGENT_E_INVALID) << key << " " << value.dump();
    EXPECT_EQ(call.detail["field"].string_or(""), key) << value.dump();
  }
  EXPECT_EQ(azure.log().size(), 0U);
}

TEST(azure_host_description, R16_names_the_bindings_in_the_order_refusals_print) {
  const json d = parsed(provider::describe());
  std::vector<std::string> keys;
  std::vector<std::string> variables;
  for (const json& b : d["bindings"].items()) {
    keys.push_back(b["key"].string_or(""));
    variables.push_back(b["env"].string_or(""));
  }
  EXPECT_THAT(
      keys,
      ElementsAre("subscription_id", "resource_group", "vnet", "subnet", "image_urn", "vm_username")
  );
  EXPECT_THAT(
      variables,
      ElementsAre(
          "AZURE_SUBSCRIPTION_ID",
          "AZURE_RESOURCE_GROUP",
          "AZURE_VNET",
          "AZURE_SUBNET",
          "AZURE_IMAGE_URN",
          "AZURE_VM_USERNAME"
      )
  );
  EXPECT_EQ(d["display_name"].string_or(""), "Azure");
  EXPECT_EQ(d["login_binding"].string_or(""), "vm_username");
  EXPECT_EQ(d["locations_binding"].string_or(""), "locations");
  EXPECT_EQ(d["optional_bindings"][0]["env"].string_or(""), "AZURE_LOCATIONS");
  EXPECT_EQ(d["optional_bindings"][0]["list"].boolean(), true);
  EXPECT_EQ(d["admits_private"].boolean(), false);
  EXPECT_EQ(d["user_data_max_bytes"].integer(), 65535);
  EXPECT_EQ(d["key_types"][0].string_or(""), "ed25519");
  const json& control = d["credentials"]["control"];
  EXPECT_EQ(control["item"].string_or(""), "stado-azure");
  EXPECT_EQ(control["item_env"].string_or(""), "WC_AZURE_SECRET");
  EXPECT_EQ(control["secret_fields"].dump(), R"(["client_secret"])");
  EXPECT_EQ(d["credentials"]["billing"]["item"].string_or(""), "wisent-azure-billing-sp");
  EXPECT_EQ(d["credentials"]["billing"]["item_env"].string_or(""), "WC_AZURE_BILLING_SECRET");
  EXPECT_EQ(provider::describe(), provider::describe()) << "the same pointer each time";
}

TEST(azure_host_description, its_schema_is_one_and_marks_the_secrets) {
  ASSERT_TRUE(base::json_schema::compile(provider::settings_schema()));
  const json schema = parsed(provider::settings_schema());
  for (const char* item : {"control", "billing"}) {
    EXPECT_EQ(
        schema
            .at(
                {"properties",
                 "credentials",
                 "properties",
                 item,
                 "properties",
                 "client_secret",
                 "x-secret"}
            )
            .boolean(),
        true
    );
  }
}

class azure_host_settings : public azure_hosts {
protected:
  base::result<cloud_host::host_settings> parse() {
    return cloud_host::parse_host_settings(settings.dump());
  }

  base::result<cloud_host::host_settings> with(const char* part, const char* key, const json& v) {
    json& object = settings.member_ref(part);
    const json before = object;
    object.set(key, v);
    auto out = parse();
    settings.set(part, before);
    return out;
  }
};

TEST_F(azure_host_settings, F6_malformed_bindings_are_refused_by_key) {
  const auto schema = base::json_schema::compile(provider::settings_schema());
  EXPECT_FALSE(schema->check(settings).has_value());
  ASSERT_TRUE(parse());
  const std::pair<const char*, const char*> wrong[] = {
      {"subscription_id", "mine"},
      {"resource_group", "a/b"},
      {"resource_group", "ends."},
      {"vnet", "v net"},
      {"subnet", ""},
      {"image_urn", "a:b:c"},
      {"image_urn", "a:b::d"},
      {"image_urn", "a:b:c:d:e"},
      {"image_urn", "a:b/../x:c:d"},
      {"vm_username", "Admin"}};
  for (const auto& [key, value] : wrong) {
    const auto r = with("bindings", key, value);
    ASSERT_FALSE(r) << key << " " << value;
    EXPECT_EQ(r.error().code, base::error_code::invalid);
    EXPECT_THAT(r.error().message, HasSubstr("azure." + std::string(key)));
  }
}

TEST_F(azure_host_settings, endpoints_and_limits_are_checked_and_named_for_stado) {
  settings.member_ref("options").set("cloud", parsed(R"({"prices":"http://prices.example.org"})"));
  const auto clear = parse();
  ASSERT_FALSE(clear);
  EXPECT_THAT(clear.error().message, testing::StartsWith("azure.cloud.prices"));
  settings.member_ref("options").set(
      "cloud", parsed(R"({"billing":"http://billing.example.org"})")
  );
  ASSERT_FALSE(parse());
  settings.member_ref("options").erase("cloud");
  const auto plain = parse();
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->azure.resource_manager, "https://management.azure.com");
  EXPECT_EQ(plain->azure.prices, "https://prices.azure.com");
  EXPECT_EQ(plain->azure.billing, "https://management.azure.com");
  EXPECT_EQ(plain->azure.hosts->operation, std::chrono::minutes(20));
  EXPECT_FALSE(with("limits", "poll_ms", 0));
  const auto quick = with("limits", "poll_ms", 5);
  ASSERT_TRUE(quick);
  EXPECT_EQ(quick->azure.poll_max, std::chrono::milliseconds(5));
}

TEST_F(azure_host_settings, half_a_credential_is_refused_naming_what_lacks) {
  json& control = settings.member_ref("credentials").member_ref("control");
  control.erase("tenant_id");
  const auto r = parse();
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("tenant_id"));
}

json group_with(const std::string& rules) {
  return parsed(R"({"properties":{"securityRules":[)" + rules + "]}}");
}

std::string inbound(int priority) {
  return R"({"name":"r)" + std::to_string(priority) +
         R"(","properties":{"direction":"inbound","priority":)" + std::to_string(priority) + "}}";
}

TEST(azure_host_rules, R126_the_lowest_free_inbound_priority) {
  EXPECT_EQ(cloud_host::free_priority(group_with("")), 100);
  EXPECT_EQ(cloud_host::free_priority(group_with(inbound(100) + "," + inbound(102))), 101);
  EXPECT_EQ(
      cloud_host::free_priority(
          group_with(R"({"name":"o","properties":{"direction":"Outbound","priority":100}})")
      ),
      100
  );
  std::string all = inbound(100);
  for (int p = 101; p <= 4095; ++p) {
    all += "," + inbound(p);
  }
  EXPECT_EQ(cloud_host::free_priority(group_with(all)), 4096);
  EXPECT_EQ(cloud_host::free_priority(group_with(all + "," + inbound(4096))), std::nullopt);
}

const cloud_host::admitting_rule wanted{
    "stado-cloud-hosts", {"198.51.100.4", "198.51.100.5"}, 22, "/subscriptions/S/x/ASG"};

json rule_like(const std::function<void(json&)>& change) {
  json rule = cloud_host::body_of(wanted, 100);
  change(rule.member_ref("properties"));
  return rule;
}

TEST(azure_host_rules, equal_rules_are_equal_in_every_shape_azure_shows_them) {
  EXPECT_TRUE(cloud_host::is_same(rule_like([](json&) {}), wanted));
  EXPECT_TRUE(cloud_host::is_same(
      rule_like([](json& p) {
        p.set("sourceAddressPrefixes", parsed(R"(["198.51.100.5/32","198.51.100.4"])"));
        p.set("destinationPortRange", json());
        p.set("destinationPortRanges", parsed(R"(["22"])"));
        p.set("sourcePortRanges", json::array());
        p.set("protocol", "TCP");
        p.set(
            "destinationApplicationSecurityGroups", parsed(R"([{"id":"/SUBSCRIPTIONS/s/X/asg"}])")
        );
        p.set("provisioningState", "Succeeded");
      }),
      wanted
  ));
  const cloud_host::admitting_rule one{"r", {"198.51.100.4"}, 22, ""};
  json single = cloud_host::body_of(one, 100);
  single.member_ref("properties").set("sourceAddressPrefixes", json::array());
  single.member_ref("properties").set("sourceAddressPrefix", "198.51.100.4");
  EXPECT_TRUE(cloud_host::is_same(single, one));
}

TEST(azure_host_rules, R34_whatever_admits_more_or_less_is_not_the_same) {
  const std::pair<const char*, json> changes[] = {
      {"sourceAddressPrefixes", parsed(R"(["198.51.100.4/32"])")},
      {"sourceAddressPrefixes", parsed(R"(["198.51.100.4/32","198.51.100.5/31"])")},
      {"sourceAddressPrefix", "*"},
      {"destinationPortRange", "22-23"},
      {"destinationPortRanges", parsed(R"(["443"])")},
      {"sourcePortRange", "1024-65535"},
      {"access", "Deny"},
      {"direction", "Outbound"},
      {"protocol", "*"},
      {"provisioningState", "Failed"},
      {"sourceApplicationSecurityGroups", parsed(R"([{"id":"/x"}])")},
      {"destinationAddressPrefix", "*"},
      {"destinationApplicationSecurityGroups", parsed(R"([{"id":"/other"}])")}};
  for (const auto& [key, value] : changes) {
    EXPECT_FALSE(cloud_host::is_same(
        rule_like([key = key, &value = value](json& p) { p.set(key, value); }), wanted
    )) << key
       << " " << value.dump();
  }
}

TEST(azure_host_rules, case_net_04_denials_that_shadow_are_told_from_those_that_do_not) {
  const auto shadows = [](const std::string& properties) {
    return cloud_host::shadowing_rules(
               group_with(
                   R"({"name":"d","properties":{"direction":"Inbound","access":"Deny",)" +
                   properties + "}}"
               ),
               wanted,
               200
           )
               .size() == 1;
  };
  const std::string any = R"("protocol":"*","destinationPortRange":"*","sourceAddressPrefix":"*")";
  EXPECT_TRUE(shadows(any + R"(,"priority":150)"));
  EXPECT_FALSE(shadows(any + R"(,"priority":250)"));
  EXPECT_TRUE(shadows(
      R"("priority":150,"protocol":"tcp","destinationPortRanges":["80","20-30"],"sourceAddressPrefixes":["198.51.100.0/24"])"
  ));
  EXPECT_FALSE(shadows(
      R"("priority":150,"protocol":"Tcp","destinationPortRange":"80","sourceAddressPrefix":"*")"
  ));
  EXPECT_FALSE(shadows(
      R"("priority":150,"protocol":"Udp","destinationPortRange":"*","sourceAddressPrefix":"*")"
  ));
  EXPECT_FALSE(shadows(
      R"("priority":150,"protocol":"*","destinationPortRange":"*","sourceAddressPrefix":"10.0.0.0/8")"
  ));
  EXPECT_FALSE(
      shadows(any + R"(,"priority":150,"destinationApplicationSecurityGroups":[{"id":"/theirs"}])")
  );
}

TEST(azure_host_rights, each_area_names_its_actions_once) {
  for (const cloud_host::host_area area : cloud_host::host_areas) {
    const auto actions = cloud_host::actions_of(area);
    EXPECT_TRUE(std::is_sorted(actions.begin(), actions.end()));
    EXPECT_EQ(std::adjacent_find(actions.begin(), actions.end()), actions.end());
    EXPECT_TRUE(cloud_host::missing_actions(area, {{{"*"}, {}}}).empty());
    EXPECT_EQ(cloud_host::missing_actions(area, {}).size(), actions.size());
  }
}

// The role of the README, and no more, is enough for a whole life.
TEST_F(azure_hosts, R118_the_least_rights_are_enough_for_the_life_of_a_host) {
  const auto actions = [](cloud_host::host_area area) {
    json out = json::array();
    for (const std::string& a : cloud_host::actions_of(area)) {
      out.push_back(a);
    }
    return out.dump();
  };
  const std::string sub = "/subscriptions/11111111-1111-1111-1111-111111111111";
  azure.seed(parsed(
      R"({"applications":[{"client_id":"33333333-3333-3333-3333-333333333333","secret":"right","object_id":"o","permissions":[
          {"scope":")" +
      sub + R"(","actions":)" + actions(cloud_host::host_area::subscription) + R"(},{"scope":")" +
      sub + R"(/resourceGroups/hosts","actions":)" + actions(cloud_host::host_area::group) +
      R"(},{"scope":")" + network_id("networkSecurityGroups/subnet-nsg", "shared-net") +
      R"(","actions":)" + actions(cloud_host::host_area::security_group) + "}]}]}"
  ));
  const json created = rent();
  const fake_call dry = run(&provider::create_host, create_body("b2"), true);
  for (const json& line : dry.emitted[0]["checks"].items()) {
    EXPECT_EQ(line["ok"].boolean(), true) << line.dump();
  }
  EXPECT_EQ(
      run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}})).emitted.size(), 1U
  );
  EXPECT_EQ(run(&provider::host_state, delete_body("b1", created)).code, SAGENT_OK);
  const fake_call gone = run(&provider::delete_host, delete_body("b1", created));
  ASSERT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_TRUE(gone.emitted[0]["held"].items().empty());
}

} // namespace

} // namespace siteagent::azure::test
