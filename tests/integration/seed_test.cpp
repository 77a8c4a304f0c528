// SPDX-License-Identifier: MIT
// The sentences of the plugin's own description, one test each; plugins/azure/README.md has the
// table. What a sentence says is shown on a whole site.
#include "tests/integration/seed.hpp"

#include <filesystem>
#include <set>

namespace siteagent::integration {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(seed_000, serves_offerings_of_type_marketplace_slurm) {
  const site s;
  const auto offering = call(
      "GET",
      s.waldur().url() + "/api/marketplace-provider-offerings/" + std::string(offering_uuid) + "/",
      {},
      staff_token
  );
  EXPECT_EQ(offering.body["type"], json("Marketplace.Slurm"));
  const std::string order = s.order_machine("web 1");
  s.run_agent();
  EXPECT_EQ(s.order_state(order), "done");
}

TEST(seed_000, azure_credentials_live_at_the_site_and_never_reach_waldur) {
  const one_machine m;
  m.s.run_agent("all");
  for (const json& shown : {m.s.order(m.order), m.s.resource(m.s.resource_of(m.order))}) {
    for (const char* own : {"emulator-secret", "33333333-3333-3333-3333-333333333333"}) {
      EXPECT_THAT(shown.dump(), Not(HasSubstr(own)));
    }
  }
}

TEST(seed_000, a_create_order_yields_a_running_machine_and_a_terminate_order_deletes_it) {
  const one_machine m;
  EXPECT_EQ(power_of(m.s), "running");
  const std::string end = m.s.terminate(m.s.resource_of(m.order));
  m.s.run_agent();
  EXPECT_EQ(m.s.order_state(end), "done");
  EXPECT_THAT(m.s.cloud_objects(), IsEmpty());
}

TEST(seed_000, pausing_and_downscaling_deallocate_it_and_restoring_starts_it_again) {
  const one_machine m;
  const std::string uuid = m.s.resource_of(m.order);
  using change = void (site::*)(const std::string&, bool) const;
  for (const change set : {change{&site::set_paused}, change{&site::set_downscaled}}) {
    (m.s.*set)(uuid, true);
    m.s.run_agent("membership_sync");
    EXPECT_EQ(power_of(m.s), "deallocated");
    (m.s.*set)(uuid, false);
    m.s.run_agent("membership_sync");
    EXPECT_EQ(power_of(m.s), "running");
  }
}

TEST(seed_000, there_are_no_power_off_and_no_restart_actions) {
  const one_machine m;
  m.s.set_paused(m.s.resource_of(m.order), true);
  m.s.run_agent("all");
  m.s.set_paused(m.s.resource_of(m.order), false);
  m.s.run_agent("all");
  EXPECT_THAT(
      written(m.s, "POST"), ElementsAre("virtualMachines/deallocate", "virtualMachines/start")
  );
}

TEST(seed_000, a_forced_sync_does_not_recreate_a_deleted_machine_under_its_old_id) {
  const one_machine m;
  ASSERT_EQ(m.s.call_azure("DELETE", machine_of(m.s, m.order), "2024-07-01").status, 202);
  m.s.azure().advance_clock(3600); // the deletion ends
  ASSERT_EQ(m.s.machine_count(), 0U);
  const std::size_t before = m.s.azure().writes().size();
  m.s.run_agent("all");
  m.s.run_agent("all");
  EXPECT_EQ(m.s.azure().writes().size(), before);
  EXPECT_EQ(m.s.machine_count(), 0U);
}

TEST(seed_000, an_order_creates_group_network_subnet_address_interface_and_machine_in_this_order) {
  site_options options;
  options.allowed_ssh_ranges.clear();
  const one_machine m(options);
  EXPECT_THAT(
      written(m.s, "PUT"),
      ElementsAre(
          "resourceGroups",
          "virtualNetworks",
          "virtualNetworks/subnets",
          "publicIPAddresses",
          "networkInterfaces",
          "virtualMachines"
      )
  );
}

TEST(seed_000, the_agent_keeps_no_state) {
  const one_machine m;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(m.s.dir().path())) {
    files.insert(entry.path().filename().string());
  }
  EXPECT_EQ(
      files, (std::set<std::string>{"agent-1.log", "azure", "config.yaml", "heartbeat", "waldur"})
  );
  // Another agent, which knows nothing of the first, ends what that one began.
  m.s.terminate(m.s.resource_of(m.order));
  m.s.run_agent();
  EXPECT_THAT(m.s.cloud_objects(), IsEmpty());
}

TEST(seed_000, each_machine_gets_a_group_of_its_own_and_dropping_it_takes_the_network_objects) {
  const one_machine m;
  const std::string other = m.s.order_machine("web 2");
  m.s.run_agent();
  EXPECT_THAT(m.s.azure().inventory()["resourceGroups"].items(), SizeIs(2));
  m.s.terminate(m.s.resource_of(m.order));
  m.s.run_agent();
  EXPECT_THAT(written(m.s, "DELETE"), ElementsAre("resourceGroups"));
  expect_exactly_one_machine(m.s, other);
}

TEST(seed_000, in_a_shared_group_each_object_is_deleted_in_reverse_order_of_creation) {
  const one_machine m(with("      default_resource_group: shared\n"));
  m.s.terminate(m.s.resource_of(m.order));
  m.s.run_agent();
  const std::vector<std::string> deleted = written(m.s, "DELETE");
  // The interface and its address go with the machine, by Azure's own delete option.
  EXPECT_THAT(
      deleted,
      ElementsAre(
          "virtualMachines", "networkSecurityGroups", "virtualNetworks/subnets", "virtualNetworks"
      )
  );
  EXPECT_THAT(m.s.cloud_objects(), SizeIs(1));
  EXPECT_THAT(m.s.azure().inventory()["resourceGroups"].items(), SizeIs(1));
}

TEST(seed_000, in_a_shared_group_the_machine_name_carries_the_resources_uuid) {
  const one_machine m(with("      default_resource_group: shared\n"));
  const std::string twin = m.s.order_machine("WEB---1");
  m.s.run_agent();
  for (const std::string& order : {m.order, twin}) {
    EXPECT_THAT(
        machine_of(m.s, order), testing::EndsWith("/web-1-" + m.s.resource_of(order).substr(0, 8))
    );
  }
}

TEST(seed_000, the_route_of_a_deletion_is_read_from_the_groups_own_name) {
  const one_machine m(with("      default_resource_group: shared\n"));
  // The setting changes after the resource exists.
  std::string yaml = m.s.default_offering_yaml("Azure VM", offering_uuid);
  const std::string setting = "      default_resource_group: shared\n";
  yaml.erase(yaml.find(setting), setting.size());
  m.s.write_config(yaml);
  m.s.terminate(m.s.resource_of(m.order));
  m.s.run_agent();
  EXPECT_THAT(written(m.s, "DELETE"), Each(Not("resourceGroups")));
  EXPECT_THAT(m.s.azure().inventory()["resourceGroups"].items(), SizeIs(1));
  EXPECT_EQ(m.s.machine_count(), 0U);
}

class seed_000_rollback : public testing::TestWithParam<const char*> {};

TEST_P(seed_000_rollback, takes_away_what_a_chain_that_fails_part_way_had_made) {
  const site s;
  s.azure().set_faults(
      json::parse(
          R"({"r":[{"match":{"method":"PUT","path":")" + std::string(GetParam()) +
          R"(/[^/]+$","times":0},"do":{"status":400,"body":{"error":{"code":"InvalidParameter","message":"no"}}}}]})"
      )
          ->at({"r"})
  );
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    at,
    seed_000_rollback,
    testing::Values(
        "virtualNetworks", "subnets", "publicIPAddresses", "networkInterfaces", "virtualMachines"
    ),
    [](const auto& test) { return std::string(test.param); }
);

TEST(seed_000, an_order_retried_after_a_kill_addresses_the_same_objects) {
  const site s;
  const std::string order = s.order_machine("web 1");
  s.run_agent("order_process", {{"SITEAGENT_CRASH_AT", "after:put:network-interface:1"}});
  const std::vector<std::string> half = s.cloud_objects();
  ASSERT_THAT(half, Not(IsEmpty()));
  s.run_agent();
  expect_exactly_one_machine(s, order);
  EXPECT_THAT(s.cloud_objects(), testing::IsSupersetOf(half));
}

TEST(seed_000, the_os_disk_is_created_with_azures_delete_option) {
  const one_machine m;
  EXPECT_EQ(
      m.machine().at({"properties", "storageProfile", "osDisk", "deleteOption"}), json("Delete")
  );
}

TEST(
    seed_000, the_machine_is_reachable_when_the_order_carries_a_key_and_the_offering_names_ranges
) {
  const one_machine m;
  const json all = m.s.azure().inventory();
  const json ssh =
      m.machine().at({"properties", "osProfile", "linuxConfiguration", "ssh", "publicKeys"});
  EXPECT_EQ(ssh[0]["keyData"], json(ssh_key));
  const json& rule =
      all["networkSecurityGroups"][0].at({"properties", "securityRules"})[0]["properties"];
  EXPECT_EQ(rule["destinationPortRange"], json("22"));
  EXPECT_EQ(rule["access"], json("Allow"));
  EXPECT_THAT(rule.dump(), HasSubstr("203.0.113.0/24"));
  EXPECT_EQ(
      all["networkInterfaces"][0].at({"properties", "networkSecurityGroup", "id"}),
      all["networkSecurityGroups"][0]["id"]
  );
}

TEST(seed_000, the_key_may_be_the_uuid_of_a_service_provider_key) {
  const site s;
  const std::string order =
      s.order_machine("web 1", json::object({{"ssh_public_key", ""}, {"ssh_key", key_uuid}}));
  s.run_agent();
  EXPECT_EQ(s.order_state(order), "done");
}

TEST(seed_000, the_public_address_is_of_the_standard_sku) {
  const one_machine m;
  EXPECT_EQ(m.s.azure().inventory()["publicIPAddresses"][0].at({"sku", "name"}), json("Standard"));
}

TEST(seed_000, nothing_is_opened_to_the_whole_internet_by_default) {
  site_options options;
  options.allowed_ssh_ranges.clear();
  const one_machine m(options);
  EXPECT_THAT(m.s.azure().inventory()["networkSecurityGroups"].items(), IsEmpty());
  EXPECT_EQ(m.s.machine_count(), 1U);
}

TEST(seed_000, an_administrator_password_is_generated_and_never_reported_anywhere) {
  const one_machine m;
  m.s.run_agent("all");
  EXPECT_EQ(m.machine().at({"properties", "osProfile"}).find("adminPassword"), nullptr);
  const std::string shown =
      m.s.order(m.order).dump() + m.s.resource(m.s.resource_of(m.order)).dump();
  EXPECT_THAT(shown, Not(testing::ContainsRegex("[Pp]assword\"?[:=] *\"?[A-Za-z0-9]")));
}

TEST(
    seed_000,
    an_order_without_a_key_or_with_an_unregistered_one_is_refused_before_anything_is_created
) {
  const site s;
  const std::string none = s.order_machine("web 1", json::object({{"ssh_public_key", ""}}));
  const std::string unknown = s.order_machine(
      "web 2",
      json::object({{"ssh_public_key", ""}, {"ssh_key", "deadbeefdeadbeefdeadbeefdeadbeef"}})
  );
  s.run_agent();
  EXPECT_EQ(s.order_state(none), "rejected");
  EXPECT_EQ(s.order_state(unknown), "rejected");
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

TEST(seed_000, pausing_deallocates_rather_than_powering_off) {
  const one_machine m;
  m.s.set_paused(m.s.resource_of(m.order), true);
  m.s.run_agent("membership_sync");
  EXPECT_THAT(written(m.s, "POST"), ElementsAre("virtualMachines/deallocate"));
}

TEST(seed_000, a_plan_change_that_would_resize_is_not_carried_out) {
  const one_machine m;
  const std::size_t before = m.s.azure().writes().size();
  const auto asked = call(
      "POST",
      m.s.waldur().url() + "/api/marketplace-resources/" + m.s.resource_of(m.order) +
          "/update_limits/",
      json::object({{"limits", json::object({{"cpu", 8}, {"ram", 1024}, {"disk", 30720}})}}),
      staff_token
  );
  ASSERT_EQ(asked.status, 200) << asked.body.dump();
  m.s.run_agent();
  EXPECT_EQ(m.s.order_state(asked.body["order_uuid"].string_or("")), "rejected");
  EXPECT_EQ(m.s.azure().writes().size(), before);
  EXPECT_EQ(m.machine().at({"properties", "hardwareProfile", "vmSize"}), json("Standard_B1s"));
}

} // namespace
} // namespace siteagent::integration
