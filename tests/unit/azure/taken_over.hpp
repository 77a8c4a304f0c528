// SPDX-License-Identifier: MIT
// Machines as earlier products left them: no tags, no delete options, names by prefix.
#pragma once

#include "tests/unit/azure/create_fixture.hpp"

namespace siteagent::azure::test {

class taken_over_machine : public azure_create {
protected:
  // With everything such a machine has; returns its id. The group is made if need be.
  std::string take_over(const std::string& group, const std::string& name) {
    const auto id = [&](const char* type, const std::string& object) {
      return object_id(type, object, group);
    };
    const std::string network = id("Microsoft.Network/virtualNetworks", "net" + name);
    const std::string subnet = network + "/subnets/subnet" + name;
    const std::string address = id("Microsoft.Network/publicIPAddresses", "pubip" + name);
    const std::string rules = id("Microsoft.Network/networkSecurityGroups", "nsg" + name);
    const std::string nic = id("Microsoft.Network/networkInterfaces", "nic" + name);
    const std::string disk = id("Microsoft.Compute/disks", name + "_OsDisk_1_0a1b2c");
    const std::string machine = id("Microsoft.Compute/virtualMachines", name);
    arm.put(group_id(group), object("{}"));
    arm.put(network, object("{}"));
    arm.put(subnet, object("{}"));
    arm.put(address, object(R"({"ipAddress":"203.0.113.77"})"));
    arm.put(rules, object("{}"));
    arm.put(
        nic,
        object(
            R"({"networkSecurityGroup":{"id":")" + rules +
            R"("},"ipConfigurations":[{"properties":{"privateIPAddress":"10.0.0.7","subnet":{"id":")" +
            subnet + R"("},"publicIPAddress":{"id":")" + address + R"("}}}]})"
        )
    );
    arm.put(disk, object(R"({"diskSizeGB":30})"));
    base::json vm = object(
        R"({"hardwareProfile":{"vmSize":"Standard_B1s"},"storageProfile":{"osDisk":{"managedDisk":{"id":")" +
        disk + R"("}}},"networkProfile":{"networkInterfaces":[{"id":")" + nic + R"("}]}})"
    );
    vm.set("test-view", *base::json::parse(R"({"statuses":[{"code":"PowerState/running"}]})"));
    arm.put(machine, std::move(vm));
    return machine;
  }

  // An untagged object of somebody else.
  std::string foreign(const char* type, const std::string& name, const std::string& group) {
    const std::string id = object_id(type, name, group);
    arm.put(id, object("{}"));
    return id;
  }

  static base::json object(const std::string& properties) {
    base::json out = base::json::object({{"location", "westeurope"}});
    out.set("properties", *base::json::parse(properties));
    out.member_ref("properties").set("provisioningState", "Succeeded");
    return out;
  }

  void ask_for(const std::vector<std::string>& ids) {
    base::json list = base::json::array();
    for (const std::string& id : ids) {
      list.push_back(base::json::object({{"uuid", id}, {"backend_id", id}}));
    }
    body.set("resources", std::move(list));
  }

  fake_call remove(std::string_view target) { return run(&backend::delete_resource, target); }

  static std::string upper(std::string text) {
    for (char& c : text) {
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    }
    return text;
  }
};

} // namespace siteagent::azure::test
