// SPDX-License-Identifier: MIT
// What a create sends, and how it is taken up again.
#include "plugins/azure/base64.hpp"
#include "tests/unit/azure/create_fixture.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using testing::ElementsAre;

TEST_F(azure_create, walks_the_chain_in_the_seeds_order) {
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  const auto order = ElementsAre(
      "resource-group",
      "virtual-network",
      "subnet",
      "public-ip-address",
      "network-security-group",
      "network-interface",
      "virtual-machine"
  );
  EXPECT_THAT(kinds_of(call.checkpoints, "before", "put"), order);
  EXPECT_THAT(kinds_of(call.checkpoints, "after", "put"), order);
  ASSERT_EQ(call.emitted.size(), 1U);
  const base::json& out = call.emitted[0];
  EXPECT_EQ(out["backend_id"].string_or(""), machine_id());
  EXPECT_EQ(out["adopted"].boolean(), false);
  EXPECT_EQ(out["endpoints"][0]["url"].string_or(""), "ssh://waldur@203.0.113.10");
  const base::json& vm = out["metadata"]["virtual_machine"];
  EXPECT_EQ(out["metadata"]["backend_type"].string_or(""), "azure");
  EXPECT_EQ(vm["power_state"].string_or(""), "running");
  EXPECT_EQ(vm["public_ip"].string_or(""), "203.0.113.10");
  EXPECT_EQ(vm["private_ip"].string_or(""), "10.0.0.4");
  EXPECT_EQ(vm["image"].string_or(""), "Canonical:jammy:22_04-lts:22.04.10");
}

TEST_F(azure_create, sends_what_azure_checks_late) {
  attribute("user_data", "#cloud-config\n");
  ASSERT_EQ(create().code, SAGENT_OK);
  const base::json vm = put_body("/virtualMachines/");
  const base::json& os = vm["properties"]["osProfile"];
  EXPECT_EQ(base64_decode(os["customData"].string_or("")), "#cloud-config\n");
  EXPECT_EQ(
      os.at({"linuxConfiguration", "ssh", "publicKeys"})[0]["path"].string_or(""),
      "/home/waldur/.ssh/authorized_keys"
  );
  EXPECT_EQ(
      vm.at({"properties", "storageProfile", "osDisk", "deleteOption"}).string_or(""), "Delete"
  );
  EXPECT_EQ(
      vm.at({"properties", "storageProfile", "imageReference", "version"}).string_or(""), "22.04.10"
  );
  EXPECT_EQ(
      vm.at({"properties", "networkProfile", "networkInterfaces"})[0]
          .at({"properties", "deleteOption"})
          .string_or(""),
      "Delete"
  );
  const base::json address = put_body("/publicIPAddresses/");
  EXPECT_EQ(address["sku"]["name"].string_or(""), "Standard");
  EXPECT_EQ(address["properties"]["publicIPAllocationMethod"].string_or(""), "Static");
  const base::json rule =
      put_body("/networkSecurityGroups/")["properties"]["securityRules"][0]["properties"];
  EXPECT_EQ(rule["sourceAddressPrefixes"].dump(), R"(["203.0.113.0/24"])");
  EXPECT_EQ(rule["destinationPortRange"].string_or(""), "22");
}

TEST_F(azure_create, generates_a_password_that_is_protected_and_new_each_time) {
  ASSERT_EQ(create().code, SAGENT_OK);
  const std::string password =
      put_body("/virtualMachines/").at({"properties", "osProfile", "adminPassword"}).string_or("");
  EXPECT_EQ(password.size(), 24U);
  EXPECT_THAT(host_data.protected_values, testing::Contains(password));
}

TEST_F(azure_create, sends_no_password_when_password_login_is_disabled) {
  settings.set("password_login", "disabled");
  ASSERT_EQ(create().code, SAGENT_OK);
  const base::json os = put_body("/virtualMachines/")["properties"]["osProfile"];
  EXPECT_EQ(os.find("adminPassword"), nullptr);
  EXPECT_EQ(os["linuxConfiguration"]["disablePasswordAuthentication"].boolean(), true);
}

TEST_F(azure_create, tags_everything_that_takes_tags) {
  settings.set("tags", base::json::object({{"cost-center", "42"}}));
  ASSERT_EQ(create().code, SAGENT_OK);
  for (const logged& l : arm.writes()) {
    const base::json sent = *base::json::parse(l.body);
    if (l.path.find("/subnets/") != std::string::npos) {
      EXPECT_EQ(sent.find("tags"), nullptr);
      continue;
    }
    EXPECT_EQ(sent["tags"][uuid_tag].string_or(""), uuid) << l.path;
    EXPECT_EQ(sent["tags"]["offering-uuid"].string_or(""), "0ff");
    EXPECT_EQ(sent["tags"]["cost-center"].string_or(""), "42");
    EXPECT_EQ(sent["tags"]["display-name"].string_or(""), "web");
  }
}

TEST_F(azure_create, creating_writes_are_conditional_where_azure_takes_it) {
  ASSERT_EQ(create().code, SAGENT_OK);
  for (const logged& l : arm.writes()) {
    const bool conditional = std::any_of(l.headers.begin(), l.headers.end(), [](const auto& h) {
      return h.first == "If-None-Match";
    });
    EXPECT_EQ(conditional, l.path.find("/providers/") != std::string::npos) << l.path;
  }
}

TEST_F(azure_create, makes_no_security_group_without_ranges) {
  settings.set("allowed_ssh_ranges", base::json::array());
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(arm.count("networkSecurityGroups"), 0U);
  EXPECT_EQ(put_body("/networkInterfaces/")["properties"].find("networkSecurityGroup"), nullptr);
}

// Killed behind each write, and before it: the next run ends in the same machine.
class azure_create_crash
    : public azure_create,
      public testing::WithParamInterface<std::tuple<bool, const char*, const char*>> {};

TEST_P(azure_create_crash, ends_in_one_machine) {
  const auto& [in_shared_group, phase, kind_name] = GetParam();
  if (in_shared_group) {
    shared_group();
  }
  prepare = [phase = phase, kind_name = kind_name](fake_call& c) {
    c.on_checkpoint = [phase, kind_name](const base::json& j) -> sagent_code {
      return j["phase"].string_or("") == phase && j["kind"].string_or("") == kind_name
                 ? SAGENT_E_CANCELLED
                 : SAGENT_OK;
    };
  };
  const fake_call stopped = create();
  EXPECT_EQ(stopped.code, SAGENT_E_CANCELLED);
  EXPECT_EQ(kinds_of(stopped.checkpoints, phase, "put").back(), kind_name);
  prepare = {};
  arm.lists_know_tags = false; // lists are behind: the objects themselves must do
  const fake_call again = create();
  ASSERT_EQ(again.code, SAGENT_OK) << again.message;
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  EXPECT_EQ(arm.count("networkInterfaces"), 1U);
  EXPECT_EQ(arm.count("publicIPAddresses"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
  arm.lists_know_tags = true;
  const fake_call gone = run(&backend::delete_resource);
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_EQ(arm.ids().size(), in_shared_group ? 1U : 0U);
}

INSTANTIATE_TEST_SUITE_P(
    own_group,
    azure_create_crash,
    testing::Combine(
        testing::Values(false),
        testing::Values("before", "after"),
        testing::Values(
            "resource-group",
            "virtual-network",
            "subnet",
            "public-ip-address",
            "network-security-group",
            "network-interface",
            "virtual-machine"
        )
    )
);

// An existing shared group is not written.
INSTANTIATE_TEST_SUITE_P(
    shared_group,
    azure_create_crash,
    testing::Combine(
        testing::Values(true),
        testing::Values("before", "after"),
        testing::Values(
            "virtual-network",
            "subnet",
            "public-ip-address",
            "network-security-group",
            "network-interface",
            "virtual-machine"
        )
    )
);

TEST_F(azure_create, follows_and_adopts_a_machine_still_being_made) {
  prepare = [](fake_call& c) {
    c.on_checkpoint = [](const base::json& j) -> sagent_code {
      return j["phase"].string_or("") == "after" && j["kind"].string_or("") == "virtual-machine"
                 ? SAGENT_E_CANCELLED
                 : SAGENT_OK;
    };
  };
  create();
  prepare = {};
  arm.clear_log();
  base::json vm = arm.get(machine_id());
  EXPECT_EQ(vm["properties"]["provisioningState"].string_or(""), "Creating");
  arm.script({"GET", "/virtualMachines/web?", 2, 0, false, 200, vm.dump(), {}});
  vm.member_ref("properties").set("provisioningState", "Succeeded");
  vm.set("test-view", *base::json::parse(R"({"statuses":[{"code":"PowerState/running"}]})"));
  arm.put(machine_id(), vm);
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["adopted"].boolean(), true);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_create, looks_before_repeating_a_write_whose_answer_was_lost) {
  for (const char* part :
       {"/resourceGroups/group-0123-web?",
        "/virtualNetworks/netweb?",
        "/networkInterfaces/",
        "/virtualMachines/"}) {
    arm.script({"PUT", part, 1, 0, true, std::nullopt, "", {}});
  }
  arm.script({"PUT", "/publicIPAddresses/", 1, 0, false, 503, "", {}});
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", "/virtualNetworks/netweb?"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", "/publicIPAddresses/"), 2U);
}

TEST_F(azure_create, a_success_in_somebody_elses_words_is_looked_up) {
  for (const char* path : {"/resourcegroups/", "/virtualNetworks/", "/publicIPAddresses/"}) {
    arm.script({"PUT", path, 1, 0, true, 200, R"({"id":7,"properties":"none","tags":[1]})", {}});
  }
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.has(machine_id()));
}

TEST_F(azure_create, an_answer_that_is_no_object_is_not_absence) {
  arm.script({"GET", "/networkInterfaces/", -1, 0, false, 200, R"({"id":7,"value":{}})", {}});
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << call.message;
}

TEST_F(azure_create, writes_nothing_while_reads_fail) {
  ASSERT_EQ(create().code, SAGENT_OK);
  for (const auto& [status, code] : {std::pair{429, "TooManyRequests"}, {503, "ServerBusy"}}) {
    arm.clear_log();
    arm.script({"GET", "", 100, 0, false, status, fake_arm::error_text(code), {}});
    const fake_call call = create();
    EXPECT_TRUE(call.code == SAGENT_E_TRANSIENT || call.code == SAGENT_E_THROTTLED) << call.code;
    EXPECT_TRUE(arm.writes().empty());
    arm.clear_scripts();
    clock.advance(std::chrono::hours(1));
  }
}

TEST_F(azure_create, a_404_without_meaning_is_not_absence) {
  arm.script({"GET", "/resourceGroups/group-0123-web?", -1, 0, false, 404, "<html>", {}});
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT);
  EXPECT_TRUE(arm.writes().empty());
}

} // namespace

} // namespace siteagent::azure::test
