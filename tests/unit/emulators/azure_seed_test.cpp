// SPDX-License-Identifier: MIT
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_seed = cloud;

TEST_F(azure_seed, unknown_keys_and_wrong_values_change_nothing) {
  for (const auto* bad : {
           R"([])",
           R"({"nonsense":1})",
           R"({"locations":"westeurope"})",
           R"({"locations":[{"display_name":"x"}]})",
           R"({"quotas":{"corse":1}})",
           R"({"machines":-1})",
           R"({"machines":"many"})",
           R"({"page_size":0})",
           R"({"virtualNetworks":[{"name":"v"}]})",
           R"({"locations":[{"name":"eastus"}],"publicIPAddresses":[{"resourceGroup":"r","name":"p"}]})",
       }) {
    const auto done = azure_.seed(parsed(bad));
    ASSERT_FALSE(done.has_value()) << bad;
    EXPECT_EQ(done.error().message.rfind("seed: ", 0), 0U) << done.error().message;
  }
  EXPECT_EQ(get("/locations").body["value"].size(), 4U);
  EXPECT_EQ(get("/resourcegroups").body["value"].size(), 0U);
}

TEST_F(azure_seed, a_key_replaces_its_default_and_leaves_the_others) {
  seed(
      R"({"sizes":[{"name":"Standard_Z","family":"fam","cores":3,"memory_gib":"3.5","locations":["West Europe"]}]})"
  );
  const auto sizes = get("/providers/Microsoft.Compute/locations/westeurope/vmSizes").body["value"];
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0]["numberOfCores"].integer(), 3);
  EXPECT_EQ(get("/providers/Microsoft.Compute/locations/eastus/vmSizes").body["value"].size(), 0U);
  EXPECT_EQ(get("/locations").body["value"].size(), 4U);
  ASSERT_TRUE(azure_.reset(false).has_value());
  EXPECT_EQ(
      get("/providers/Microsoft.Compute/locations/westeurope/vmSizes").body["value"].size(), 10U
  );
}

TEST_F(azure_seed, objects_enter_as_if_they_had_been_put) {
  seed(R"({
    "resourceGroups":[{"name":"rg","location":"westeurope","tags":{"a":"b"}}],
    "networkSecurityGroups":[{"resourceGroup":"rg","name":"nsg"}],
    "virtualNetworks":[{"resourceGroup":"rg","name":"net","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}],
    "subnets":[{"resourceGroup":"rg","virtualNetwork":"net","name":"sub","properties":{"addressPrefix":"10.0.0.0/24"}}],
    "publicIPAddresses":[{"resourceGroup":"rg","name":"ip","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}]})"
  );
  EXPECT_EQ(get(net + "/subnets/sub").state(), "Succeeded");
  EXPECT_FALSE(get(ip).body.at({"properties", "ipAddress"}).string_or("").empty());
  make(nic, interface_body("sub", "ip"));
  auto body = machine_body();
  body.set("resourceGroup", "rg").set("name", "vm").set("power", "deallocated");
  seed(base::json::object({{"virtualMachines", base::json::array({body})}}).dump());
  EXPECT_EQ(power_of(), "deallocated");
  seed(R"({"virtualMachines":[]})");
  EXPECT_EQ(get(vm).status, 404);
}

TEST_F(azure_seed, machines_come_by_number_with_their_interfaces) {
  seed(R"({"machines":110,"page_size":50})");
  std::string url = "/providers/Microsoft.Compute/virtualMachines?statusOnly=true";
  std::size_t seen = 0;
  int pages = 0;
  while (!url.empty() && pages < 9) {
    const auto page = get(url);
    seen += page.body["value"].size();
    url = page.body["nextLink"].string_or("");
    ++pages;
  }
  EXPECT_EQ(seen, 110U);
  EXPECT_EQ(pages, 3);
  const auto all = inventory();
  EXPECT_EQ(all["networkInterfaces"].size(), 110U);
  EXPECT_EQ(all["disks"].size(), 110U);
  EXPECT_EQ(all["subnets"].size(), 3U);
  EXPECT_EQ(
      all["virtualMachines"][0].at({"properties", "instanceView", "statuses"})[1]["code"].string_or(
          ""
      ),
      "PowerState/running"
  );
}

TEST_F(azure_seed, machines_come_by_name) {
  seed(
      R"({"machines":[{"resourceGroup":"rg","name":"vm","size":"Standard_D2s_v5","tags":{"order":"1"},"power":"stopped"}]})"
  );
  EXPECT_EQ(power_of(), "stopped");
  EXPECT_EQ(get(vm).body.at({"tags", "order"}).string_or(""), "1");
  EXPECT_EQ(
      get(vm).body.at({"properties", "hardwareProfile", "vmSize"}).string_or(""), "Standard_D2s_v5"
  );
}

TEST(azure_command_line, refuses_an_unknown_timing) {
  service azure;
  std::string program = "azure-emulator";
  std::string option = "--timing";
  std::string value = "leisurely";
  char* arguments[] = {program.data(), option.data(), value.data(), nullptr};
  EXPECT_EQ(emulators::run(azure, 3, arguments), 2);
}

} // namespace
} // namespace siteagent::azure_emulator
