// SPDX-License-Identifier: MIT
// What a machine keeps for life, and what it keeps while it is allocated. What a request leaves out
// stays as it is.
#include "machine.hpp"

#include "core/base/text.hpp"

#include <initializer_list>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply not_changeable(std::string_view property) {
  return error_reply(
      409,
      {"PropertyChangeNotAllowed",
       "Changing property '" + std::string(property) + "' is not allowed.",
       std::string(property)}
  );
}

bool same_text(const json& a, const json& b) {
  return a.is_null() ||
         (a.is_string() && b.is_string() && equals_ignoring_case(a.string_or(""), b.string_or("")));
}

struct row {
  std::string_view name;
  std::initializer_list<std::string_view> path;
};

std::optional<reply> check_texts(const json& wanted, const json& stored) {
  const row texts[] = {
      {"osProfile.computerName", {"osProfile", "computerName"}},
      {"osProfile.adminUsername", {"osProfile", "adminUsername"}},
      {"imageReference.publisher", {"storageProfile", "imageReference", "publisher"}},
      {"imageReference.offer", {"storageProfile", "imageReference", "offer"}},
      {"imageReference.sku", {"storageProfile", "imageReference", "sku"}},
      {"imageReference.version", {"storageProfile", "imageReference", "version"}},
      {"osDisk.name", {"storageProfile", "osDisk", "name"}},
      {"osDisk.createOption", {"storageProfile", "osDisk", "createOption"}},
      {"osDisk.osType", {"storageProfile", "osDisk", "osType"}},
      {"imageReference.id", {"storageProfile", "imageReference", "id"}},
      {"imageReference.sharedGalleryImageId",
       {"storageProfile", "imageReference", "sharedGalleryImageId"}},
      {"imageReference.communityGalleryImageId",
       {"storageProfile", "imageReference", "communityGalleryImageId"}},
      {"osDisk.diffDiskSettings", {"storageProfile", "osDisk", "diffDiskSettings", "option"}},
      {"priority", {"priority"}},
      {"evictionPolicy", {"evictionPolicy"}},
      {"availabilitySet", {"availabilitySet", "id"}},
      {"virtualMachineScaleSet", {"virtualMachineScaleSet", "id"}},
  };
  for (const auto& row : texts) {
    if (!same_text(wanted.at(row.path), stored.at(row.path))) {
      return not_changeable(row.name);
    }
  }
  return std::nullopt;
}

// A flag that the request leaves out stays.
bool same_flag(const json& wanted, const json& stored) {
  const auto flag = wanted.boolean();
  return !flag || flag == stored.boolean();
}

std::optional<reply> check_guest(const json& wanted, const json& stored, const machine_part& part) {
  const auto& linux_part = wanted.at({"osProfile", "linuxConfiguration"});
  const auto& stored_linux = stored.at({"osProfile", "linuxConfiguration"});
  const auto& keys = linux_part.at({"ssh", "publicKeys"});
  if (!keys.is_null() && !(keys == stored_linux.at({"ssh", "publicKeys"}))) {
    return not_changeable("linuxConfiguration.ssh.publicKeys");
  }
  for (const auto* name : {"disablePasswordAuthentication", "provisionVMAgent"}) {
    if (!same_flag(linux_part[name], stored_linux[name])) {
      return not_changeable("linuxConfiguration." + std::string(name));
    }
  }
  if (!same_flag(
          wanted.at({"osProfile", "requireGuestProvisionSignal"}),
          stored.at({"osProfile", "requireGuestProvisionSignal"})
      )) {
    return not_changeable("osProfile.requireGuestProvisionSignal");
  }
  const std::string data = wanted.at({"osProfile", "customData"}).string_or("");
  if (!data.empty() && secret_hash(data) != part.custom_data_hash) {
    return not_changeable("osProfile.customData");
  }
  const std::string password = wanted.at({"osProfile", "adminPassword"}).string_or("");
  if (!password.empty() && secret_hash(password) != part.password_hash) {
    return not_changeable("osProfile.adminPassword");
  }
  return std::nullopt;
}

bool is_standard(const std::string& type) {
  return type.empty() || equals_ignoring_case(type, "Standard");
}

reply needs_deallocation(const resource& machine, std::string_view property) {
  return error_reply(
      409,
      {"OperationNotAllowed",
       "Updating '" + std::string(property) + "' of VM '" + machine.path.name +
           "' is only allowed when the VM is deallocated.",
       std::string(property)}
  );
}

std::optional<reply> check_security(const json& wanted, const resource& existing) {
  const auto& stored = existing.body.at({"properties", "securityProfile"});
  const bool deallocated = existing.machine.power == power::deallocated;
  const std::string type = wanted["securityType"].string_or("");
  const std::string old = stored["securityType"].string_or("");
  const bool same =
      type.empty() || equals_ignoring_case(type, old) || (is_standard(type) && is_standard(old));
  if (!same && !(is_standard(old) && equals_ignoring_case(type, "TrustedLaunch"))) {
    return not_changeable("securityProfile.securityType");
  }
  if (!same && !deallocated) {
    return needs_deallocation(existing, "securityProfile.securityType");
  }
  for (const auto* name : {"secureBootEnabled", "vTpmEnabled"}) {
    if (same && !deallocated &&
        !same_flag(wanted.at({"uefiSettings", name}), stored.at({"uefiSettings", name}))) {
      return needs_deallocation(existing, "securityProfile.uefiSettings");
    }
  }
  const auto encrypts = wanted["encryptionAtHost"].boolean();
  if (encrypts && *encrypts != stored["encryptionAtHost"].boolean().value_or(false) &&
      !deallocated) {
    return needs_deallocation(existing, "securityProfile.encryptionAtHost");
  }
  return std::nullopt;
}

// Changes that need the machine off its host.
std::optional<reply> check_allocated(const json& wanted, const resource& existing) {
  const auto& stored = existing.body["properties"];
  const bool deallocated = existing.machine.power == power::deallocated;
  const auto& disk = wanted.at({"storageProfile", "osDisk"});
  const auto& old = stored.at({"storageProfile", "osDisk"});
  const auto size = disk["diskSizeGB"].integer();
  const auto now = old["diskSizeGB"].integer();
  if (size && now && *size < *now) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "New disk size " + std::to_string(*size) + " GB is smaller than the current disk size " +
             std::to_string(*now) + " GB. Reducing the size of a disk is not supported.",
         "osDisk.diskSizeGB"}
    );
  }
  const row texts[] = {
      {"osDisk.managedDisk.storageAccountType",
       {"storageProfile", "osDisk", "managedDisk", "storageAccountType"}},
      {"storageProfile.diskControllerType", {"storageProfile", "diskControllerType"}},
      {"proximityPlacementGroup", {"proximityPlacementGroup", "id"}},
      {"capacityReservation", {"capacityReservation", "capacityReservationGroup", "id"}},
  };
  for (const auto& text : texts) {
    if (!deallocated && !same_text(wanted.at(text.path), stored.at(text.path))) {
      return needs_deallocation(existing, text.name);
    }
  }
  if (!deallocated && size && now && *size != *now) {
    return needs_deallocation(existing, "osDisk.diskSizeGB");
  }
  const auto& price = wanted.at({"billingProfile", "maxPrice"});
  if (!deallocated && !price.is_null() && !(price == stored.at({"billingProfile", "maxPrice"}))) {
    return error_reply(
        409,
        {"MaxPriceChangeNotAllowedForAllocatedVMs",
         "Max price change is not allowed when the VM '" + existing.path.name +
             "' is currently allocated. Please deallocate and try again.",
         "billingProfile.maxPrice"}
    );
  }
  return std::nullopt;
}

} // namespace

std::optional<reply> check_immutable(const context& c, const resource& existing) {
  const auto& wanted = c.body["properties"];
  const auto& zones = c.body["zones"];
  const auto& plan = c.body["plan"];
  if (!zones.is_null() && !(zones == existing.body["zones"])) {
    return not_changeable("zones");
  }
  if (!plan.is_null() && !(plan == existing.body["plan"])) {
    return not_changeable("plan");
  }
  auto bad = check_texts(wanted, existing.body["properties"]);
  if (!bad) {
    bad = check_guest(wanted, existing.body["properties"], existing.machine);
  }
  if (!bad) {
    bad = check_security(wanted["securityProfile"], existing);
  }
  return bad ? bad : check_allocated(wanted, existing);
}

} // namespace siteagent::azure_emulator
