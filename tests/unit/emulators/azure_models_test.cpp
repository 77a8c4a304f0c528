// SPDX-License-Identifier: MIT
// Every body this cloud shows must fit the published models of the services.
#include "azure_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace siteagent::azure_emulator {
namespace {

// The models of one service: types of flattened properties ("properties.provisioningState").
class models {
public:
  explicit models(base::json document) : document_(std::move(document)) {}

  // "" when the value fits, else what does not.
  std::string
  misfit(const base::json& value, const std::string& type, const std::string& where) const {
    if (!value.is_object()) {
      return where + " is no object (" + type + ")";
    }
    for (const auto& [path, spec] : document_.at({"types", type, "properties"}).members()) {
      const base::json* at = &value;
      for (const auto step : base::split(path, '.')) {
        at = &(*at)[step];
      }
      if (at->is_null()) {
        continue;
      }
      const auto problem = check(*at, spec, where + "." + path);
      if (!problem.empty()) {
        return problem;
      }
    }
    return "";
  }

  bool has(const std::string& type) const { return document_.at({"types", type}).is_object(); }

private:
  std::string
  check(const base::json& value, const base::json& spec, const std::string& where) const {
    if (const auto& ref = spec["ref"]; ref.is_string()) {
      return misfit(value, ref.string_or(""), where);
    }
    if (const auto& element = spec["array"]; element.is_object()) {
      if (!value.is_array()) {
        return where + " is no array";
      }
      for (const auto& item : value.items()) {
        const auto problem = check(item, element, where + "[]");
        if (!problem.empty()) {
          return problem;
        }
      }
      return "";
    }
    if (const auto& element = spec["map"]; element.is_object()) {
      for (const auto& [key, item] : value.members()) {
        const auto problem = check(item, element, where + "." + key);
        if (!problem.empty()) {
          return problem;
        }
      }
      return value.is_object() ? "" : where + " is no map";
    }
    return check_plain(value, spec, where);
  }

  static std::string
  check_plain(const base::json& value, const base::json& spec, const std::string& where) {
    const std::string type = spec["type"].string_or("any");
    const bool fits = type == "any" || (type == "string" && value.is_string()) ||
                      (type == "number" && value.is_number()) ||
                      (type == "boolean" && value.is_bool()) ||
                      (type == "object" && value.is_object());
    if (!fits) {
      return where + " is not of type " + type + ": " + value.dump();
    }
    // Only a closed set: "knownValues" alone is open.
    const auto& closed = spec["enum"];
    if (!closed.is_array()) {
      return "";
    }
    for (const auto& allowed : closed.items()) {
      if (allowed == value) {
        return "";
      }
    }
    return where + " is not in its enumeration: " + value.dump();
  }

  base::json document_;
};

class azure_models : public cloud {
protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder())) {
      GTEST_SKIP() << "no models at " << folder() << " (set SITEAGENT_SHARED_DIR)";
    }
  }

  static std::filesystem::path folder() {
    return std::filesystem::path(SITEAGENT_SHARED_DIR) / "specs/azure";
  }

  static models load(const std::string& name) {
    std::ifstream in(folder() / ("models-" + name + ".json"), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return models(parsed(text));
  }

  void expect_fit(const models& m, const std::string& path, const std::string& type) {
    ASSERT_TRUE(m.has(type)) << type;
    const auto a = get(path);
    EXPECT_EQ(a.status, 200) << path;
    EXPECT_EQ(m.misfit(a.body, type, type), "") << path;
  }
};

TEST_F(azure_models, compute_bodies_fit) {
  make_machine();
  const auto m = load("compute-2024-07-01");
  const std::string provider = "/providers/Microsoft.Compute";
  const std::string location = provider + "/locations/westeurope";
  expect_fit(m, vm, "VirtualMachine");
  expect_fit(m, vm + "?$expand=instanceView", "VirtualMachine");
  expect_fit(m, vm + "/instanceView", "VirtualMachineInstanceView");
  expect_fit(m, compute + "/virtualMachines", "VirtualMachineListResult");
  expect_fit(m, provider + "/virtualMachines?statusOnly=true", "VirtualMachineListResult");
  expect_fit(m, compute + "/disks/vm-os", "Disk");
  expect_fit(m, compute + "/disks", "DiskList");
  expect_fit(m, location + "/vmSizes", "VirtualMachineSizeListResult");
  expect_fit(m, location + "/usages", "ListUsagesResult");
  expect_fit(m, provider + "/skus", "ResourceSkusResult");
  const std::string versions =
      location + "/publishers/Debian/artifacttypes/vmimage/offers/debian-12/skus/12/versions";
  expect_fit(m, versions + "/latest", "VirtualMachineImage");
  settle(arm("POST", vm + "/deallocate"));
  expect_fit(m, vm + "/instanceView", "VirtualMachineInstanceView");
}

TEST_F(azure_models, network_bodies_fit) {
  make_machine();
  make(nsg, R"({"location":"westeurope","properties":{"securityRules":[{"name":"ssh","properties":{
    "priority":1000,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*",
    "sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"22"}}]}})");
  const auto m = load("network-2025-05-01");
  expect_fit(m, net, "VirtualNetwork");
  expect_fit(m, networks + "/virtualNetworks", "VirtualNetworkListResult");
  expect_fit(m, net + "/subnets/sub", "Subnet");
  expect_fit(m, net + "/subnets", "SubnetListResult");
  expect_fit(m, ip, "PublicIPAddress");
  expect_fit(m, addresses, "PublicIPAddressListResult");
  expect_fit(m, nsg, "NetworkSecurityGroup");
  expect_fit(m, nsg + "/securityRules/ssh", "SecurityRule");
  expect_fit(m, nsg + "/securityRules", "SecurityRuleListResult");
  expect_fit(m, nic, "NetworkInterface");
  expect_fit(m, networks + "/networkInterfaces", "NetworkInterfaceListResult");
  expect_fit(m, "/providers/Microsoft.Network/locations/westeurope/usages", "UsagesListResult");
}

TEST_F(azure_models, bodies_of_arm_itself_fit) {
  make_machine();
  const auto resources = load("resources-2025-04-01");
  expect_fit(resources, rg, "ResourceGroup");
  expect_fit(resources, "/resourcegroups", "ResourceGroupListResult");
  expect_fit(resources, "/resources", "ResourceListResult");
  expect_fit(
      resources,
      rg + "/resources?$expand=createdTime,changedTime,provisioningState",
      "ResourceListResult"
  );
  expect_fit(resources, "/providers", "ProviderListResult");
  expect_fit(resources, "/providers/Microsoft.Network", "Provider");
  const auto subscriptions = load("subscriptions-2022-12-01");
  expect_fit(subscriptions, "", "Subscription");
  expect_fit(subscriptions, "/locations", "LocationListResult");
}

} // namespace
} // namespace siteagent::azure_emulator
