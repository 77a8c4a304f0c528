// SPDX-License-Identifier: MIT
// A whole body of a machine against its size and image.
#include "machine.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply refuse(
    int status, std::string_view code, const std::string& message, std::string_view target
) {
  return error_reply(status, {std::string(code), message, std::string(target)});
}

bool has_word(std::string_view list, std::string_view word) {
  for (const auto part : base::split(list, ',')) {
    if (equals_ignoring_case(part, word)) {
      return true;
    }
  }
  return false;
}

std::optional<reply> check_security_type(const json& body, const machine_offer& offer) {
  const auto& profile = body.at({"properties", "securityProfile"});
  const std::string type = profile["securityType"].string_or("");
  if (!type.empty() && !has_word("TrustedLaunch,ConfidentialVM,Standard", type)) {
    return refuse(
        400,
        "InvalidParameter",
        "The value '" + type + "' of parameter 'securityProfile.securityType' is not allowed.",
        "securityProfile.securityType"
    );
  }
  const bool trusted = equals_ignoring_case(type, "TrustedLaunch");
  const bool confidential = equals_ignoring_case(type, "ConfidentialVM");
  if (!trusted && !confidential && profile["uefiSettings"].is_object()) {
    return refuse(
        400,
        "BadRequest",
        "Use of UEFI settings is not supported for the provided security type: it needs "
        "'TrustedLaunch' or 'ConfidentialVM'.",
        "securityProfile.uefiSettings"
    );
  }
  if ((trusted && !offer.size->trusted_launch) || confidential) {
    return refuse(
        400,
        "BadRequest",
        "The VM size '" + offer.size->name +
            "' is not supported for creation of VMs and Virtual Machine Scale Set with '" + type +
            "' security type.",
        ""
    );
  }
  if (trusted && offer.image != nullptr &&
      (!offer.image->trusted_launch || offer.image->generation != "V2")) {
    return refuse(
        400,
        "BadRequest",
        "Use of TrustedLaunch setting is not supported for the provided image. Please select "
        "Trusted Launch Supported Gen2 OS Image.",
        ""
    );
  }
  return std::nullopt;
}

std::optional<reply>
check_disk_sku(const size_entry& size, const json& disk, std::string_view fallback) {
  const std::string sku = disk.at({"managedDisk", "storageAccountType"}).string_or("");
  const bool known =
      sku.empty() || has_word(
                         "Standard_LRS,StandardSSD_LRS,Premium_LRS,Premium_ZRS,StandardSSD_ZRS,"
                         "PremiumV2_LRS,UltraSSD_LRS",
                         sku
                     );
  const std::string name = disk["name"].string_or(fallback);
  if (!known) {
    return refuse(
        400,
        "InvalidParameter",
        "The value '" + sku + "' of parameter 'storageAccountType' is not allowed.",
        "managedDisk.storageAccountType"
    );
  }
  if (!size.premium_storage && sku.rfind("Premium", 0) == 0) {
    return refuse(
        400,
        "InvalidParameter",
        "Requested operation cannot be performed because the VM size " + size.name +
            " does not support the storage account type " + sku + " of disk '" + name +
            "'. Consider updating the VM to a size that supports Premium storage.",
        "osDisk.managedDisk.storageAccountType"
    );
  }
  return std::nullopt;
}

std::optional<reply> check_os_disk(const json& body, const machine_offer& offer) {
  const auto& disk = body.at({"properties", "storageProfile", "osDisk"});
  const auto wanted = disk["diskSizeGB"].integer();
  if (wanted && offer.image != nullptr && *wanted < offer.image->size_gib) {
    return refuse(
        409,
        "OperationNotAllowed",
        "The specified disk size " + std::to_string(*wanted) +
            " GB is smaller than the size of the corresponding disk in the VM image: " +
            std::to_string(offer.image->size_gib) +
            " GB. This is not allowed. Please choose equal or greater size or do not specify an "
            "explicit size.",
        "osDisk.diskSizeGB"
    );
  }
  if (wanted && *wanted > 4095) {
    return refuse(
        400,
        "InvalidParameter",
        "The value of parameter osDisk.diskSizeGB is out of range: at most 4095 GB.",
        "osDisk.diskSizeGB"
    );
  }
  if (equals_ignoring_case(disk.at({"diffDiskSettings", "option"}).string_or(""), "Local") &&
      !equals_ignoring_case(disk["caching"].string_or(""), "ReadOnly")) {
    return refuse(
        400,
        "InvalidParameter",
        "Parameter 'osDisk.caching' must be 'ReadOnly' for an ephemeral OS disk.",
        "osDisk.caching"
    );
  }
  const std::string sku = disk.at({"managedDisk", "storageAccountType"}).string_or("");
  if (has_word("PremiumV2_LRS,UltraSSD_LRS", sku)) {
    return refuse(
        400,
        "InvalidParameter",
        "The storage account type " + sku + " is for data disks only.",
        "osDisk.managedDisk.storageAccountType"
    );
  }
  return check_disk_sku(*offer.size, disk, "osDisk");
}

std::optional<reply> check_data_disk(const json& disk) {
  const std::string option = disk["createOption"].string_or("");
  if (!has_word("Empty,Attach,FromImage,Copy,Restore", option)) {
    return refuse(
        400,
        "InvalidParameter",
        "Required parameter 'dataDisk.createOption' is missing (null) or invalid.",
        "dataDisk.createOption"
    );
  }
  if (equals_ignoring_case(option, "Empty") && !disk["diskSizeGB"].integer()) {
    return refuse(
        400,
        "InvalidParameter",
        "Required parameter 'dataDisk.diskSizeGB' is missing (null).",
        "dataDisk.diskSizeGB"
    );
  }
  if (equals_ignoring_case(option, "Attach") && !disk.at({"managedDisk", "id"}).is_string()) {
    return refuse(
        400,
        "InvalidParameter",
        "Required parameter 'dataDisk.managedDisk.id' is missing (null).",
        "dataDisk.managedDisk.id"
    );
  }
  return std::nullopt;
}

std::optional<reply> check_data_disks(const json& body, const machine_offer& offer) {
  const auto& disks = body.at({"properties", "storageProfile", "dataDisks"});
  if (static_cast<std::int64_t>(disks.size()) > offer.size->data_disks) {
    return refuse(
        409,
        "OperationNotAllowed",
        "The maximum number of data disks allowed to be attached to a VM of this size is " +
            std::to_string(offer.size->data_disks) + ".",
        "dataDisks"
    );
  }
  std::vector<std::int64_t> luns;
  for (const auto& disk : disks.items()) {
    const auto lun = disk["lun"].integer();
    if (!lun || std::find(luns.begin(), luns.end(), *lun) != luns.end()) {
      return refuse(
          400, "InvalidParameter", "Each data disk needs a LUN of its own.", "dataDisk.lun"
      );
    }
    luns.push_back(*lun);
    auto bad = check_data_disk(disk);
    if (!bad) {
      bad = check_disk_sku(*offer.size, disk, "dataDisk");
    }
    if (bad) {
      return bad;
    }
  }
  return std::nullopt;
}

std::optional<reply> check_zones(const context& c, const json& body, std::string_view location) {
  const auto& zones = body["zones"];
  if (zones.size() == 0) {
    return std::nullopt;
  }
  const auto* place = c.world.offer.find_location(location);
  if (place != nullptr && place->has_zones && zones.size() == 1 &&
      has_word("1,2,3", zones[0].string_or(""))) {
    return std::nullopt;
  }
  return refuse(
      400,
      "InvalidParameter",
      "The zone(s) '" + zones[0].string_or("") + "' for resource in location '" +
          std::string(location) + "' is not supported: give one of the zones of the location.",
      "zones"
  );
}

std::optional<reply>
check_interface_count(const context& c, const json& body, const size_entry& size) {
  const auto& profile = body.at({"properties", "networkProfile"});
  const auto& list = profile["networkInterfaces"];
  const auto count = list.size() + profile["networkInterfaceConfigurations"].size();
  if (static_cast<std::int64_t>(count) > size.interfaces) {
    return refuse(
        400,
        "InvalidParameter",
        "The number of network interfaces exceeds the maximum allowed for the virtual machine "
        "size " +
            size.name + ": " + std::to_string(size.interfaces) + ".",
        "networkProfile.networkInterfaces"
    );
  }
  for (const auto& item : list.items()) {
    const auto* interface = c.world.find(key_of(item["id"].string_or("")));
    if (interface != nullptr && !size.accelerated_networking &&
        interface->body.at({"properties", "enableAcceleratedNetworking"}).boolean() == true) {
      return refuse(
          400,
          "VMSizeIsNotPermittedToEnableAcceleratedNetworking",
          "The VM size " + size.name +
              " is not allowed to enable AcceleratedNetworking on network "
              "interface " +
              interface->path.id() + ".",
          ""
      );
    }
  }
  return std::nullopt;
}

reply refuse_price(std::string_view code, const std::string& message) {
  return refuse(400, code, message, "billingProfile.maxPrice");
}

std::optional<reply> check_max_price(const json& price, bool spot) {
  const auto text = price.number_text();
  if (!text) {
    return std::nullopt;
  }
  if (!spot) {
    return refuse_price(
        "MaxPriceIsSupportedOnlyForAzureSpotVirtualMachines",
        "Max price is supported only for Azure Spot Virtual Machines."
    );
  }
  const bool zero = text->find_first_of("123456789") == std::string_view::npos;
  const bool unlimited = *text == "-1" || *text == "-1.0";
  if (!unlimited && (zero || text->front() == '-')) {
    return refuse_price(
        "MaxPriceValueInvalid",
        "Invalid max price value. The only supported values for max price are -1 or a decimal "
        "greater than zero."
    );
  }
  return std::nullopt;
}

std::optional<reply> check_priority(const json& body, const size_entry& size) {
  const auto& properties = body["properties"];
  const std::string priority = properties["priority"].string_or("Regular");
  if (!has_word("Regular,Low,Spot", priority)) {
    return refuse(
        400,
        "InvalidParameter",
        "The value '" + priority + "' of parameter 'priority' is not allowed.",
        "priority"
    );
  }
  const bool spot = is_spot(body);
  const std::string policy = properties["evictionPolicy"].string_or("");
  if (!policy.empty() && !has_word("Deallocate,Delete", policy)) {
    return refuse(
        400,
        "InvalidParameter",
        "The value '" + policy + "' of parameter 'evictionPolicy' is not allowed.",
        "evictionPolicy"
    );
  }
  if (!policy.empty() && !spot) {
    return refuse(
        400,
        "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines",
        "Eviction policy can be set only on Azure Spot Virtual Machines.",
        "evictionPolicy"
    );
  }
  if (spot && !size.spot) {
    return refuse(
        400,
        "AzureSpotIsNotSupportedForThisVMSize",
        "Azure Spot is not supported for this VM size " + size.name + ".",
        "priority"
    );
  }
  return check_max_price(properties.at({"billingProfile", "maxPrice"}), spot);
}

} // namespace

bool is_spot(const json& body) {
  const std::string priority = body.at({"properties", "priority"}).string_or("");
  return equals_ignoring_case(priority, "Spot") || equals_ignoring_case(priority, "Low");
}

std::optional<reply> check_machine_fit(
    const context& c, const json& body, std::string_view location, const machine_offer& offer
) {
  auto bad = check_security_type(body, offer);
  if (!bad) {
    bad = check_os_disk(body, offer);
  }
  if (!bad) {
    bad = check_data_disks(body, offer);
  }
  if (!bad) {
    bad = check_zones(c, body, location);
  }
  if (!bad) {
    bad = check_interface_count(c, body, *offer.size);
  }
  return bad ? bad : check_priority(body, *offer.size);
}

} // namespace siteagent::azure_emulator
