// SPDX-License-Identifier: MIT
// Managed disks.
#include "handlers.hpp"
#include "machine.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::json;

resource& make_disk(world& w, const disk_spec& spec, base::wall_time now) {
  resource r;
  r.path = spec.path;
  r.location = spec.location;
  r.created = now;
  r.changed = now;
  json creation = json::object({{"createOption", spec.os.empty() ? "Empty" : "FromImage"}});
  if (!spec.image_id.empty()) {
    creation.set("imageReference", json::object({{"id", spec.image_id}}));
  }
  json properties;
  if (!spec.os.empty()) {
    properties.set("osType", spec.os);
    properties.set("hyperVGeneration", spec.generation);
  }
  properties.set("creationData", creation);
  properties.set("diskSizeGB", spec.size_gib);
  properties.set("provisioningState", "Succeeded");
  r.body = json::object(
      {{"name", spec.path.name},
       {"id", spec.path.id()},
       {"type", type_name(kind::disk)},
       {"location", spec.location}}
  );
  if (spec.tags.is_object()) {
    r.body.set("tags", spec.tags);
  }
  if (spec.zones.is_array()) {
    r.body.set("zones", spec.zones);
  }
  r.body.set("sku", json::object({{"name", spec.sku}}));
  r.body.set("properties", properties);
  show_disk_details(r, now);
  return w.put(std::move(r));
}

namespace {

reply accepted(context& c, resource& r, const operation_plan& plan) {
  json body = render(c.world, r);
  // The answer to a write leaves out what the platform fills in.
  for (const auto* key :
       {"diskIOPSReadWrite",
        "diskMBpsReadWrite",
        "encryption",
        "networkAccessPolicy",
        "publicNetworkAccess",
        "timeCreated",
        "diskState",
        "uniqueId"}) {
    body.member_ref("properties").erase(key);
  }
  reply answer = json_reply(202, body);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

operation_plan disk_plan(const resource& r, action what, bool is_new) {
  operation_plan plan;
  plan.action = what;
  plan.pace = pace::disk;
  plan.subject = r.path.key();
  plan.location = r.location;
  plan.is_new = is_new;
  return plan;
}

std::optional<reply> check_size_change(const json& body, const json& wanted) {
  const auto now = body.at({"properties", "diskSizeGB"}).integer().value_or(0);
  const auto next = wanted.at({"properties", "diskSizeGB"}).integer();
  if (!next || *next >= now) {
    return std::nullopt;
  }
  return error_reply(
      409,
      {"OperationNotAllowed",
       "New disk size " + std::to_string(*next) + " GB is smaller than the current disk size " +
           std::to_string(now) + " GB. Reducing the size of a disk is not supported.",
       "disk.diskSizeGB"}
  );
}

} // namespace

reply put_disk(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  const std::string location = normalized_location(c.body["location"].string_or(""));
  const auto& wanted = c.body["properties"];
  const std::string option = wanted.at({"creationData", "createOption"}).string_or("");
  if (existing == nullptr && !base::equals_ignoring_case(option, "Empty")) {
    return error_reply(
        400,
        {"InvalidParameter",
         "Only createOption 'Empty' is emulated for a disk of its own.",
         "disk.creationData.createOption"}
    );
  }
  const auto size = wanted["diskSizeGB"].integer();
  if (existing == nullptr && (!size || *size < 1 || *size > 65'536)) {
    return error_reply(
        400,
        {"InvalidParameter",
         "Required parameter 'disk.diskSizeGB' is missing (null) or out of range.",
         "disk.diskSizeGB"}
    );
  }
  if (existing != nullptr) {
    auto bad = refuse_if_locked(c, *existing);
    if (!bad) {
      bad = check_size_change(existing->body, c.body);
    }
    if (bad) {
      return *bad;
    }
    if (size) {
      existing->body.member_ref("properties").set("diskSizeGB", *size);
    }
    if (c.body["tags"].is_object()) {
      existing->body.set("tags", c.body["tags"]);
    } else {
      existing->body.erase("tags");
    }
    existing->state = provisioning::updating;
    return accepted(c, *existing, disk_plan(*existing, action::write, false));
  }
  resource r;
  r.path = path;
  r.location = location;
  r.created = c.now();
  r.changed = c.now();
  r.state = provisioning::updating;
  r.body = json::object(
      {{"name", path.name},
       {"id", path.id()},
       {"type", type_name(kind::disk)},
       {"location", location}}
  );
  for (const auto* key : {"tags", "zones", "sku"}) {
    if (const auto& value = c.body[key]; !value.is_null()) {
      r.body.set(key, value);
    }
  }
  r.body.set(
      "properties",
      json::object(
          {{"creationData", json::object({{"createOption", "Empty"}})},
           {"diskSizeGB", *size},
           {"provisioningState", "Updating"}}
      )
  );
  auto& stored = c.world.put(std::move(r));
  return accepted(c, stored, disk_plan(stored, action::write, true));
}

reply patch_disk(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return resource_not_found(path);
  }
  auto bad = check_tags(c.body);
  if (!bad) {
    bad = refuse_if_locked(c, *r);
  }
  if (!bad) {
    bad = check_size_change(r->body, c.body);
  }
  if (bad) {
    return *bad;
  }
  if (c.body["tags"].is_object()) {
    r->body.set("tags", c.body["tags"]);
  }
  if (const auto size = c.body.at({"properties", "diskSizeGB"}).integer()) {
    r->body.member_ref("properties").set("diskSizeGB", *size);
  }
  r->state = provisioning::updating;
  return accepted(c, *r, disk_plan(*r, action::write, false));
}

reply delete_disk(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return empty_reply(204);
  }
  for (const auto& user : c.world.users_of(path.key())) {
    if (const auto* machine = c.world.find(user)) {
      return error_reply(
          409,
          {"OperationNotAllowed",
           "Disk " + path.name + " is attached to VM " + machine->path.id() + "."}
      );
    }
  }
  if (auto bad = refuse_if_locked(c, *r)) {
    return *bad;
  }
  r->state = provisioning::deleting;
  reply answer = empty_reply(202);
  add_monitor_headers(
      c, begin(c, disk_plan(*r, action::remove, false)), monitors::async_and_location, answer
  );
  return answer;
}

} // namespace siteagent::azure_emulator
