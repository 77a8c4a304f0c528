// SPDX-License-Identifier: MIT
// Admitting the fleet's addresses, over the emulated Azure: what is written, and what is not.
#include "tests/unit/azure/cloud_host_fixture.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string rule_name = "networkSecurityGroups/subnet-nsg/securityRules/stado-cloud-hosts";

class azure_host_admit : public azure_hosts {
protected:
  fake_call admit(const json& body, bool dry_run = false) {
    return run(&provider::admit_addresses, body, dry_run);
  }

  fake_call admit() { return admit(admit_body()); }

  json rule() { return get(network_id(rule_name, "shared-net")); }

  static std::string inbound(int priority, const std::string& rest) {
    return R"({"priority":)" + std::to_string(priority) +
           R"(,"direction":"Inbound","protocol":"Tcp","sourcePortRange":"*",)" + rest + "}";
  }

  static std::string allow_443(int priority) {
    return inbound(
        priority,
        R"("access":"Allow","sourceAddressPrefix":"*","destinationAddressPrefix":"*","destinationPortRange":"443")"
    );
  }

  json with_host(const json& created) {
    json body = admit_body();
    body.set("ensure_location", json());
    body.set(
        "hosts",
        json::array({json::object(
            {{"name", "b1"},
             {"location", "westeurope"},
             {"vm_id", created["vm_id"]},
             {"resources", created["resources"]}}
        )})
    );
    return body;
  }
};

TEST_F(azure_host_admit, R36_the_subnets_group_gets_the_rule_at_the_first_free_priority) {
  const fake_call call = admit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  const json& row = call.emitted[0]["locations"][0];
  EXPECT_EQ(row["location"].string_or(""), "westeurope");
  EXPECT_EQ(row["rule"].string_or(""), "created");
  EXPECT_EQ(row["priority"].integer(), 101) << "100 is taken inbound, 101 only outbound (R126)";
  EXPECT_EQ(
      row["group_id"].string_or(""),
      network_id("applicationSecurityGroups/stado-cloud-hosts-westeurope")
  );
  const json p = rule()["properties"];
  EXPECT_EQ(p["direction"].string_or(""), "Inbound");
  EXPECT_EQ(p["access"].string_or(""), "Allow");
  EXPECT_EQ(p["protocol"].string_or(""), "Tcp");
  EXPECT_EQ(p["destinationPortRange"].string_or(""), "22");
  EXPECT_EQ(p["sourceAddressPrefixes"].dump(), R"(["198.51.100.4/32"])") << "R34";
  ASSERT_EQ(p["destinationApplicationSecurityGroups"].size(), 1U);
  EXPECT_TRUE(p["destinationAddressPrefix"].is_null());
}

TEST_F(azure_host_admit, R35_the_location_gets_its_application_group_with_the_tags) {
  ASSERT_EQ(admit().code, SAGENT_OK);
  const json group = get(network_id("applicationSecurityGroups/stado-cloud-hosts-westeurope"));
  EXPECT_EQ(group["location"].string_or(""), "westeurope");
  EXPECT_EQ(group["tags"]["fleet"].string_or(""), "f1");
}

TEST_F(azure_host_admit, R128_nothing_else_in_the_network_changes) {
  const world before = snapshot();
  ASSERT_EQ(admit().code, SAGENT_OK);
  EXPECT_THAT(
      differences(before, snapshot()),
      ElementsAre(
          "applicationSecurityGroups/stado-cloud-hosts-westeurope",
          "networkSecurityGroups/subnet-nsg", // whose list shows the rule
          rule_name
      )
  );
}

TEST_F(azure_host_admit, R37_creating_and_deleting_hosts_leaves_foreign_objects_as_they_were) {
  ASSERT_EQ(admit().code, SAGENT_OK);
  const world before = snapshot();
  const json created = rent();
  const world between = snapshot();
  for (const std::string& id : differences(before, between)) {
    EXPECT_TRUE(
        id.find("b1") != std::string::npos || id.find("virtualNetworks/vnet-westeurope") == 0
    ) << id;
  }
  ASSERT_EQ(run(&provider::delete_host, delete_body("b1", created)).code, SAGENT_OK);
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_admit, A29_what_is_up_to_date_is_not_written) {
  ASSERT_EQ(admit().code, SAGENT_OK);
  const auto writes = azure.count("PUT", "/");
  const fake_call again = admit();
  ASSERT_EQ(again.code, SAGENT_OK) << again.message;
  EXPECT_EQ(again.emitted[0]["locations"][0]["rule"].string_or(""), "unchanged");
  EXPECT_EQ(azure.count("PUT", "/"), writes);
  EXPECT_THAT(again.checkpoints, IsEmpty());
}

TEST_F(azure_host_admit, A28_addresses_are_replaced_and_the_priority_stays) {
  ASSERT_EQ(admit().code, SAGENT_OK);
  const fake_call call = admit(admit_body({"198.51.100.9", "203.0.113.5"}));
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["locations"][0]["rule"].string_or(""), "updated");
  EXPECT_EQ(call.emitted[0]["locations"][0]["priority"].integer(), 101);
  EXPECT_EQ(
      rule().at({"properties", "sourceAddressPrefixes"}).dump(),
      R"(["198.51.100.9/32","203.0.113.5/32"])"
  );
}

TEST_F(azure_host_admit, A27_a_rule_that_somebody_removed_comes_back) {
  ASSERT_EQ(admit().code, SAGENT_OK);
  azure.seed(json::object(
      {{"actions",
        json::array({json::object({{"do", "delete"}, {"id", network_id(rule_name, "shared-net")}})}
        )}}
  ));
  ASSERT_TRUE(rule().is_null());
  const fake_call call = admit();
  EXPECT_EQ(call.emitted[0]["locations"][0]["rule"].string_or(""), "created");
  EXPECT_TRUE(rule().is_object());
}

TEST_F(azure_host_admit, R36_a_subnet_without_a_group_of_its_own_needs_no_rule) {
  json body = admit_body();
  body.set("ensure_location", "North Europe").set("locations", json::array({"northeurope"}));
  const fake_call call = admit(body);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  const json& row = call.emitted[0]["locations"][0];
  EXPECT_EQ(row["location"].string_or(""), "northeurope") << "compared without case and blanks";
  EXPECT_EQ(row["rule"].string_or(""), "none");
  EXPECT_TRUE(has(network_id("applicationSecurityGroups/stado-cloud-hosts-northeurope")));
}

TEST_F(azure_host_admit, R17_F19_a_missing_subnet_or_network_is_named_in_full_and_nothing_is_made) {
  const world before = snapshot();
  json body = admit_body();
  body.set("ensure_location", "eastus").set("locations", json::array({"eastus"}));
  const fake_call network = admit(body);
  EXPECT_NE(network.code, SAGENT_OK);
  EXPECT_THAT(network.message, HasSubstr("vnet-eastus/builders"));
  settings.member_ref("bindings").set("subnet", "nobody");
  provider.reset();
  const fake_call subnet = admit();
  EXPECT_NE(subnet.code, SAGENT_OK);
  EXPECT_THAT(subnet.message, HasSubstr("vnet-westeurope/nobody"));
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_admit, R21_F20_a_policy_that_denies_the_application_group_is_named) {
  azure.seed(*json::parse(
      R"({"policies":[{"name":"No application groups here","effect":"deny","type":"Microsoft.Network/applicationSecurityGroups"}]})"
  ));
  const world before = snapshot();
  const fake_call call = admit();
  EXPECT_EQ(call.code, SAGENT_E_FORBIDDEN);
  EXPECT_THAT(
      call.message,
      AllOf(
          testing::StartsWith(
              "the application security group stado-cloud-hosts-westeurope was not made: "
          ),
          HasSubstr(" HTTP 403: RequestDisallowedByPolicy"),
          HasSubstr("No application groups here")
      )
  );
  EXPECT_EQ(call.detail["assignment"].string_or(""), "No application groups here");
  EXPECT_EQ(call.detail["http_status"].integer(), 403);
  EXPECT_EQ(call.detail["provider_code"].string_or(""), "RequestDisallowedByPolicy");
  EXPECT_EQ(call.detail["resource"]["kind"].string_or(""), "application-security-group");
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_admit, F21_a_table_without_a_free_priority_is_refused_naming_rule_and_group) {
  json rules = json::array();
  for (int p = 100; p <= 4096; ++p) {
    rules.push_back(json::object(
        {{"name", "r" + std::to_string(p)}, {"properties", *json::parse(allow_443(p))}}
    ));
  }
  wire.add(
      {"GET",
       "networkSecurityGroups/subnet-nsg",
       -1,
       0,
       false,
       200,
       json::object({{"id", network_id("networkSecurityGroups/subnet-nsg", "shared-net")},
                     {"properties", json::object({{"securityRules", rules}})}}
       ).dump(),
       {}}
  );
  const fake_call call = admit();
  EXPECT_EQ(call.code, SAGENT_E_REFUSED);
  EXPECT_THAT(call.message, AllOf(HasSubstr("stado-cloud-hosts"), HasSubstr("subnet-nsg")));
  EXPECT_EQ(azure.count("PUT", "securityRules"), 0U);
}

TEST_F(azure_host_admit, case_net_03_a_priority_that_was_taken_meanwhile_is_chosen_again) {
  prepare = [this](fake_call& call) {
    call.on_checkpoint = [this](const json& c) {
      if (c["phase"].string_or("") == "before" && c["kind"].string_or("") == "security-rule" &&
          azure.count("PUT", "NRMS") < 2) {
        const int taken = 101 + static_cast<int>(azure.count("PUT", "NRMS"));
        add_rule("NRMS-" + std::to_string(taken), allow_443(taken));
      }
      return sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = admit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["locations"][0]["priority"].integer(), 103);
  EXPECT_TRUE(
      has(network_id("networkSecurityGroups/subnet-nsg/securityRules/NRMS-101", "shared-net"))
  );
}

TEST_F(azure_host_admit, R126_after_five_conflicts_it_gives_up_naming_the_rule) {
  wire.add(
      {"PUT",
       "securityRules/stado-cloud-hosts",
       -1,
       0,
       false,
       400,
       R"({"error":{"code":"SecurityRuleConflict","message":"Security rule a conflicts with rule b."}})",
       {}}
  );
  const fake_call call = admit();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT);
  EXPECT_THAT(
      call.message,
      AllOf(
          HasSubstr("the security rule stado-cloud-hosts was not made"),
          HasSubstr("SecurityRuleConflict")
      )
  );
  EXPECT_EQ(
      std::count_if(
          call.checkpoints.begin(),
          call.checkpoints.end(),
          [](const json& c) {
            return c["phase"].string_or("") == "before" &&
                   c["kind"].string_or("") == "security-rule";
          }
      ),
      5
  );
}

TEST_F(azure_host_admit, a_rule_of_another_fleet_is_never_rewritten) {
  azure.seed(*json::parse(
      R"({"applicationSecurityGroups":[{"resourceGroup":"shared-net","name":"theirs","location":"westeurope"}]})"
  ));
  add_rule(
      "Stado-Cloud-Hosts",
      inbound(
          102,
          R"("access":"Allow","sourceAddressPrefix":"203.0.113.1","destinationPortRange":"22","destinationApplicationSecurityGroups":[{"id":")" +
              network_id("applicationSecurityGroups/theirs", "shared-net") + R"("}])"
      )
  );
  const world before = snapshot();
  const fake_call call = admit();
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT);
  EXPECT_THAT(call.message, AllOf(HasSubstr("subnet-nsg"), HasSubstr("belongs to somebody else")));
  EXPECT_THAT(
      differences(before, snapshot()),
      ElementsAre("applicationSecurityGroups/stado-cloud-hosts-westeurope")
  );
}

TEST_F(azure_host_admit, case_net_04_a_denial_before_the_rule_is_warned_of_and_left_alone) {
  add_rule(
      "deny-ssh",
      inbound(
          99 + 6,
          R"("access":"Deny","sourceAddressPrefix":"Internet","destinationAddressPrefix":"*","destinationPortRanges":["20-23","80"])"
      )
  );
  for (int p = 101; p < 105; ++p) {
    add_rule("web" + std::to_string(p), allow_443(p));
  }
  const fake_call call = admit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["locations"][0]["priority"].integer(), 106);
  ASSERT_EQ(call.emitted[0]["warnings"].size(), 1U);
  EXPECT_THAT(
      call.emitted[0]["warnings"][0].string_or(""),
      AllOf(HasSubstr("deny-ssh"), HasSubstr("subnet-nsg"))
  );
}

TEST_F(azure_host_admit, R38_declared_hosts_are_readmitted_in_their_own_groups) {
  const json created = rent();
  json body = with_host(created);
  body.set("addresses", json::array({"198.51.100.4", "198.51.100.5"}));
  const fake_call call = admit(body);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["hosts"][0]["outcome"].string_or(""), "updated");
  EXPECT_EQ(call.emitted[0]["locations"][0]["rule"].string_or(""), "updated");
  const json own = get(network_id("networkSecurityGroups/b1-nsg/securityRules/stado-cloud-hosts"));
  EXPECT_EQ(own.at({"properties", "sourceAddressPrefixes"}).size(), 2U);
  EXPECT_EQ(own.at({"properties", "priority"}).integer(), 100);
  const fake_call again = admit(body);
  EXPECT_EQ(again.emitted[0]["hosts"][0]["outcome"].string_or(""), "unchanged");
}

TEST_F(
    azure_host_admit, F22_R127_a_host_that_is_gone_is_skipped_and_one_without_its_group_is_an_error
) {
  const json created = rent();
  const json body = with_host(created);
  const auto lose = [&](const std::string& id) {
    azure.seed(
        json::object({{"actions", json::array({json::object({{"do", "delete"}, {"id", id}})})}})
    );
  };
  lose(network_id("networkSecurityGroups/b1-nsg"));
  const fake_call broken = admit(body);
  EXPECT_NE(broken.code, SAGENT_OK);
  EXPECT_THAT(broken.message, AllOf(HasSubstr("b1"), HasSubstr("b1-nsg"))) << "F22";
  json of_another = body;
  of_another.member_ref("hosts").items()[0].set("vm_id", "00000000-0000-0000-0000-000000000009");
  const fake_call other = admit(of_another);
  EXPECT_EQ(other.code, SAGENT_OK) << "the machine there is another one: " << other.message;
  lose(compute_id("virtualMachines/b1"));
  const fake_call gone = admit(body);
  ASSERT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_EQ(gone.emitted[0]["hosts"][0]["outcome"].string_or(""), "absent");
  EXPECT_THAT(gone.emitted[0]["warnings"][0].string_or(""), HasSubstr("b1"));
}

TEST_F(azure_host_admit, a_location_without_its_application_group_is_not_made_for_a_reap) {
  json body = admit_body();
  body.set("ensure_location", json());
  const world before = snapshot();
  const fake_call call = admit(body);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["locations"][0]["rule"].string_or(""), "none");
  EXPECT_EQ(call.emitted[0]["warnings"].size(), 1U);
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_admit, a_dry_run_says_what_would_be_done) {
  const world before = snapshot();
  const fake_call call = admit(admit_body(), true);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["locations"][0]["rule"].string_or(""), "created");
  EXPECT_EQ(call.emitted[0]["locations"][0]["priority"].integer(), 101);
  EXPECT_TRUE(call.emitted[0]["locations"][0]["group_id"].is_null());
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
  EXPECT_THAT(call.checkpoints, IsEmpty());
}

TEST_F(azure_host_admit, lost_answers_and_busy_networks_are_waited_out) {
  wire.add({"PUT", "applicationSecurityGroups", 1, 0, true, std::nullopt, "", {}});
  wire.add({"PUT", "securityRules", 1, 0, true, 500, "", {}});
  const fake_call call = admit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["locations"][0]["rule"].string_or(""), "created");
  EXPECT_EQ(azure.count("PUT", "securityRules"), 1U);
  wire.add(
      {"PUT",
       "securityRules",
       3,
       0,
       false,
       409,
       R"({"error":{"code":"AnotherOperationInProgress","message":"wait"}})",
       {}}
  );
  const fake_call busy = admit(admit_body({"198.51.100.77"}));
  ASSERT_EQ(busy.code, SAGENT_OK) << busy.message;
  EXPECT_EQ(busy.emitted[0]["locations"][0]["rule"].string_or(""), "updated");
}

TEST_F(azure_host_admit, R34_what_is_no_ipv4_address_is_refused_without_a_call) {
  for (const char* wrong :
       {"0.0.0.0/0",
        "*",
        "Internet",
        "198.51.100.0/24",
        "2001:db8::1",
        "010.0.0.1",
        "",
        "1.2.3.4:22"}) {
    const fake_call call = admit(admit_body({"198.51.100.4", wrong}));
    EXPECT_EQ(call.code, SAGENT_E_INVALID) << wrong;
  }
  EXPECT_EQ(admit(admit_body({})).code, SAGENT_E_INVALID);
  EXPECT_EQ(azure.log().size(), 0U);
}

TEST_F(azure_host_admit, an_application_group_in_another_region_is_not_touched) {
  azure.seed(*json::parse(
      R"({"applicationSecurityGroups":[{"resourceGroup":"hosts","name":"stado-cloud-hosts-westeurope","location":"northeurope"}]})"
  ));
  const world before = snapshot();
  const fake_call call = admit();
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT) << call.message;
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

} // namespace

} // namespace siteagent::azure::test
