// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/host_reading.hpp"

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/remove_members.hpp"

#include <algorithm>
#include <map>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

// Model and power state in one read.
base::result<std::optional<json>>
read_machine(const services& cloud, const arm::scope& call, const resource_id& id) {
  const kind& k = kind_of(kind_id::virtual_machine);
  return arm::read_if_present(
      cloud.arm(), call, url_of(id, k) + "&$expand=instanceView", describe("read", k, id)
  );
}

std::string vm_id_of(const json& model) {
  return model.at({"properties", "vmId"}).string_or("");
}

struct found_host {
  std::vector<std::pair<const kind*, resource_id>> objects;
  json tags;
  std::string location;
};

// By the host's name.
std::map<std::string, found_host> by_name(const std::vector<json>& objects, std::string_view tag) {
  std::map<std::string, found_host> out;
  for (const json& o : objects) {
    const auto id = resource_id::parse(o["id"].string_or(""));
    const kind* k = id ? find_kind(id->type()) : nullptr;
    const bool of_a_host =
        k != nullptr && std::find(host_kinds.begin(), host_kinds.end(), k->id) != host_kinds.end();
    if (!of_a_host) {
      continue; // an application group serves all hosts
    }
    found_host& h = out[tag_of(o, tag)];
    if (h.objects.empty() || k->id == kind_id::virtual_machine) {
      h.tags = o["tags"];
      h.location = normal_location(o["location"].string_or(""));
    }
    h.objects.emplace_back(k, *id);
  }
  return out;
}

void note_machine(json& row, found_host& h, host_objects& objects, const json& model) {
  row.set("state", state_of_machine(model));
  row.set("vm_id", vm_id_of(model));
  if (const std::string created = creation_time(model); !created.empty()) {
    row.set("created_at", created);
  }
  const auto disk = os_disk_of(model);
  if (disk) {
    objects.disk = *disk;
  }
  const auto known = [&](const resource_id& id) {
    return std::any_of(h.objects.begin(), h.objects.end(), [&](const auto& o) {
      return same_id(o.second.text(), id.text());
    });
  };
  if (!known(objects.machine)) {
    h.objects.emplace_back(&kind_of(kind_id::virtual_machine), objects.machine);
  }
  if (disk && !known(*disk)) {
    h.objects.emplace_back(&kind_of(kind_id::disk), *disk);
  }
}

base::result<json> row_of(
    const services& cloud,
    const arm::scope& call,
    const host_settings& s,
    const std::string& name,
    found_host h
) {
  host_objects objects = objects_named(s, name);
  for (const auto& [k, id] : h.objects) {
    objects.of(k->id) = id;
  }
  // Lists by tag may be behind: the machine is looked at directly.
  const auto model = read_machine(cloud, call, objects.machine);
  if (!model) {
    return model.error();
  }
  json row = json::object({{"name", name}, {"location", h.location}, {"state", "absent"}});
  const bool listed = std::any_of(h.objects.begin(), h.objects.end(), [](const auto& o) {
    return o.first->id == kind_id::virtual_machine;
  });
  const bool same_tags = *model && carries(**model, h.tags);
  if (*model && (listed || same_tags)) {
    note_machine(row, h, objects, **model);
  }
  row.set("tags", h.tags.is_object() ? h.tags : json::object());
  row.set("resources", to_json(objects));
  json list = json::array();
  for (const auto& [k, id] : h.objects) {
    list.push_back(object_json(*k, id));
  }
  row.set("objects", std::move(list));
  return row;
}

} // namespace

std::string creation_time(const json& machine) {
  const auto at = base::parse_rfc3339(machine.at({"properties", "timeCreated"}).string_or(""));
  return at ? base::to_rfc3339(*at) : "";
}

std::string state_of_machine(const json& model) {
  const std::string provisioning =
      base::to_lower(model.at({"properties", "provisioningState"}).string_or("unknown"));
  if (provisioning == "deleting") {
    return provisioning;
  }
  const auto power = power_of(model.at({"properties", "instanceView", "statuses"}));
  return power.value_or(provisioning == "succeeded" ? "unknown" : provisioning);
}

base::result<json> read_state(
    const services& cloud,
    const arm::scope& call,
    const host_objects& objects,
    const std::string& vm_id
) {
  const auto model = read_machine(cloud, call, objects.machine);
  if (!model) {
    return model.error();
  }
  const std::string id = *model ? vm_id_of(**model) : std::string();
  const bool other = !vm_id.empty() && !base::equals_ignoring_case(id, vm_id);
  if (!*model || other) {
    return json::object({{"state", "absent"}});
  }
  return json::object({{"state", state_of_machine(**model)}, {"vm_id", id}});
}

base::result<std::vector<json>> list_hosts(
    const services& cloud, const arm::scope& call, const host_settings& s, const std::string& tag
) {
  const auto all = cloud.resources().tagged_members(call, s.group, tag);
  if (!all) {
    return all.error();
  }
  std::vector<json> out;
  for (auto& [name, host] : by_name(*all, tag)) {
    auto row = row_of(cloud, call, s, name, std::move(host));
    if (!row) {
      return row.error();
    }
    out.push_back(std::move(*row));
  }
  return out;
}

} // namespace siteagent::azure::cloud_host
