// SPDX-License-Identifier: MIT
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_network = cloud;

const std::string where = R"("location":"westeurope")";

std::string network_body(const std::string& prefix, const std::string& subnets = "") {
  return "{" + where + R"(,"properties":{"addressSpace":{"addressPrefixes":[")" + prefix + "\"]}" +
         (subnets.empty() ? "" : ",\"subnets\":[" + subnets + "]") + "}}";
}

std::string subnet_of(const std::string& name, const std::string& prefix) {
  return R"({"name":")" + name + R"(","properties":{"addressPrefix":")" + prefix + "\"}}";
}

std::string subnet_body(const std::string& prefix, const std::string& more = "") {
  return R"({"properties":{"addressPrefix":")" + prefix + "\"" + more + "}}";
}

std::string rule(const std::string& more, int priority = 1000) {
  return R"({"priority":)" + std::to_string(priority) +
         R"(,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*",)"
         R"("sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"22")" +
         more + "}";
}

const std::string standard_ip =
    R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})";

TEST_F(azure_network, a_network_is_made_with_its_subnets) {
  make(rg, "{" + where + "}");
  const auto begun = put(net, network_body("10.0.0.0/16", subnet_of("a", "10.0.1.0/24")));
  EXPECT_EQ(begun.status, 201);
  EXPECT_EQ(begun.state(), "Updating");
  EXPECT_EQ(begun.header("Azure-AsyncNotification"), "Enabled");
  EXPECT_NE(
      begun.header("Azure-AsyncOperation").find("/locations/westeurope/operations/"),
      std::string::npos
  );
  EXPECT_EQ(begun.header("Location"), "");
  EXPECT_EQ(settle(begun).body.dump(), R"({"status":"Succeeded"})");
  const auto read = get(net);
  EXPECT_EQ(read.state(), "Succeeded");
  EXPECT_EQ(read.header("ETag"), read.body["etag"].string_or("?"));
  EXPECT_EQ(read.body.at({"properties", "subnets"})[0]["name"].string_or(""), "a");
  const auto same = put(net, network_body("10.0.0.0/16", subnet_of("a", "10.0.1.0/24")));
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(same.state(), "Succeeded");
  EXPECT_NE(same.body["etag"].string_or(""), read.body["etag"].string_or(""));
}

TEST_F(azure_network, address_ranges_are_checked) {
  make(rg, "{" + where + "}");

  struct row {
    std::string body;
    std::string code;
  };

  const row rows[] = {
      {network_body("10.0.0.1/16"), "InvalidCIDRNotation"},
      {network_body("10.0.0/16"), "InvalidAddressPrefixFormat"},
      {network_body("10.0.0.0/33"), "InvalidAddressPrefixFormat"},
      {"{" + where + "}", "InvalidRequestFormat"},
      {network_body("10.0.0.0/16", subnet_of("a", "10.1.0.0/24")), "NetcfgSubnetRangeOutsideVnet"},
      {network_body("10.0.0.0/16", subnet_of("a", "10.0.0.0/30")), "NetcfgInvalidSubnet"},
      {network_body(
           "10.0.0.0/16", subnet_of("a", "10.0.0.0/24") + "," + subnet_of("b", "10.0.0.128/25")
       ),
       "NetcfgSubnetRangesOverlap"},
      {network_body("10.0.0.0/16", R"({"name":"a","properties":{}})"),
       "NoAddressPrefixOrPoolProvided"},
  };
  for (const auto& r : rows) {
    const auto a = put(net, r.body);
    EXPECT_EQ(a.status, 400) << r.code;
    EXPECT_EQ(a.code(), r.code);
  }
  EXPECT_EQ(get(net).status, 404) << "a refused PUT leaves nothing";
  EXPECT_EQ(
      put(networks + "/virtualNetworks/x-", network_body("10.0.0.0/16")).code(),
      "InvalidResourceName"
  );
  EXPECT_EQ(put(net, R"({"location":"mars"})").code(), "LocationNotAvailableForResourceType");
}

TEST_F(azure_network, subnets_are_resources_of_their_own) {
  make(rg, "{" + where + "}");
  EXPECT_EQ(put(net + "/subnets/a", subnet_body("10.0.1.0/24")).code(), "ParentResourceNotFound");
  make(net, network_body("10.0.0.0/16"));
  const auto begun = put(net + "/subnets/a", subnet_body("10.0.1.0/24"));
  EXPECT_EQ(begun.status, 201);
  settle(begun);
  EXPECT_EQ(
      put(net + "/subnets/b", subnet_body("10.0.1.128/25")).code(), "NetcfgSubnetRangesOverlap"
  );
  EXPECT_EQ(get(net + "/subnets").body["value"].size(), 1U);
  const auto missing = get(net + "/subnets/zzz");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.code(), "NotFound") << "answered by the network provider, not by ARM";
  EXPECT_EQ(get(networks + "/virtualNetworks/other/subnets/a").code(), "ResourceNotFound");
  const auto gone = remove(net + "/subnets/a");
  EXPECT_EQ(gone.status, 202);
  EXPECT_EQ(arm("GET", gone.header("Location")).status, 204);
  EXPECT_EQ(remove(net + "/subnets/a").status, 204);
}

TEST_F(azure_network, writes_to_one_network_are_serialized) {
  azure_.set_timing(timing::fast());
  make(rg, "{" + where + "}");
  make(net, network_body("10.0.0.0/16"));
  EXPECT_EQ(
      put(net + "/subnets/a", subnet_body("10.0.1.0/24")).code(), "AnotherOperationInProgress"
  );
  advance(std::chrono::seconds(1));
  EXPECT_EQ(put(net + "/subnets/a", subnet_body("10.0.1.0/24")).status, 201);
  const auto refused = put(net + "/subnets/b", subnet_body("10.0.2.0/24"));
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.message().find("/operations/"), std::string::npos);
}

TEST_F(azure_network, what_is_used_cannot_be_removed_or_moved) {
  make_network();
  const auto dropped = put(net, network_body("10.0.0.0/16"));
  EXPECT_EQ(dropped.status, 400);
  EXPECT_EQ(dropped.code(), "InUseSubnetCannotBeDeleted")
      << "a PUT without its subnets deletes them";
  EXPECT_EQ(remove(net + "/subnets/sub").code(), "InUseSubnetCannotBeDeleted");
  EXPECT_EQ(remove(net).code(), "InUseSubnetCannotBeDeleted");
  EXPECT_EQ(
      put(net + "/subnets/sub", subnet_body("10.0.9.0/24")).code(), "InUsePrefixCannotBeDeleted"
  );
  EXPECT_EQ(remove(ip).code(), "PublicIPAddressCannotBeDeleted");
  EXPECT_NE(
      remove(ip).message().find("/networkInterfaces/nic/ipConfigurations/ipconfig1"),
      std::string::npos
  );
  settle(remove(nic));
  EXPECT_EQ(remove(ip).status, 202);
  EXPECT_EQ(remove(net).status, 202);
}

TEST_F(azure_network, an_unused_subnet_left_out_of_a_put_disappears) {
  make(rg, "{" + where + "}");
  make(net, network_body("10.0.0.0/16", subnet_of("a", "10.0.1.0/24")));
  make(net, network_body("10.0.0.0/16", subnet_of("b", "10.0.1.0/24")));
  EXPECT_EQ(get(net + "/subnets/a").status, 404);
  EXPECT_EQ(get(net + "/subnets/b").status, 200);
}

TEST_F(azure_network, an_address_appears_when_its_operation_has_ended) {
  azure_.set_timing(timing::fast());
  make(rg, "{" + where + "}");
  const auto begun = put(ip, standard_ip);
  EXPECT_EQ(begun.status, 201);
  EXPECT_EQ(begun.body["properties"].find("ipAddress"), nullptr);
  EXPECT_EQ(get(ip).body["properties"].find("ipAddress"), nullptr);
  advance(std::chrono::seconds(1));
  const std::string address = get(ip).body.at({"properties", "ipAddress"}).string_or("");
  EXPECT_EQ(address.rfind("20.", 0), 0U);
  make(ip, standard_ip);
  advance(std::chrono::seconds(1));
  EXPECT_EQ(get(ip).body.at({"properties", "ipAddress"}).string_or(""), address);
}

TEST_F(azure_network, addresses_are_standard_static_and_counted) {
  make(rg, "{" + where + "}");
  EXPECT_EQ(put(ip, "{" + where + "}").code(), "IPv4BasicSkuPublicIpCountLimitReached");
  EXPECT_EQ(
      put(ip, "{" + where + R"(,"sku":{"name":"Standard"}})").code(),
      "StandardSkuPublicIPAddressesMustBeStatic"
  );
  seed(R"({"quotas":{"public_addresses":1}})");
  make(ip, standard_ip);
  EXPECT_EQ(put(addresses + "/ip2", standard_ip).code(), "PublicIPCountLimitReached");
  EXPECT_EQ(put(ip, standard_ip).status, 200) << "an update needs no more quota";
}

TEST_F(azure_network, dns_labels_are_unique_in_a_region) {
  make(rg, "{" + where + "}");
  const auto labelled = [](const std::string& label) {
    return R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static","dnsSettings":{"domainNameLabel":")" +
           label + "\"}}}";
  };
  make(ip, labelled("web"));
  EXPECT_EQ(
      get(ip).body.at({"properties", "dnsSettings", "fqdn"}).string_or(""),
      "web.westeurope.cloudapp.azure.com"
  );
  EXPECT_EQ(put(addresses + "/ip2", labelled("web")).code(), "DnsRecordInUse");
  EXPECT_EQ(put(addresses + "/ip2", labelled("We b")).code(), "InvalidDomainNameLabel");
}

TEST_F(azure_network, security_groups_have_default_rules_and_check_their_own) {
  make(rg, "{" + where + "}");
  make(nsg, "{" + where + "}");
  EXPECT_EQ(get(nsg).body.at({"properties", "defaultSecurityRules"}).size(), 6U);
  EXPECT_EQ(get(nsg + "/defaultSecurityRules").body["value"].size(), 6U);
  EXPECT_EQ(
      get(nsg + "/defaultSecurityRules/DenyAllInBound")
          .body.at({"properties", "priority"})
          .integer(),
      65500
  );

  struct row {
    std::string properties;
    std::string code;
  };

  const row rows[] = {
      {rule("", 99), "SecurityRuleInvalidPriority"},
      {rule("", 4097), "SecurityRuleInvalidPriority"},
      {R"({"priority":200,"direction":"Sideways","access":"Allow","protocol":"Tcp"})",
       "SecurityRuleInvalidParameter"},
      {R"({"priority":200,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"70000"})",
       "SecurityRuleInvalidPortRange"},
      {R"({"priority":200,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"1.2.3/8","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"22"})",
       "SecurityRuleInvalidAddressPrefix"},
      {rule(R"(,"sourceAddressPrefixes":["10.0.0.0/8"])"),
       "SecurityRuleParameterContainsUnsupportedValue"},
      {R"({"priority":200,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"22"})",
       "SecurityRuleInvalidParameter"},
  };
  for (const auto& r : rows) {
    const auto a = put(nsg + "/securityRules/r", R"({"properties":)" + r.properties + "}");
    EXPECT_EQ(a.status, 400) << r.properties;
    EXPECT_EQ(a.code(), r.code) << r.properties;
  }
}

TEST_F(azure_network, rules_do_not_share_priority_and_direction) {
  make(rg, "{" + where + "}");
  make(
      nsg,
      "{" + where + R"(,"properties":{"securityRules":[{"name":"a","properties":)" + rule("") +
          "}]}}"
  );
  const auto clash = put(nsg + "/securityRules/b", R"({"properties":)" + rule("") + "}");
  EXPECT_EQ(clash.code(), "SecurityRuleConflict");
  EXPECT_EQ(
      clash.message(),
      "Security rule b conflicts with rule a. Rules cannot have the same Priority and Direction."
  );
  make(nsg + "/securityRules/b", R"({"properties":)" + rule("", 1001) + "}");
  const auto shown = get(nsg).body.at({"properties", "securityRules"});
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_TRUE(shown[0].at({"properties", "sourcePortRanges"}).is_array()) << "empty, never null";
  settle(remove(nsg + "/securityRules/a"));
  EXPECT_EQ(get(nsg + "/securityRules").body["value"].size(), 1U);
  make(nsg, "{" + where + "}");
  EXPECT_EQ(get(nsg + "/securityRules").body["value"].size(), 0U)
      << "a PUT replaces the whole list";
}

TEST_F(azure_network, a_security_group_in_use_stays) {
  make(rg, "{" + where + "}");
  make(nsg, "{" + where + "}");
  make(net, network_body("10.0.0.0/16"));
  make(
      net + "/subnets/sub",
      subnet_body(
          "10.0.0.0/24", R"(,"networkSecurityGroup":{"id":")" + subscription_1 + nsg + "\"}"
      )
  );
  EXPECT_EQ(get(nsg).body.at({"properties", "subnets"}).size(), 1U);
  const auto refused = remove(nsg);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.code(), "InUseNetworkSecurityGroupCannotBeDeleted");
  make(net + "/subnets/sub", subnet_body("10.0.0.0/24"));
  EXPECT_EQ(remove(nsg).status, 202);
}

TEST_F(azure_network, an_interface_gets_the_first_free_address) {
  make_network();
  const auto shown = get(nic).body;
  EXPECT_EQ(
      shown.at({"properties", "ipConfigurations"})[0]
          .at({"properties", "privateIPAddress"})
          .string_or(""),
      "10.0.0.4"
  );
  EXPECT_EQ(
      get(ip).body.at({"properties", "ipConfiguration", "id"}).string_or(""),
      subscription_1 + nic + "/ipConfigurations/ipconfig1"
  );
  EXPECT_EQ(get(ip).body.at({"properties", "deleteOption"}).string_or(""), "Delete");
  const auto second = put(networks + "/networkInterfaces/nic2", interface_body("sub", ""));
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.state(), "Succeeded") << "interfaces are made at once";
  EXPECT_EQ(second.header("Azure-AsyncOperation"), "");
  EXPECT_EQ(
      second.body.at({"properties", "ipConfigurations"})[0]
          .at({"properties", "privateIPAddress"})
          .string_or(""),
      "10.0.0.5"
  );
  EXPECT_EQ(put(networks + "/networkInterfaces/nic2", interface_body("sub", "")).status, 200);
  EXPECT_EQ(get(net + "/subnets/sub").body.at({"properties", "ipConfigurations"}).size(), 2U);
}

TEST_F(azure_network, a_small_subnet_fills_up) {
  make(rg, "{" + where + "}");
  make(net, network_body("10.0.0.0/16", subnet_of("tiny", "10.0.0.0/29")));
  for (const auto* name : {"a", "b", "c"}) {
    make(networks + "/networkInterfaces/" + name, interface_body("tiny", ""));
  }
  const auto full = put(networks + "/networkInterfaces/d", interface_body("tiny", ""));
  EXPECT_EQ(full.code(), "SubnetIsFull");
  settle(remove(networks + "/networkInterfaces/b"));
  EXPECT_EQ(put(networks + "/networkInterfaces/d", interface_body("tiny", "")).status, 201);
}

TEST_F(azure_network, interface_references_must_exist_be_ready_and_be_free) {
  make_network();
  EXPECT_EQ(put(nic + "2", interface_body("nowhere", "")).code(), "InvalidResourceReference");
  EXPECT_EQ(put(nic + "2", interface_body("sub", "nowhere")).code(), "InvalidResourceReference");
  EXPECT_EQ(put(nic + "2", interface_body("sub", "ip")).code(), "PublicIPAddressInUse");
  EXPECT_EQ(put(nic + "2", "{" + where + "}").code(), "NetworkInterfaceMustHaveIpConfigurations");
  azure_.set_timing(timing::fast());
  put(addresses + "/slow", standard_ip);
  const auto early = put(nic + "2", interface_body("sub", "slow"));
  EXPECT_EQ(early.status, 429);
  EXPECT_EQ(early.code(), "RetryableError");
  EXPECT_EQ(
      early.body.at({"error", "details"})[0]["code"].string_or(""),
      "ReferencedResourceNotProvisioned"
  );
  EXPECT_EQ(early.header("Retry-After"), "10");
  advance(std::chrono::seconds(1));
  EXPECT_EQ(put(nic + "2", interface_body("sub", "slow")).status, 201);
}

TEST_F(azure_network, static_private_addresses_are_checked) {
  make_network();
  const auto body = [&](const std::string& address) {
    auto text = interface_body("sub", "");
    const std::string mark = R"("properties":{"subnet")";
    text.replace(
        text.find(mark),
        mark.size(),
        R"("properties":{"privateIPAllocationMethod":"Static","privateIPAddress":")" + address +
            R"(","subnet")"
    );
    return text;
  };
  EXPECT_EQ(put(nic + "2", body("10.0.1.4")).code(), "PrivateIPAddressNotInSubnet");
  EXPECT_EQ(put(nic + "2", body("10.0.0.3")).code(), "PrivateIPAddressInReservedRange");
  EXPECT_EQ(put(nic + "2", body("10.0.0.4")).code(), "PrivateIPAddressIsAllocated");
  EXPECT_EQ(put(nic + "2", body("10.0.0.77")).status, 201);
}

TEST_F(azure_network, etags_guard_writes) {
  make(rg, "{" + where + "}");
  make(nsg, "{" + where + "}");
  const auto refused = put(nsg, "{" + where + "}", {{"if-match", "invalid"}});
  EXPECT_EQ(refused.status, 412);
  EXPECT_EQ(refused.code(), "PreconditionFailed");
  EXPECT_EQ(
      refused.body.at({"error", "details"})[0]["code"].string_or(""),
      "PreconditionFailedEtagMismatch"
  );
  const std::string etag = get(nsg).header("ETag");
  EXPECT_EQ(put(nsg, "{" + where + "}", {{"if-match", etag}}).status, 200);
  EXPECT_EQ(put(nsg + "2", "{" + where + "}", {{"if-match", "*"}}).status, 412);
  EXPECT_EQ(put(nsg + "2", "{" + where + "}", {{"if-none-match", "*"}}).status, 201);
  EXPECT_EQ(put(nsg + "2", "{" + where + "}", {{"if-none-match", "*"}}).status, 412);
}

TEST_F(azure_network, tags_are_replaced_by_patch) {
  make(rg, "{" + where + "}");
  make(nsg, "{" + where + R"(,"tags":{"a":"1"}})");
  const auto patched = arm("PATCH", nsg, parsed(R"({"tags":{"b":"2"}})"));
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(patched.body["tags"].dump(), R"({"b":"2"})");
  EXPECT_EQ(arm("PATCH", nsg + "2", parsed(R"({"tags":{}})")).status, 404);
}

TEST_F(azure_network, ids_keep_the_case_of_the_last_writer) {
  make(rg, "{" + where + "}");
  make(networks + "/networkSecurityGroups/Nsg", "{" + where + "}");
  EXPECT_EQ(
      get("/RESOURCEGROUPS/RG/Providers/microsoft.network/NETWORKSECURITYGROUPS/nSG")
          .body["name"]
          .string_or(""),
      "Nsg"
  );
  make(networks + "/networkSecurityGroups/NSG", "{" + where + "}");
  EXPECT_EQ(
      get(nsg).body["id"].string_or(""), subscription_1 + networks + "/networkSecurityGroups/NSG"
  );
  EXPECT_EQ(get(networks + "/networkSecurityGroups").body["value"].size(), 1U);
}

} // namespace
} // namespace siteagent::azure_emulator
