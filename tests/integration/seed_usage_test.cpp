// SPDX-License-Identifier: MIT
// The sentences of the plugin's own description about metering, clients, configuration and
// machines taken over.
#include "tests/integration/seed.hpp"

namespace siteagent::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(seed_000, reports_the_allocation_of_the_size_for_as_long_as_the_machine_exists) {
  const one_machine m(with("      disk_source: size\n"));
  m.s.run_agent("report");
  const std::map<std::string, std::string> running = usage_of(m.s, m.order);
  EXPECT_EQ(running.at("cpu"), "1.00");
  EXPECT_EQ(running.at("ram"), "1024.00");
  EXPECT_EQ(running.count("disk"), 1U);
  m.s.set_paused(m.s.resource_of(m.order), true);
  m.s.run_agent("membership_sync");
  m.s.run_agent("report");
  EXPECT_EQ(usage_of(m.s, m.order), running);
}

TEST(seed_000, the_consumption_api_is_not_read) {
  const one_machine m;
  m.s.run_agent("all");
  for (const journal_line& line : m.s.azure().journal()) {
    EXPECT_THAT(line.path, AllOf(Not(HasSubstr("Consumption")), Not(HasSubstr("CostManagement"))));
  }
}

TEST(seed_000, figures_are_mapped_by_name_or_backend_name_and_divided_by_the_unit_factor) {
  const one_machine m;
  std::string yaml = m.s.default_offering_yaml("Azure VM", offering_uuid);
  yaml.replace(
      yaml.find("      cpu: {measured_unit: Cores"),
      std::string::npos,
      "      cpu: {measured_unit: MiB, unit_factor: 1, accounting_type: limit, label: x, "
      "backend_name: ram_mb}\n"
      "      ram: {measured_unit: GiB, unit_factor: 1024, accounting_type: limit, label: RAM}\n"
  );
  m.s.write_config(yaml);
  m.s.run_agent("report");
  EXPECT_EQ(usage_of(m.s, m.order).at("cpu"), "1024.00");
  EXPECT_EQ(usage_of(m.s, m.order).at("ram"), "1.00");
}

TEST(seed_000, what_the_plugin_cannot_see_is_left_out_and_not_zero) {
  const one_machine m;
  std::string yaml = m.s.default_offering_yaml("Azure VM", offering_uuid);
  const std::string disk = "      disk: {measured_unit: MiB";
  yaml.replace(
      yaml.find(disk), disk.size(), "      disk: {backend_name: no_such_figure, measured_unit: MiB"
  );
  m.s.write_config(yaml);
  m.s.run_agent("report");
  EXPECT_EQ(usage_of(m.s, m.order).count("cpu"), 1U);
  EXPECT_EQ(usage_of(m.s, m.order).count("disk"), 0U);
}

TEST(seed_000, a_resource_whose_shape_azure_would_not_return_is_left_out_whole) {
  const one_machine m;
  m.s.azure().set_faults(
      json::parse(
          R"({"r":[{"match":{"method":"GET","path":"vmSizes|/skus","times":0},"do":{"status":403,"body":{"error":{"code":"AuthorizationFailed","message":"no"}}}}]})"
      )
          ->at({"r"})
  );
  m.s.run_agent("report");
  EXPECT_THAT(usage_of(m.s, m.order), IsEmpty());
}

TEST(seed_000, a_report_opens_no_network_service_client) {
  const one_machine m;
  const std::size_t before = m.s.azure().journal().size();
  m.s.run_agent("report");
  const std::vector<journal_line> lines = m.s.azure().journal();
  ASSERT_GT(lines.size(), before);
  for (std::size_t i = before; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i].path, Not(HasSubstr("Microsoft.Network")));
  }
}

TEST(seed_000, creating_the_backend_opens_no_connection) {
  const site s;
  // Opens the plugin with these settings and makes its instance.
  ASSERT_EQ(s.run_command({"validate"}).exit_code, 0);
  EXPECT_THAT(s.azure().journal(), IsEmpty());
}

// As the seed prints it, with the addresses of the emulators.
TEST(seed_000, its_configuration_is_taken_as_it_stands) {
  const site s;
  s.write_config(
      "  - name: Azure VM\n"
      "    waldur_api_url: " +
      s.waldur().url() +
      "/api/\n"
      "    waldur_api_token: " +
      std::string(agent_token) +
      "\n"
      "    waldur_offering_uuid: " +
      std::string(offering_uuid) +
      "\n"
      "    backend_type: azure\n"
      "    order_processing_backend: azure\n"
      "    reporting_backend: azure\n"
      "    backend_settings:\n"
      "      subscription_id: " +
      std::string(subscription) +
      "\n"
      "      tenant_id: 22222222-2222-2222-2222-222222222222\n"
      "      client_id: 33333333-3333-3333-3333-333333333333\n"
      "      client_secret: emulator-secret\n"
      "      default_location: westeurope\n"
      "      default_size: Standard_B1s\n"
      "      default_image: Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest\n"
      "      # Without any range a machine accepts no SSH connections.\n"
      "      allowed_ssh_ranges:\n"
      "        - 203.0.113.0/24\n"
      "    backend_components:\n"
      "      cpu:\n"
      "        measured_unit: Cores\n"
      "        unit_factor: 1\n"
      "        accounting_type: limit\n"
      "        label: CPU\n"
      "      ram:\n"
      "        measured_unit: MiB\n"
      "        unit_factor: 1\n"
      "        accounting_type: limit\n"
      "        label: RAM\n"
      "      disk:\n"
      "        measured_unit: MiB\n"
      "        unit_factor: 1\n"
      "        accounting_type: limit\n"
      "        label: Disk\n"
  );
  const agent_run checked = s.run_command({"validate"});
  EXPECT_EQ(checked.exit_code, 0) << checked.log;
  EXPECT_THAT(checked.log, HasSubstr("0 error(s), 0 warning(s)"));
}

TEST(seed_000, each_order_attribute_overrides_the_offerings_default_for_one_machine) {
  const site s;
  const std::string order = s.order_machine(
      "web 1",
      json::object(
          {{"location", "northeurope"},
           {"size", "Standard_B2s"},
           {"image", "Debian:debian-12:12:latest"},
           {"username", "ada"}}
      )
  );
  const std::string usual = s.order_machine("web 2");
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(order), "done") << run.log;
  const json all = s.azure().inventory();
  for (const json& vm : all["virtualMachines"].items()) {
    const bool mine = vm["id"] == json(machine_of(s, order));
    EXPECT_EQ(vm["location"], json(mine ? "northeurope" : "westeurope"));
    EXPECT_EQ(
        vm.at({"properties", "hardwareProfile", "vmSize"}),
        json(mine ? "Standard_B2s" : "Standard_B1s")
    );
    EXPECT_EQ(vm.at({"properties", "osProfile", "adminUsername"}), json(mine ? "ada" : "waldur"));
    EXPECT_EQ(
        vm.at({"properties", "storageProfile", "imageReference", "publisher"}),
        json(mine ? "Debian" : "Canonical")
    );
  }
}

// A machine as the Python plugin or the former service made it: four digits in the group's name, no
// tags, names by prefix.
json legacy_seed() {
  return *json::parse(R"({
    "virtualNetworks": [{"resourceGroup": "group-1a2b-old-1", "name": "netold-1", "location": "westeurope",
      "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}}],
    "subnets": [{"resourceGroup": "group-1a2b-old-1", "virtualNetwork": "netold-1", "name": "subnetold-1",
      "properties": {"addressPrefix": "10.0.0.0/24"}}],
    "publicIPAddresses": [{"resourceGroup": "group-1a2b-old-1", "name": "pubipold-1", "location": "westeurope",
      "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}}],
    "networkInterfaces": [{"resourceGroup": "group-1a2b-old-1", "name": "nicold-1", "location": "westeurope",
      "properties": {"ipConfigurations": [{"name": "ipconfold-1", "properties": {
        "subnet": {"id": "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/group-1a2b-old-1/providers/Microsoft.Network/virtualNetworks/netold-1/subnets/subnetold-1"},
        "publicIPAddress": {"id": "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/group-1a2b-old-1/providers/Microsoft.Network/publicIPAddresses/pubipold-1"}}}]}}],
    "virtualMachines": [{"resourceGroup": "group-1a2b-old-1", "name": "old-1", "location": "westeurope",
      "properties": {"hardwareProfile": {"vmSize": "Standard_B1s"},
        "storageProfile": {"imageReference": {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts", "version": "latest"},
          "osDisk": {"createOption": "FromImage"}},
        "osProfile": {"computerName": "old-1", "adminUsername": "waldur", "adminPassword": "Passw0rd.of.old"},
        "networkProfile": {"networkInterfaces": [{"id": "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/group-1a2b-old-1/providers/Microsoft.Network/networkInterfaces/nicold-1"}]}}}]
  })");
}

constexpr std::string_view legacy_machine =
    "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/group-1a2b-old-1/providers/"
    "Microsoft.Compute/virtualMachines/old-1";

struct legacy_site {
  legacy_site()
      : s([] {
          site_options options;
          options.azure_seed = legacy_seed();
          options.waldur_seed = *json::parse(
              R"({"resources": [{"uuid": "e2ef0000000000000000000000000901",
              "name": "old 1", "state": "OK", "backend_id": ")" +
              std::string(legacy_machine) + R"(",
              "limits": {"cpu": 1, "ram": 1024, "disk": 30720}}]})"
          );
          return options;
        }()) {}

  site s;
  std::string uuid = "e2ef0000000000000000000000000901";
};

TEST(seed_000, machines_taken_over_from_mastermind_can_be_paused_restored_and_metered) {
  const legacy_site m;
  m.s.set_paused(m.uuid, true);
  m.s.run_agent("membership_sync");
  EXPECT_EQ(power_of(m.s), "deallocated");
  m.s.set_paused(m.uuid, false);
  const agent_run run = m.s.run_agent("membership_sync");
  EXPECT_EQ(power_of(m.s), "running") << run.log;
  m.s.run_agent("report");
  const auto usages = call(
      "GET",
      m.s.waldur().url() + "/api/marketplace-component-usages/?resource_uuid=" + m.uuid,
      {},
      staff_token
  );
  EXPECT_THAT(usages.body.items(), SizeIs(3));
}

TEST(seed_000, machines_taken_over_from_mastermind_can_be_terminated_with_all_they_have) {
  const legacy_site m;
  ASSERT_EQ(m.s.machine_count(), 1U);
  const std::string end = m.s.terminate(m.uuid);
  const agent_run run = m.s.run_agent();
  EXPECT_EQ(m.s.order_state(end), "done") << run.log;
  EXPECT_THAT(m.s.cloud_objects(), IsEmpty());
}

} // namespace
} // namespace siteagent::integration
