// SPDX-License-Identifier: MIT
// The shape of a machine's body: which members exist, which are required.
#include "machine.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <initializer_list>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply invalid(const std::string& message, std::string_view target) {
  return error_reply(400, {"InvalidParameter", message, std::string(target)});
}

using words = std::vector<std::string_view>;

// The members the compute provider knows, by where they stand; others are refused.
struct known_members {
  std::vector<std::string_view> path;
  std::string_view type;
  words names;
};

const std::vector<known_members>& known_shapes() {
  static const std::vector<known_members> shapes = {
      {{},
       "VirtualMachine",
       {"id",
        "name",
        "type",
        "location",
        "tags",
        "plan",
        "resources",
        "identity",
        "zones",
        "extendedLocation",
        "managedBy",
        "etag",
        "properties",
        "placement",
        "systemData"}},
      {{"properties"},
       "VirtualMachineProperties",
       {"hardwareProfile",
        "scheduledEventsPolicy",
        "storageProfile",
        "additionalCapabilities",
        "osProfile",
        "networkProfile",
        "securityProfile",
        "diagnosticsProfile",
        "availabilitySet",
        "virtualMachineScaleSet",
        "proximityPlacementGroup",
        "priority",
        "evictionPolicy",
        "billingProfile",
        "host",
        "hostGroup",
        "provisioningState",
        "instanceView",
        "licenseType",
        "vmId",
        "extensionsTimeBudget",
        "platformFaultDomain",
        "scheduledEventsProfile",
        "userData",
        "capacityReservation",
        "applicationProfile",
        "timeCreated"}},
      {{"properties", "hardwareProfile"}, "HardwareProfile", {"vmSize", "vmSizeProperties"}},
      {{"properties", "storageProfile"},
       "StorageProfile",
       {"imageReference",
        "osDisk",
        "dataDisks",
        "diskControllerType",
        "alignRegionalDisksToVMZone"}},
      {{"properties", "storageProfile", "osDisk"},
       "OSDisk",
       {"osType",
        "encryptionSettings",
        "name",
        "vhd",
        "image",
        "caching",
        "writeAcceleratorEnabled",
        "diffDiskSettings",
        "createOption",
        "diskSizeGB",
        "managedDisk",
        "deleteOption"}},
      {{"properties", "storageProfile", "imageReference"},
       "ImageReference",
       {"id",
        "publisher",
        "offer",
        "sku",
        "version",
        "exactVersion",
        "sharedGalleryImageId",
        "communityGalleryImageId"}},
      {{"properties", "osProfile"},
       "OSProfile",
       {"computerName",
        "adminUsername",
        "adminPassword",
        "customData",
        "windowsConfiguration",
        "linuxConfiguration",
        "secrets",
        "allowExtensionOperations",
        "requireGuestProvisionSignal"}},
      {{"properties", "osProfile", "linuxConfiguration"},
       "LinuxConfiguration",
       {"disablePasswordAuthentication",
        "ssh",
        "provisionVMAgent",
        "patchSettings",
        "enableVMAgentPlatformUpdates"}},
      {{"properties", "networkProfile"},
       "NetworkProfile",
       {"networkInterfaces", "networkApiVersion", "networkInterfaceConfigurations"}},
      {{"properties", "securityProfile"},
       "SecurityProfile",
       {"uefiSettings",
        "encryptionAtHost",
        "securityType",
        "encryptionIdentity",
        "proxyAgentSettings"}},
  };
  return shapes;
}

std::optional<reply> require(const json& body, std::initializer_list<std::string_view> path) {
  std::vector<std::string> names;
  for (const auto step : path) {
    names.emplace_back(step);
  }
  const auto& value = body["properties"].at(path);
  if (!value.is_null() && !(value.is_string() && value.string_or("").empty())) {
    return std::nullopt;
  }
  const std::string name = base::join(names, ".");
  return invalid("Required parameter '" + name + "' is missing (null).", name);
}

// Interfaces that are there, or descriptions of interfaces to make.
std::optional<reply> check_network_profile(const json& network) {
  const bool given = network["networkInterfaces"].size() > 0;
  const auto& described = network["networkInterfaceConfigurations"];
  if (!given && described.size() == 0) {
    return invalid(
        "Virtual Machine must have at least one network interface.",
        "networkProfile.networkInterfaces"
    );
  }
  if (given && described.size() > 0) {
    return invalid(
        "Parameters 'networkInterfaces' and 'networkInterfaceConfigurations' exclude each other.",
        "networkProfile.networkInterfaceConfigurations"
    );
  }
  if (described.size() > 0 && network["networkApiVersion"].string_or("").empty()) {
    return invalid(
        "Required parameter 'networkProfile.networkApiVersion' is missing (null).",
        "networkProfile.networkApiVersion"
    );
  }
  for (const auto& one : described.items()) {
    if (one["name"].string_or("").empty()) {
      return invalid(
          "Required parameter 'networkInterfaceConfiguration.name' is missing (null).",
          "networkInterfaceConfiguration.name"
      );
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<reply> check_known_members(const json& body) {
  for (const auto& shape : known_shapes()) {
    const json* at = &body;
    for (const auto step : shape.path) {
      at = &(*at)[step];
    }
    for (const auto& [name, value] : at->members()) {
      const bool known = std::any_of(shape.names.begin(), shape.names.end(), [&](auto n) {
        return equals_ignoring_case(n, name);
      });
      if (known || value.is_null()) {
        continue;
      }
      std::string where;
      for (const auto step : shape.path) {
        where += std::string(step) + ".";
      }
      return invalid(
          "Could not find member '" + name + "' on object of type '" + std::string(shape.type) +
              "'. Path '" + where + name + "', line 1, position 1.",
          name
      );
    }
  }
  return std::nullopt;
}

std::optional<reply> check_machine_shape(const json& body) {
  const bool attaches = equals_ignoring_case(
      body.at({"properties", "storageProfile", "osDisk", "createOption"}).string_or(""), "Attach"
  );
  auto bad = require(body, {"hardwareProfile", "vmSize"});
  if (!bad) {
    bad = require(body, {"storageProfile", "osDisk", "createOption"});
  }
  if (!bad && !attaches) {
    bad = require(body, {"storageProfile", "imageReference"});
  }
  if (!bad && !attaches) {
    bad = require(body, {"osProfile"});
  }
  if (!bad) {
    bad = require(body, {"networkProfile"});
  }
  return bad ? bad : check_network_profile(body.at({"properties", "networkProfile"}));
}

} // namespace siteagent::azure_emulator
