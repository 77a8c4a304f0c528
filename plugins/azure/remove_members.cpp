// SPDX-License-Identifier: MIT
#include "plugins/azure/remove_members.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/kinds.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

bool is_attached_disk(const std::string& id, const std::optional<base::json>& model) {
  if (!model) {
    return false;
  }
  const base::json& storage = model->at({"properties", "storageProfile"});
  const auto same = [&](const base::json& disk) {
    return same_id(disk.at({"managedDisk", "id"}).string_or(""), id);
  };
  const auto& data = storage["dataDisks"].items();
  return same(storage["osDisk"]) || std::any_of(data.begin(), data.end(), same);
}

// Azure calls the disks it makes itself <machine>_OsDisk_1_<hex>, <machine>_DataDisk_0 and so on.
bool has_disk_name_of(const std::string& name, const std::string& machine) {
  const std::string lower = base::to_lower(name);
  const std::string stem = base::to_lower(machine);
  return lower == base::to_lower(std::string(kind_of(kind_id::disk).prefix) + machine) ||
         lower.rfind(stem + "_osdisk_", 0) == 0 || lower.rfind(stem + "_datadisk_", 0) == 0 ||
         lower.rfind(stem + "_disk", 0) == 0;
}

} // namespace

bool goes_with_machine(
    const base::json& member,
    const resource_id& machine,
    const std::optional<base::json>& model,
    const owner& who
) {
  const holder h = holder_of(member, who);
  if (h != holder::nobody) {
    return h == holder::mine;
  }
  const std::string text = member["id"].string_or("");
  const auto id = resource_id::parse(text);
  if (!id || id->parts.empty()) {
    return false;
  }
  if (id_key(text).rfind(id_key(machine.text()) + "/", 0) == 0 || same_id(text, machine.text())) {
    return true;
  }
  const kind* k = find_kind(id->type());
  if (k != nullptr && k->id == kind_id::disk) {
    return same_id(member["managedBy"].string_or(""), machine.text()) ||
           is_attached_disk(text, model) || has_disk_name_of(id->name(), machine.name());
  }
  const auto companion_of = machine_of_companion(*id);
  return companion_of && base::equals_ignoring_case(*companion_of, machine.name());
}

std::optional<resource_id> os_disk_of(const base::json& model) {
  return resource_id::parse(
      model.at({"properties", "storageProfile", "osDisk", "managedDisk", "id"}).string_or("")
  );
}

} // namespace siteagent::azure
