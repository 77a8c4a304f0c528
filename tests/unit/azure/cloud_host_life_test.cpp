// SPDX-License-Identifier: MIT
// Hosts from creation to return, over the emulated Azure.
#include "tests/unit/azure/cloud_host_fixture.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// "put virtual-machine", in order, of one phase.
std::vector<std::string> told(const fake_call& call, std::string_view phase) {
  std::vector<std::string> out;
  for (const json& c : call.checkpoints) {
    if (c["phase"].string_or("") == phase) {
      out.push_back(c["verb"].string_or("") + " " + c["kind"].string_or(""));
    }
  }
  return out;
}

std::vector<std::string> kinds_in(const json& list, const char* outcome = nullptr) {
  std::vector<std::string> out;
  for (const json& row : list.items()) {
    if (outcome == nullptr || row["outcome"].string_or("") == outcome) {
      out.push_back(row["kind"].string_or(""));
    }
  }
  return out;
}

class azure_host_life : public azure_hosts {
protected:
  fake_call create(const std::string& name = "b1") {
    const fake_call admitted = run(&provider::admit_addresses, admit_body());
    EXPECT_EQ(admitted.code, SAGENT_OK) << admitted.message;
    return run(&provider::create_host, create_body(name));
  }

  fake_call remove(const json& created, const std::string& name = "b1") {
    return run(&provider::delete_host, delete_body(name, created));
  }

  std::string state(const json& created) {
    const fake_call call = run(&provider::host_state, delete_body("b1", created));
    EXPECT_EQ(call.code, SAGENT_OK) << call.message;
    return call.emitted.empty() ? "" : call.emitted[0]["state"].string_or("");
  }
};

TEST_F(azure_host_life, R40_A22_A23_address_group_interface_machine_are_made_in_this_order) {
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      told(call, "before"),
      ElementsAre(
          "put public-ip-address",
          "put network-security-group",
          "put network-interface",
          "put virtual-machine",
          "patch disk"
      )
  );
  EXPECT_THAT(
      told(call, "after"),
      ElementsAre(
          "put public-ip-address",
          "put network-security-group",
          "put network-interface",
          "put virtual-machine",
          "patch disk"
      )
  );
  const json address = get(network_id("publicIPAddresses/b1-ip"));
  EXPECT_EQ(address.at({"sku", "name"}).string_or(""), "Standard");
  EXPECT_EQ(address.at({"properties", "publicIPAllocationMethod"}).string_or(""), "Static");
  const json answer = call.emitted[0];
  EXPECT_EQ(
      answer["address"].string_or(""), address.at({"properties", "ipAddress"}).string_or("-")
  );
  const json machine = get(compute_id("virtualMachines/b1"));
  EXPECT_EQ(answer["vm_id"].string_or(""), machine.at({"properties", "vmId"}).string_or("-"));
  EXPECT_TRUE(base::parse_rfc3339(answer["created_at"].string_or("")));
  EXPECT_EQ(answer["created_at"].string_or("").back(), 'Z');
  EXPECT_EQ(answer["resources"]["disk"].string_or(""), compute_id("disks/b1-os"));
}

TEST_F(azure_host_life, R40_the_machine_takes_the_key_and_no_password_and_its_disk_goes_with_it) {
  ASSERT_EQ(create("b.1_x").code, SAGENT_OK);
  const json p = get(compute_id("virtualMachines/b.1_x"))["properties"];
  const json& linux_part = p.at({"osProfile", "linuxConfiguration"});
  EXPECT_EQ(p.at({"osProfile", "computerName"}).string_or(""), "b-1-x");
  EXPECT_EQ(p.at({"osProfile", "adminUsername"}).string_or(""), "builder");
  EXPECT_EQ(linux_part["disablePasswordAuthentication"].boolean(), true);
  const json& keys = linux_part.at({"ssh", "publicKeys"});
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0]["path"].string_or(""), "/home/builder/.ssh/authorized_keys");
  EXPECT_EQ(keys[0]["keyData"].string_or(""), ed25519_key);
  const json& disk = p.at({"storageProfile", "osDisk"});
  EXPECT_EQ(disk["name"].string_or(""), "b.1_x-os");
  EXPECT_EQ(disk["diskSizeGB"].integer(), 64);
  EXPECT_EQ(disk["deleteOption"].string_or(""), "Delete");
  const json interface = get(network_id("networkInterfaces/b.1_x-nic"));
  const json& connection = interface.at({"properties", "ipConfigurations"})[0]["properties"];
  EXPECT_THAT(
      connection["applicationSecurityGroups"][0]["id"].string_or(""),
      HasSubstr("stado-cloud-hosts-westeurope")
  );
  EXPECT_THAT(
      connection.at({"subnet", "id"}).string_or(""), HasSubstr("vnet-westeurope/subnets/builders")
  );
  EXPECT_THAT(
      interface.at({"properties", "networkSecurityGroup", "id"}).string_or(""),
      HasSubstr("b.1_x-nsg")
  );
}

TEST_F(azure_host_life, A38_the_machine_is_made_by_a_version_that_takes_ed25519) {
  ASSERT_EQ(create().code, SAGENT_OK);
  for (const logged& l : azure.log()) {
    if (l.method == "PUT" && l.path.find("/virtualMachines/") != std::string::npos) {
      EXPECT_GE(l.query.substr(l.query.find('=') + 1, 10), "2023-09-01");
    }
  }
  EXPECT_EQ(azure.count("PUT", "/virtualMachines/"), 1U);
}

TEST_F(azure_host_life, R127_the_hosts_own_group_has_one_rule_of_priority_100) {
  ASSERT_EQ(create().code, SAGENT_OK);
  const json rules =
      get(network_id("networkSecurityGroups/b1-nsg")).at({"properties", "securityRules"});
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0]["name"].string_or(""), "stado-cloud-hosts");
  const json& p = rules[0]["properties"];
  EXPECT_EQ(p["priority"].integer(), 100);
  EXPECT_EQ(p["destinationPortRange"].string_or(""), "22");
  EXPECT_EQ(p["sourceAddressPrefixes"][0].string_or(""), "198.51.100.4/32");
  EXPECT_EQ(p["sourceAddressPrefixes"].size(), 1U);
}

TEST_F(azure_host_life, every_object_carries_all_tags) {
  ASSERT_EQ(create().code, SAGENT_OK);
  const auto parts = parts_of("b1");
  ASSERT_EQ(parts.size(), 5U);
  for (const std::string& id : parts) {
    const json tags = get(id)["tags"];
    EXPECT_EQ(tags["stado_cloud_host"].string_or(""), "b1") << id;
    EXPECT_EQ(tags["stado_created"].string_or(""), "2026-11-30T02:00:00Z") << id;
  }
}

TEST_F(azure_host_life, A20_host_state_says_azures_own_word) {
  const json created = rent();
  EXPECT_EQ(state(created), "running");
  for (const auto& [happening, word] :
       {std::pair<std::string, std::string>{"guest_shutdown", "stopped"}}) {
    azure.seed(json::object(
        {{"actions",
          json::array({json::object({{"do", happening}, {"id", compute_id("virtualMachines/b1")}})}
          )}}
    ));
    EXPECT_EQ(state(created), word);
  }
}

TEST_F(azure_host_life, A22_another_generation_under_the_name_is_absent) {
  json created = rent();
  created.set("vm_id", "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(state(created), "absent");
}

TEST_F(azure_host_life, R65_R66_delete_goes_from_machine_to_address_and_leaves_nothing) {
  const json created = rent();
  const auto before = azure.log().size();
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      kinds_in(call.emitted[0]["released"], "deleted"),
      ElementsAre(
          "virtual-machine",
          "disk",
          "network-interface",
          "network-security-group",
          "public-ip-address"
      )
  );
  EXPECT_THAT(call.emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(parts_of("b1"), IsEmpty());
  EXPECT_THAT(
      told(call, "after"),
      ElementsAre(
          "delete virtual-machine",
          "delete network-interface",
          "delete network-security-group",
          "delete public-ip-address"
      )
  );
  for (std::size_t i = before; i < azure.log().size(); ++i) {
    const logged& l = azure.log()[i];
    EXPECT_TRUE(!l.is_write() || l.method == "DELETE")
        << "DEL-08: " << l.method << " " << l.path << " prepares a deletion";
  }
}

TEST_F(azure_host_life, R132_the_application_group_and_the_subnets_rule_stay) {
  const json created = rent();
  ASSERT_EQ(remove(created).code, SAGENT_OK);
  EXPECT_TRUE(has(network_id("applicationSecurityGroups/stado-cloud-hosts-westeurope")));
  EXPECT_TRUE(has(
      network_id("networkSecurityGroups/subnet-nsg/securityRules/stado-cloud-hosts", "shared-net")
  ));
}

TEST_F(azure_host_life, R69_deleting_again_finds_everything_gone) {
  const json created = rent();
  ASSERT_EQ(remove(created).code, SAGENT_OK);
  const fake_call again = remove(created);
  ASSERT_EQ(again.code, SAGENT_OK) << again.message;
  EXPECT_EQ(kinds_in(again.emitted[0]["released"], "already_gone").size(), 5U);
  EXPECT_THAT(told(again, "before"), IsEmpty());
}

TEST_F(azure_host_life, a_dry_deletion_tells_what_would_go_and_writes_nothing) {
  const json created = rent();
  const auto before = snapshot();
  const fake_call call = run(&provider::delete_host, delete_body("b1", created), true);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(kinds_in(call.emitted[0]["released"], "deleted").size(), 5U);
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_life, F49_a_machine_of_another_generation_is_held_and_nothing_is_tried) {
  json created = rent();
  const std::string real = created["vm_id"].string_or("");
  created.set("vm_id", "00000000-0000-0000-0000-000000000001");
  const auto before = snapshot();
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  const json& held = call.emitted[0]["held"];
  ASSERT_FALSE(held.items().empty());
  EXPECT_EQ(held[0]["kind"].string_or(""), "virtual-machine");
  EXPECT_THAT(held[0]["cause"].string_or(""), HasSubstr(real));
  EXPECT_THAT(held[0]["cause"].string_or(""), HasSubstr("00000000-0000-0000-0000-000000000001"));
  EXPECT_THAT(call.emitted[0]["released"].items(), IsEmpty());
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_life, case_leak_03_a_disk_that_stays_is_deleted_explicitly) {
  const json created = rent();
  azure.seed(json::object({{"disks_survive", true}}));
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(call.emitted[0]["held"].items(), IsEmpty());
  EXPECT_EQ(azure.count("DELETE", "/disks/b1-os"), 1U);
  EXPECT_THAT(parts_of("b1"), IsEmpty());
}

TEST_F(azure_host_life, F50_what_azure_holds_is_told_and_what_depends_on_it_is_not_tried) {
  const json created = rent();
  wire.add(
      {"DELETE",
       "/networkInterfaces/b1-nic",
       -1,
       0,
       false,
       400,
       R"({"error":{"code":"NicReservedForAnotherVm","message":"Nic(s) in request is reserved for another Virtual Machine for 180 seconds."}})",
       {}}
  );
  const auto began = azure.clock.steady();
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_GE(azure.clock.steady() - began, std::chrono::seconds(240)) << "7.2: at least 240 s";
  EXPECT_THAT(kinds_in(call.emitted[0]["released"]), ElementsAre("virtual-machine", "disk"));
  EXPECT_THAT(
      kinds_in(call.emitted[0]["held"]),
      ElementsAre("network-interface", "network-security-group", "public-ip-address")
  );
  EXPECT_THAT(
      call.emitted[0]["held"][0]["cause"].string_or(""), HasSubstr("NicReservedForAnotherVm")
  );
  for (const json& held : call.emitted[0]["held"].items()) {
    EXPECT_EQ(held["retryable"].boolean(), true) << held.dump();
  }
  wire.clear();
  const fake_call again = remove(created);
  EXPECT_THAT(again.emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(parts_of("b1"), IsEmpty());
}

TEST_F(azure_host_life, F50_while_the_machine_is_there_nothing_else_is_tried) {
  const json created = rent();
  wire.add(
      {"DELETE",
       "/virtualMachines/b1",
       -1,
       0,
       false,
       409,
       R"({"error":{"code":"ScopeLocked","message":"The scope cannot perform delete operation because following scope(s) are locked."}})",
       {}}
  );
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["held"].size(), 5U);
  EXPECT_THAT(call.emitted[0]["held"][0]["cause"].string_or(""), HasSubstr("ScopeLocked"));
  EXPECT_EQ(call.emitted[0]["held"][0]["retryable"].boolean(), false);
  EXPECT_EQ(azure.count("DELETE", "/"), 0U) << "case DEL-09: asked once, never forced";
  EXPECT_EQ(parts_of("b1").size(), 5U);
}

TEST_F(azure_host_life, delete_waits_for_azure_to_let_the_interface_go) {
  const json created = rent();
  wire.add(
      {"DELETE",
       "/networkInterfaces/b1-nic",
       5,
       0,
       false,
       400,
       R"({"error":{"code":"NicReservedForAnotherVm","message":"reserved for 180 seconds"}})",
       {}}
  );
  const fake_call call = remove(created);
  EXPECT_THAT(call.emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(parts_of("b1"), IsEmpty());
}

TEST_F(azure_host_life, a_lost_answer_to_a_deletion_is_looked_after) {
  const json created = rent();
  wire.add({"DELETE", "/virtualMachines/b1", 1, 0, true, std::nullopt, "", {}});
  wire.add({"DELETE", "/publicIPAddresses/b1-ip", 1, 0, true, 503, "", {}});
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(call.emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(parts_of("b1"), IsEmpty());
}

TEST_F(azure_host_life, a_machine_that_cannot_be_read_fails_the_deletion_before_anything) {
  const json created = rent();
  wire.add({"GET", "/virtualMachines/b1", -1, 0, false, 503, "", {}});
  const fake_call call = remove(created);
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << call.message;
  EXPECT_EQ(parts_of("b1").size(), 5U);
}

TEST_F(azure_host_life, R66_what_a_replica_that_is_behind_does_not_show_is_not_taken_for_gone) {
  for (const char* path :
       {"/virtualMachines/b1",
        "/disks/b1-os",
        "/networkInterfaces/b1-nic",
        "/networkSecurityGroups/b1-nsg",
        "/publicIPAddresses/b1-ip"}) {
    const json created = rent();
    wire.add(
        {"GET",
         path,
         1,
         0,
         false,
         404,
         R"({"error":{"code":"ResourceNotFound","message":"The Resource was not found."}})",
         {}}
    );
    const fake_call call = remove(created);
    ASSERT_EQ(call.code, SAGENT_OK) << path << ": " << call.message;
    EXPECT_THAT(call.emitted[0]["held"].items(), IsEmpty()) << path;
    EXPECT_THAT(parts_of("b1"), IsEmpty()) << path;
    wire.clear();
  }
}

TEST_F(azure_host_life, case_del_03_a_404_without_azures_words_is_no_absence) {
  const json created = rent();
  for (const char* body :
       {"", "<html>not found</html>", R"({"error":{"code":"SubscriptionNotFound"}})"}) {
    wire.add({"GET", "/virtualMachines/b1", -1, 0, false, 404, body, {}});
    const fake_call call = remove(created);
    EXPECT_NE(call.code, SAGENT_OK) << body;
    EXPECT_THAT(call.emitted, IsEmpty());
    wire.clear();
  }
  EXPECT_EQ(parts_of("b1").size(), 5U);
}

TEST_F(azure_host_life, without_a_record_what_carries_the_tags_is_deleted) {
  (void)rent("b1");
  const json other = rent("b2");
  json body = delete_body("b1", json());
  const fake_call call = run(&provider::delete_host, body);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(parts_of("b1"), IsEmpty());
  EXPECT_EQ(parts_of("b2").size(), 5U);
  EXPECT_EQ(other["resources"].is_object(), true);
}

TEST_F(azure_host_life, case_del_04_without_a_record_a_name_alone_deletes_nothing) {
  azure.seed(*json::parse(
      R"({"publicIPAddresses":[{"resourceGroup":"hosts","name":"b9-ip","location":"westeurope","sku":{"name":"Standard"},"tags":{"stado_cloud_host":"other"},
          "properties":{"publicIPAllocationMethod":"Static"}}],
          "networkSecurityGroups":[{"resourceGroup":"hosts","name":"b9-nsg","location":"westeurope","tags":{"stado_cloud_host":""}}]})"
  ));
  const auto before = snapshot();
  const fake_call call = run(&provider::delete_host, delete_body("b9", json()));
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      kinds_in(call.emitted[0]["held"]), ElementsAre("network-security-group", "public-ip-address")
  );
  EXPECT_THAT(differences(before, snapshot()), IsEmpty());
}

TEST_F(azure_host_life, a_record_that_names_foreign_objects_deletes_nothing) {
  json created = rent();
  for (const std::string wrong :
       {"/subscriptions/99999999-0000-0000-0000-000000000000/resourceGroups/hosts/providers/"
        "Microsoft.Compute/virtualMachines/b1",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/hosts/providers/"
        "Microsoft.Network/virtualNetworks/vnet-westeurope",
        "nonsense"}) {
    json changed = created;
    changed.member_ref("resources").set("virtual_machine", wrong);
    EXPECT_EQ(remove(changed).code, SAGENT_E_INVALID) << wrong;
  }
  EXPECT_EQ(parts_of("b1").size(), 5U);
}

TEST_F(azure_host_life, a_group_that_is_not_there_says_nothing_about_hosts) {
  (void)rent();
  settings.member_ref("bindings").set("resource_group", "elsewhere");
  provider.reset();
  const fake_call listed = run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  EXPECT_EQ(listed.code, SAGENT_E_PERMANENT) << listed.message;
  const fake_call gone = run(&provider::delete_host, delete_body("b1", json()));
  EXPECT_EQ(gone.code, SAGENT_E_PERMANENT) << gone.message;
  EXPECT_EQ(parts_of("b1").size(), 5U);
}

TEST_F(azure_host_life, case_price_04_a_disabled_subscription_holds_everything_after_few_requests) {
  const json created = rent();
  wire.add(
      {"DELETE",
       "",
       -1,
       0,
       false,
       409,
       R"({"error":{"code":"ReadOnlyDisabledSubscription","message":"The subscription is disabled and therefore marked as read only."}})",
       {}}
  );
  const auto requests = azure.log().size();
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["held"].size(), 5U);
  EXPECT_THAT(
      call.emitted[0]["held"][0]["cause"].string_or(""), HasSubstr("ReadOnlyDisabledSubscription")
  );
  EXPECT_LE(azure.log().size() - requests, 4U);
  wire.clear();
  EXPECT_THAT(remove(created).emitted[0]["held"].items(), IsEmpty());
}

TEST_F(azure_host_life, a_deletion_that_is_stopped_names_what_was_not_tried) {
  const json created = rent();
  prepare = [](fake_call& call) {
    call.on_checkpoint = [](const json& c) {
      return c["phase"].string_or("") == "before" && c["kind"].string_or("") == "network-interface"
                 ? sagent_code{SAGENT_E_CANCELLED}
                 : sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = remove(created);
  EXPECT_EQ(call.code, SAGENT_E_CANCELLED);
  EXPECT_EQ(call.detail["not_removed"].size(), 3U) << call.detail.dump();
  prepare = {};
  EXPECT_THAT(remove(created).emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(parts_of("b1"), IsEmpty());
}

TEST_F(azure_host_life, upper_cased_ids_of_lists_and_records_are_the_same_objects) {
  json created = rent();
  azure.seed(json::object({{"upper_case_groups_in_lists", true}}));
  const fake_call listed = run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  ASSERT_EQ(listed.emitted.size(), 1U) << listed.message;
  EXPECT_EQ(listed.emitted[0]["objects"].size(), 5U);
  json& resources = created.member_ref("resources");
  for (auto& [key, id] : resources.members()) {
    std::string text = id.string_or("");
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
    id = text;
  }
  const fake_call call = remove(created);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(call.emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(parts_of("b1"), IsEmpty());
}

} // namespace

} // namespace siteagent::azure::test
