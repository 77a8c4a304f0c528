// SPDX-License-Identifier: MIT
// Attaching, detaching and changing data disks of a machine that is there.
#include "machine.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

// The name that an entry gives, itself or through its disk; "" = none.
std::string name_of(const json& disk) {
  const std::string id = disk.at({"managedDisk", "id"}).string_or("");
  return disk["name"].string_or(id.substr(id.rfind('/') + 1));
}

reply conflict(std::string_view code, const std::string& message, std::string_view target) {
  return error_reply(409, {std::string(code), message, std::string(target)});
}

// One entry at a LUN that is taken: the same disk, maybe with other options.
std::optional<reply> change_entry(const resource& machine, const json& wanted, json& entry) {
  const std::string name = name_of(wanted);
  if (!name.empty() && !equals_ignoring_case(name, name_of(entry))) {
    return conflict(
        "ConflictingUserInput",
        "Disk '" + name + "' cannot be attached to VM '" + machine.path.name +
            "' because the LUN " + std::to_string(entry["lun"].integer().value_or(0)) +
            " is already used by disk '" + name_of(entry) + "'.",
        "dataDisk.lun"
    );
  }
  const auto now = entry["diskSizeGB"].integer();
  const auto size = wanted["diskSizeGB"].integer();
  if (now && size && *size < *now) {
    return conflict(
        "OperationNotAllowed",
        "New disk size " + std::to_string(*size) + " GB is smaller than the current disk size " +
            std::to_string(*now) + " GB. Reducing the size of a disk is not supported.",
        "dataDisk.diskSizeGB"
    );
  }
  for (const auto* key : {"caching", "deleteOption", "diskSizeGB", "writeAcceleratorEnabled"}) {
    if (const auto& value = wanted[key]; !value.is_null()) {
      entry.set(key, value);
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<reply> change_data_disks(const context& c, const resource& existing, json& out) {
  const auto& stored = existing.body.at({"properties", "storageProfile", "dataDisks"});
  const auto& wanted = c.body.at({"properties", "storageProfile", "dataDisks"});
  out = json::array();
  if (!wanted.is_array()) {
    out = stored;
    return std::nullopt;
  }
  const auto* size = c.world.offer.find_size(
      existing.body.at({"properties", "hardwareProfile", "vmSize"}).string_or(""), existing.location
  );
  for (const auto& disk : wanted.items()) {
    const auto lun = disk["lun"].integer();
    const auto taken =
        std::find_if(stored.items().begin(), stored.items().end(), [&](const json& entry) {
          return entry["lun"].integer() == lun;
        });
    if (disk["toBeDetached"].boolean().value_or(false)) {
      continue;
    }
    if (taken == stored.items().end()) {
      out.push_back(data_disk_part(disk, existing.path.name, default_disk_sku(size)));
      continue;
    }
    json entry = *taken;
    if (auto bad = change_entry(existing, disk, entry)) {
      return bad;
    }
    out.push_back(entry);
  }
  return std::nullopt;
}

} // namespace siteagent::azure_emulator
