// SPDX-License-Identifier: MIT
// Application security groups: themselves, their members, the rules that name them.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using base::json;

class azure_asg : public cloud {
public:
  static inline const std::string groups = networks + "/applicationSecurityGroups";
  static inline const std::string plain = R"({"location":"westeurope","properties":{}})";

  static json refs(std::initializer_list<const char*> names) {
    json list = json::array();
    for (const auto* name : names) {
      list.push_back(json::object({{"id", subscription_1 + groups + "/" + name}}));
    }
    return list;
  }

  // An interface in a subnet of "net" (or another network) that is in groups.
  static json
  member_body(std::initializer_list<const char*> names, const std::string& network = net) {
    json body = parsed(interface_body("sub", ""));
    auto& properties = body.member_ref("properties")
                           .member_ref("ipConfigurations")
                           .items()[0]
                           .member_ref("properties");
    properties.set("subnet", json::object({{"id", subscription_1 + network + "/subnets/sub"}}));
    properties.set("applicationSecurityGroups", refs(names));
    return body;
  }

  static std::string rule(std::initializer_list<const char*> targets, int priority = 1000) {
    json properties = parsed(
        R"({"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*","sourcePortRange":"*","destinationPortRange":"22"})"
    );
    properties.set("priority", priority);
    properties.set("destinationApplicationSecurityGroups", refs(targets));
    return json::object({{"properties", properties}}).dump();
  }

  // Network "other" beside "net", groups a and b.
  void make_all() {
    make_network();
    make(
        networks + "/virtualNetworks/other",
        R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.9.0.0/16"]},"subnets":[{"name":"sub","properties":{"addressPrefix":"10.9.0.0/24"}}]}})"
    );
    make(groups + "/a", plain);
    make(groups + "/b", plain);
    make(nsg, R"({"location":"westeurope"})");
  }
};

TEST_F(azure_asg, live_and_are_listed_like_other_resources) {
  make(rg, R"({"location":"westeurope"})");
  const auto begun = put(groups + "/a", R"({"location":"West Europe","tags":{"k":"v"}})");
  EXPECT_EQ(begun.status, 201);
  EXPECT_FALSE(begun.header("Azure-AsyncOperation").empty());
  settle(begun);
  const auto read = get(groups + "/a");
  EXPECT_EQ(read.state(), "Succeeded");
  EXPECT_EQ(read.body["type"].string_or(""), "Microsoft.Network/applicationSecurityGroups");
  EXPECT_EQ(read.body["location"].string_or(""), "westeurope");
  EXPECT_EQ(read.header("ETag"), read.body["etag"].string_or("?"));
  EXPECT_FALSE(read.body.at({"properties", "resourceGuid"}).string_or("").empty());
  const auto again = put(groups + "/a", R"({"location":"westeurope","tags":{"k":"v"}})");
  EXPECT_EQ(again.status, 200);
  settle(again);
  EXPECT_EQ(
      get(groups + "/a").body.at({"properties", "resourceGuid"}),
      read.body.at({"properties", "resourceGuid"})
  );
  const auto patched = arm("PATCH", groups + "/a", parsed(R"({"tags":{"x":"y"}})"));
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(patched.body["tags"].dump(), R"({"x":"y"})");
  EXPECT_EQ(get(groups).body["value"].size(), 1U);
  EXPECT_EQ(get("/providers/Microsoft.Network/applicationSecurityGroups").body["value"].size(), 1U);
  const auto gone = remove(groups + "/a");
  EXPECT_EQ(gone.status, 202);
  EXPECT_EQ(arm("GET", gone.header("Location")).status, 204);
  EXPECT_EQ(remove(groups + "/a").status, 204);
  EXPECT_EQ(get(groups + "/a").code(), "ResourceNotFound");
}

TEST_F(azure_asg, membership_lives_on_the_interface) {
  make_all();
  make(nic + "2", member_body({"a", "b"}).dump());
  const auto shown = get(nic + "2").body.at({"properties", "ipConfigurations"})[0];
  EXPECT_EQ(shown.at({"properties", "applicationSecurityGroups"}), refs({"a", "b"}));
  make(nic + "2", interface_body("sub", ""));
  EXPECT_EQ(
      get(nic + "2").body.at({"properties", "ipConfigurations"})[0]["properties"].find(
          "applicationSecurityGroups"
      ),
      nullptr
  ) << "left out of a PUT is left";
}

TEST_F(azure_asg, what_an_interface_may_not_do_with_groups_is_refused) {
  make_all();
  make(groups + "/far", R"({"location":"eastus"})");
  make(nic + "2", member_body({"a"}).dump());
  json uneven = member_body({"a"});
  auto& list = uneven.member_ref("properties").member_ref("ipConfigurations");
  json second = parsed(interface_body("sub", "")).at({"properties", "ipConfigurations"})[0];
  second.set("name", "second");
  list.items()[0].member_ref("properties").set("primary", true);
  list.push_back(second);

  struct row {
    const char* what;
    std::string body;
    std::string code;
  };

  const row rows[] = {
      {"an unknown group", member_body({"nowhere"}).dump(), "InvalidResourceReference"},
      {"a group of another region", member_body({"far"}).dump(), "InvalidResourceReference"},
      {"another network than the first member's",
       member_body({"a"}, networks + "/virtualNetworks/other").dump(),
       "ApplicationSecurityGroupMembersMustBeInSameVnet"},
      {"different sets on two configurations",
       uneven.dump(),
       "AllIpConfigurationsOnANicMustBelongToTheSameApplicationSecurityGroups"},
  };
  for (const auto& r : rows) {
    const auto a = put(nic + "3", r.body);
    EXPECT_EQ(a.status, 400) << r.what;
    EXPECT_EQ(a.code(), r.code) << r.what;
  }
  EXPECT_EQ(get(nic + "3").status, 404);
  EXPECT_EQ(
      put(nic + "2", member_body({"a"}, networks + "/virtualNetworks/other").dump()).status, 200
  ) << "the only member may move";
}

TEST_F(azure_asg, limits_hold) {
  make_all();
  seed(
      R"({"network_limits":{"applicationSecurityGroups":2,"applicationSecurityGroupsPerConfiguration":1,"configurationsPerApplicationSecurityGroup":1,"applicationSecurityGroupsPerRule":1,"applicationSecurityGroupsPerSecurityGroup":1}})"
  );
  EXPECT_EQ(put(groups + "/c", plain).code(), "ApplicationSecurityGroupCountLimitReached");
  EXPECT_EQ(
      put(nic + "2", member_body({"a", "b"}).dump()).code(),
      "ApplicationSecurityGroupsPerIpConfigurationCountLimitReached"
  );
  make(nic + "2", member_body({"a"}).dump());
  EXPECT_EQ(
      put(nic + "3", member_body({"a"}).dump()).code(),
      "IpConfigurationsPerApplicationSecurityGroupCountLimitReached"
  );
  EXPECT_EQ(
      put(nsg + "/securityRules/r", rule({"a", "b"})).code(),
      "ApplicationSecurityGroupsPerSecurityRuleCountLimitReached"
  );
  make(nsg + "/securityRules/r", rule({"a"}));
  EXPECT_EQ(
      put(nsg + "/securityRules/s", rule({"b"}, 1001)).code(),
      "ApplicationSecurityGroupsPerNetworkSecurityGroupCountLimitReached"
  );
}

TEST_F(azure_asg, rules_name_groups_of_one_network) {
  make_all();
  make(nsg + "/securityRules/r", rule({"a", "b"}));
  EXPECT_EQ(
      get(nsg + "/securityRules/r").body.at({"properties", "destinationApplicationSecurityGroups"}),
      refs({"a", "b"})
  );
  make(nic + "2", member_body({"a"}).dump());
  EXPECT_EQ(
      put(nic + "3", member_body({"b"}, networks + "/virtualNetworks/other").dump()).code(),
      "AllApplicationSecurityGroupsInSecurityRuleMustBeFromSameVnet"
  );
  settle(remove(nsg + "/securityRules/r"));
  make(nic + "3", member_body({"b"}, networks + "/virtualNetworks/other").dump());
  EXPECT_EQ(
      put(nsg + "/securityRules/r", rule({"a", "b"})).code(),
      "AllApplicationSecurityGroupsInSecurityRuleMustBeFromSameVnet"
  );
  EXPECT_EQ(put(nsg + "/securityRules/r", rule({"nowhere"})).code(), "InvalidResourceReference");
  json mixed = parsed(rule({"a"}));
  mixed.member_ref("properties").set("destinationAddressPrefix", "*");
  EXPECT_EQ(
      put(nsg + "/securityRules/r", mixed.dump()).code(),
      "SecurityRuleParameterContainsUnsupportedValue"
  );
}

TEST_F(azure_asg, in_use_it_stays_and_says_by_whom) {
  make_all();
  make(nic + "2", member_body({"a"}).dump());
  make(nsg + "/securityRules/r", rule({"b"}));
  const auto by_member = remove(groups + "/a");
  EXPECT_EQ(by_member.status, 400);
  EXPECT_EQ(by_member.code(), "InUseApplicationSecurityGroupCannotBeDeleted");
  EXPECT_EQ(
      by_member.message(),
      "Application Security Group a cannot be deleted because it is referenced by "
      "IpConfiguration(s) ipconfig1."
  );
  EXPECT_EQ(
      remove(groups + "/b").message(),
      "Application Security Group b cannot be deleted because it is referenced by "
      "SecurityRule(s) r."
  );
  settle(remove(nic + "2"));
  settle(remove(nsg + "/securityRules/r"));
  EXPECT_EQ(remove(groups + "/a").status, 202);
  EXPECT_EQ(remove(groups + "/b").status, 202);
}

TEST_F(azure_asg, references_of_a_removed_interface_linger_where_seeded) {
  make_all();
  make(nsg + "2", R"({"location":"westeurope"})");
  json body = member_body({"a"});
  body.member_ref("properties")
      .set("networkSecurityGroup", json::object({{"id", subscription_1 + nsg + "2"}}));
  make(nic + "2", body.dump());
  seed(R"({"lingering_references_s":60})");
  settle(remove(nic + "2"));
  settle(remove(nic));
  EXPECT_EQ(remove(groups + "/a").code(), "InUseApplicationSecurityGroupCannotBeDeleted");
  EXPECT_EQ(remove(nsg + "2").code(), "InUseNetworkSecurityGroupCannotBeDeleted");
  EXPECT_EQ(remove(net + "/subnets/sub").code(), "InUseSubnetCannotBeDeleted");
  EXPECT_EQ(remove(ip).code(), "PublicIPAddressCannotBeDeleted");
  advance(std::chrono::seconds(60));
  for (const auto& path : {groups + "/a", nsg + "2", net + "/subnets/sub", ip}) {
    EXPECT_EQ(remove(path).status, 202) << path;
  }
}

TEST_F(azure_asg, a_group_delete_takes_them_with_their_members_and_rules) {
  make_all();
  make(nic + "2", member_body({"a"}).dump());
  make(nsg + "/securityRules/r", rule({"b"}));
  settle(remove(rg));
  EXPECT_EQ(get(rg).status, 404);
}

} // namespace
} // namespace siteagent::azure_emulator
