// SPDX-License-Identifier: MIT
// Every rule of the network provider that the README lists and no other test shows.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_network_rules = cloud;
using base::json;

const std::string where = R"("location":"westeurope")";

struct row {
  std::string what;
  std::string path;
  std::string body;
  std::string code;
};

std::string rules_body(const std::string& rules) {
  return "{" + where + R"(,"properties":{"securityRules":[)" + rules + "]}}";
}

std::string named_rule(const std::string& name, int priority, const std::string& more = "") {
  return R"({"name":")" + name + R"(","properties":{"priority":)" + std::to_string(priority) +
         R"(,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*",)"
         R"("sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"22")" +
         more + "}}";
}

std::string address_body(const std::string& more, const std::string& properties = "") {
  return "{" + where + R"(,"sku":{"name":"Standard"})" + more +
         R"(,"properties":{"publicIPAllocationMethod":"Static")" + properties + "}}";
}

std::string network_body(const std::string& subnets) {
  return "{" + where +
         R"(,"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[)" +
         subnets + "]}}";
}

std::string subnet_of(const std::string& name, const std::string& prefix) {
  return R"({"name":")" + name + R"(","properties":{"addressPrefix":")" + prefix + "\"}}";
}

json two_configurations(const std::string& first, const std::string& second, bool primaries) {
  json body = cloud::parsed(cloud::interface_body("sub", ""));
  auto& list = body.member_ref("properties").member_ref("ipConfigurations");
  json copy = list[0];
  list.items()[0].set("name", first);
  list.items()[0].member_ref("properties").set("primary", true);
  copy.set("name", second);
  copy.member_ref("properties").set("primary", primaries);
  list.push_back(copy);
  return body;
}

TEST_F(azure_network_rules, bodies_that_azure_refuses_are_refused) {
  make_network();
  make(nsg, rules_body(named_rule("a", 100)));
  const std::string far = addresses + "/far";
  make(
      far,
      R"({"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})"
  );
  seed(
      R"({"locations":[{"name":"westeurope"},{"name":"eastus"},{"name":"flatland","zones":false}]})"
  );
  json ipv6 = parsed(interface_body("sub", "far"));
  const row rows[] = {
      {"two subnets of one name",
       net + "2",
       network_body(subnet_of("a", "10.0.0.0/24") + "," + subnet_of("A", "10.0.1.0/24")),
       "DuplicateResourceName"},
      {"a network of one letter",
       networks + "/virtualNetworks/n",
       network_body(""),
       "InvalidResourceName"},
      {"a network name of 65 letters",
       networks + "/virtualNetworks/" + std::string(65, 'n'),
       network_body(""),
       "InvalidResourceName"},
      {"a name that ends in a dot", nsg + ".", "{" + where + "}", "InvalidResourceName"},
      {"a name that starts with an underscore",
       networks + "/networkSecurityGroups/_n",
       "{" + where + "}",
       "InvalidResourceName"},
      {"a name of 81 letters",
       networks + "/networkSecurityGroups/" + std::string(81, 'n'),
       "{" + where + "}",
       "InvalidResourceName"},
      {"a subnet name with a blank",
       net + "2",
       network_body(subnet_of("a b", "10.0.0.0/24")),
       "InvalidResourceName"},
      {"a rule name with a hash", nsg, rules_body(named_rule("a#", 100)), "InvalidResourceName"},
      {"two rules of one name",
       nsg,
       rules_body(named_rule("a", 100) + "," + named_rule("a", 101)),
       "DuplicateResourceName"},
      {"two rules of one priority",
       nsg,
       rules_body(named_rule("a", 100) + "," + named_rule("b", 100)),
       "SecurityRuleConflict"},
      {"a long description",
       nsg,
       rules_body(named_rule("a", 100, R"(,"description":")" + std::string(141, 'd') + "\"")),
       "SecurityRuleInvalidDescription"},
      {"zones where there are none",
       addresses + "/ip2",
       R"({"location":"flatland","sku":{"name":"Standard"},"zones":["1"],"properties":{"publicIPAllocationMethod":"Static"}})",
       "AvailabilityZonesNotSupportedForLocation"},
      {"a zone that there is not",
       addresses + "/ip2",
       address_body(R"(,"zones":["4"])"),
       "AvailabilityZonesNotSupportedForLocation"},
      {"an unknown address SKU",
       addresses + "/ip2",
       "{" + where + R"(,"sku":{"name":"Premium"}})",
       "InvalidPublicIPAddressSku"},
      {"another SKU for an address that is there",
       ip,
       "{" + where + R"(,"sku":{"name":"Basic"}})",
       "IPv4BasicSkuPublicIpCountLimitReached"},
      {"another version of an address",
       ip,
       address_body("", R"(,"publicIPAddressVersion":"IPv6")"),
       "PublicIPAddressPropertyCannotBeChanged"},
      {"other zones of an address",
       ip,
       address_body(R"(,"zones":["1"])"),
       "PublicIPAddressPropertyCannotBeChanged"},
      {"a moved address",
       ip,
       R"({"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})",
       "InvalidResourceLocation"},
      {"an address of another region", nic + "2", ipv6.dump(), "InvalidResourceReference"},
      {"configurations of one name",
       nic + "2",
       two_configurations("a", "a", false).dump(),
       "DuplicateResourceName"},
      {"a configuration name with a blank",
       nic + "2",
       two_configurations("a", "b c", false).dump(),
       "InvalidResourceName"},
      {"two primary configurations",
       nic + "2",
       two_configurations("a", "b", true).dump(),
       "NicMustHaveOnePrimaryIpConfiguration"},
      {"a tag without name", nsg, "{" + where + R"(,"tags":{"":"x"}})", "InvalidTagName"},
      {"a tag name with a slash",
       nsg,
       "{" + where + R"(,"tags":{"a/b":"x"}})",
       "InvalidTagNameCharacters"},
      {"a reserved tag name",
       nsg,
       "{" + where + R"(,"tags":{"microsoft.x":"x"}})",
       "ReservedTagName"},
      {"a tag that is no text", nsg, "{" + where + R"(,"tags":{"a":1}})", "InvalidTagValue"},
      {"a long tag value",
       nsg,
       "{" + where + R"(,"tags":{"a":")" + std::string(257, 'v') + "\"}}",
       "InvalidTagValue"},
  };
  for (const auto& r : rows) {
    const auto a = put(r.path, r.body);
    EXPECT_TRUE(a.status == 400 || a.status == 409) << r.what << ": " << a.status;
    EXPECT_EQ(a.code(), r.code) << r.what << ": " << a.message();
  }
}

TEST_F(azure_network_rules, an_attached_address_keeps_its_allocation_method) {
  seed(R"({"basic_addresses_allowed":true})");
  make(rg, "{" + where + "}");
  make(net, network_body(subnet_of("sub", "10.0.0.0/24")));
  const auto basic = [](const std::string& method) {
    return "{" + where + R"(,"sku":{"name":"Basic"},"properties":{"publicIPAllocationMethod":")" +
           method + "\"}}";
  };
  make(ip, basic("Dynamic"));
  make(nic, interface_body("sub", "ip"));
  EXPECT_EQ(put(ip, basic("Static")).code(), "PublicIPAddressAllocationMethodCannotBeChanged");
  EXPECT_EQ(put(ip, address_body("")).code(), "PublicIpSkuChangeNotAllowed");
}

TEST_F(azure_network_rules, limits_per_region_and_parent_hold) {
  make_network();
  make(nsg, rules_body(named_rule("a", 100)));
  seed(
      R"({"network_limits":{"virtualNetworks":1,"subnets":1,"networkSecurityGroups":1,"securityRules":1,"networkInterfaces":1,"addressesPerSecurityGroup":1}})"
  );
  std::string wide = named_rule("a", 100);
  wide.replace(
      wide.find(R"("sourceAddressPrefix":"*")"),
      25,
      R"("sourceAddressPrefixes":["10.0.0.0/8","11.0.0.0/8"])"
  );
  const row rows[] = {
      {"networks", net + "2", network_body(""), "VirtualNetworkCountLimitReached"},
      {"subnets",
       net + "/subnets/more",
       R"({"properties":{"addressPrefix":"10.0.8.0/24"}})",
       "SubnetCountLimitReached"},
      {"security groups", nsg + "2", "{" + where + "}", "NetworkSecurityGroupCountLimitReached"},
      {"rules",
       nsg,
       rules_body(named_rule("a", 100) + "," + named_rule("b", 101)),
       "SecurityRuleCountLimitReached"},
      {"addresses in rules",
       nsg,
       rules_body(wide),
       "SecurityRuleAddressesAndPortsCountLimitReached"},
      {"interfaces", nic + "2", interface_body("sub", ""), "NetworkInterfaceCountLimitReached"},
  };
  for (const auto& r : rows) {
    const auto a = put(r.path, r.body);
    EXPECT_EQ(a.status, 400) << r.what;
    EXPECT_EQ(a.code(), r.code) << r.what << ": " << a.message();
  }
  EXPECT_EQ(put(nic, interface_body("sub", "ip")).status, 200) << "an update needs no more room";
}

TEST_F(azure_network_rules, configurations_of_an_interface_are_read_one_by_one) {
  make_network();
  EXPECT_EQ(get(nic + "/ipConfigurations").body["value"].size(), 1U);
  EXPECT_EQ(
      get(nic + "/ipConfigurations/IPCONFIG1").body["id"].string_or(""),
      subscription_1 + nic + "/ipConfigurations/ipconfig1"
  );
  EXPECT_EQ(get(nic + "/ipConfigurations/other").code(), "NotFound");
  EXPECT_EQ(get(nic + "9/ipConfigurations").code(), "ResourceNotFound");
}

TEST_F(azure_network_rules, an_address_keeps_what_its_interface_passed_on) {
  make_network();
  make(ip, address_body(""));
  EXPECT_EQ(get(ip).body.at({"properties", "deleteOption"}).string_or(""), "Delete");
}

TEST_F(azure_network_rules, a_network_has_room_for_so_many_private_addresses) {
  seed(R"({"network_limits":{"privateAddressesPerVirtualNetwork":2}})");
  make_network();
  make(net + "/subnets/other", R"({"properties":{"addressPrefix":"10.0.1.0/24"}})");
  EXPECT_EQ(put(networks + "/networkInterfaces/nic2", interface_body("other", "")).status, 201);
  const auto refused = put(networks + "/networkInterfaces/nic3", interface_body("sub", ""));
  EXPECT_EQ(refused.code(), "PrivateIPAddressCountLimitReached") << refused.body.dump();
  EXPECT_EQ(put(nic, interface_body("sub", "ip")).status, 200)
      << "one that has its address keeps it";
  settle(remove(networks + "/networkInterfaces/nic2"));
  EXPECT_EQ(put(networks + "/networkInterfaces/nic3", interface_body("sub", "")).status, 201);
}

} // namespace
} // namespace siteagent::azure_emulator
