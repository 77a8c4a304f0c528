// SPDX-License-Identifier: MIT
#include "azure_fixture.hpp"

#include "tests/emulators/azure/paging.hpp"

#include <algorithm>
#include <set>
#include <vector>

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

TEST_F(azure_seed, the_first_static_addresses_are_the_seeded_ones) {
  seed(R"({"public_addresses":["127.0.0.11","127.0.0.12"],
    "publicIPAddresses":[{"resourceGroup":"rg","name":"a","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}},
      {"resourceGroup":"rg","name":"b","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}},
      {"resourceGroup":"rg","name":"c","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}]})"
  );
  const std::string all = "/resourceGroups/rg/providers/Microsoft.Network/publicIPAddresses/";
  std::vector<std::string> found;
  for (const char* name : {"a", "b", "c"}) {
    found.push_back(
        arm("GET", all + name, {}, network_api).body.at({"properties", "ipAddress"}).string_or("")
    );
  }
  EXPECT_EQ(found[0], "127.0.0.11");
  EXPECT_EQ(found[1], "127.0.0.12");
  EXPECT_EQ(found[2].substr(0, 3), "20.");
  EXPECT_FALSE(azure_.seed(parsed(R"({"public_addresses":[7]})")).has_value());
}

TEST_F(azure_seed, a_machine_is_handed_what_its_first_boot_needs) {
  make_machine();
  emulators::call call;
  call.now = clock_.wall();
  const auto ask = [&](const std::string& id) {
    return azure_.administrate("first_boot", base::json::object({{"id", id}}), call);
  };
  const auto told = ask(base::to_lower(subscription_1 + vm));
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->status, 200) << told->body;
  const auto body = parsed(told->body);
  EXPECT_EQ(body["admin_username"].string_or(""), "azureuser");
  EXPECT_EQ(body["custom_data"].string_or(""), "I2Nsb3VkLWNvbmZpZwo=");
  EXPECT_EQ(body["public_keys"][0]["keyData"].string_or(""), ed25519_key());
  EXPECT_EQ(ask(subscription_1 + nic)->status, 404);
  EXPECT_FALSE(azure_.administrate("other", {}, call).has_value());
  EXPECT_TRUE(get(vm).body.at({"properties", "osProfile"}).find("customData") == nullptr);
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

TEST_F(azure_seed, machines_in_great_number_are_each_their_own) {
  seed(R"({"machines":130})");
  std::set<std::string> seen;
  const auto machines = get("/providers/Microsoft.Compute/virtualMachines").body["value"];
  for (const auto& machine : machines.items()) {
    EXPECT_TRUE(seen.insert(machine.at({"properties", "vmId"}).string_or("")).second);
  }
  const auto interfaces = get("/providers/Microsoft.Network/networkInterfaces").body["value"];
  ASSERT_EQ(interfaces.size(), 130U);
  for (const auto& interface : interfaces.items()) {
    const auto& properties = interface["properties"];
    const auto& configuration = properties["ipConfigurations"][0]["properties"];
    EXPECT_TRUE(seen.insert(configuration["privateIPAddress"].string_or("")).second);
    EXPECT_TRUE(seen.insert(properties["macAddress"].string_or("")).second) << interface.dump();
    EXPECT_TRUE(seen.insert(properties["resourceGuid"].string_or("")).second);
    EXPECT_TRUE(seen.insert(interface["etag"].string_or("")).second);
    const std::string name = interface["name"].string_or("");
    EXPECT_EQ(
        properties.at({"virtualMachine", "id"}).string_or(""),
        subscription_1 +
            "/resourceGroups/seed-machines/providers/Microsoft.Compute/virtualMachines/" +
            name.substr(0, name.size() - 4)
    );
  }
  const std::string group = "/resourceGroups/seed-machines/providers/";
  const std::string last = group + "Microsoft.Compute/virtualMachines/vm-000130";
  EXPECT_EQ(
      get(group + "Microsoft.Network/virtualNetworks/seed-vnet/subnets/subnet-2")
          .body.at({"properties", "ipConfigurations"})
          .size(),
      30U
  );
  EXPECT_EQ(
      get(group + "Microsoft.Compute/disks/vm-000130-os").body["managedBy"].string_or(""),
      subscription_1 + last
  );
  // What was copied goes like what was made.
  settle(remove(last));
  EXPECT_EQ(get(last).status, 404);
  EXPECT_EQ(get(group + "Microsoft.Compute/disks/vm-000130-os").status, 404);
  EXPECT_EQ(get(group + "Microsoft.Network/networkInterfaces/vm-000130-nic").status, 404);
}

TEST_F(azure_seed, every_list_of_a_large_cloud_pages_to_its_end) {
  seed(R"({"machines":130,"page_size":20})");

  struct list {
    std::string path;
    std::size_t count;
  };

  for (const auto& l : std::vector<list>{
           {"/providers/Microsoft.Compute/virtualMachines?statusOnly=true", 130},
           {"/providers/Microsoft.Compute/virtualMachines", 130},
           {"/providers/Microsoft.Compute/locations/westeurope/virtualMachines", 130},
           {"/resourceGroups/seed-machines/providers/Microsoft.Compute/virtualMachines", 130},
           {"/providers/Microsoft.Network/networkInterfaces", 130},
           {"/providers/Microsoft.Network/publicIPAddresses", 0},
           {"/providers/Microsoft.Compute/disks", 130},
           {"/resources", 391}}) {
    SCOPED_TRACE(l.path);
    std::set<std::string> ids;
    std::size_t pages = 0;
    for (std::string at = l.path; !at.empty(); ++pages) {
      const auto page = get(at);
      ASSERT_EQ(page.status, 200);
      for (const auto& item : page.body["value"].items()) {
        EXPECT_TRUE(ids.insert(item["id"].string_or("")).second);
      }
      at = page.body["nextLink"].string_or("");
      EXPECT_TRUE(at.empty() || page.body["value"].size() == 20);
    }
    EXPECT_EQ(ids.size(), l.count);
    EXPECT_EQ(pages, std::max<std::size_t>(1, (l.count + 19) / 20));
  }
}

TEST_F(azure_seed, a_late_page_looks_at_no_more_than_an_early_one) {
  world w;
  for (int i = 0; i < 500; ++i) {
    resource r;
    r.path = {kind::disk, "s", "g", "d" + std::to_string(1000 + i), ""};
    w.put(r);
  }
  std::size_t looked_at = 0;
  const auto list = keys_below(w, prefix_of("s", ""), [&](const resource&) {
    ++looked_at;
    return true;
  });
  std::string last;
  for (int page = 0; page < 20; ++page) {
    std::size_t taken = 0;
    looked_at = 0;
    list(last, [&](const std::string& key) {
      last = key;
      return ++taken < 21;
    });
    EXPECT_EQ(looked_at, 21U) << page;
  }
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
