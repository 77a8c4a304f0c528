// SPDX-License-Identifier: MIT
// Updating machines: what a PUT or PATCH changes in one that is there.
#include "handlers.hpp"
#include "machine.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply answer_with(context& c, resource& r, int status) {
  reply answer = json_reply(status, render(c.world, r));
  answer.headers.emplace_back("ETag", "\"" + std::to_string(r.machine.version) + "\"");
  return answer;
}

bool same_text(const json& a, const json& b) {
  return a.is_null() ||
         (a.is_string() && b.is_string() && equals_ignoring_case(a.string_or(""), b.string_or("")));
}

std::string size_of(const json& body) {
  return body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
}

// A machine on a host only gets sizes of the host's hardware, here: of its size's family.
std::optional<reply> check_hardware(
    const world& w, const resource& machine, const size_entry& now, const size_entry& next
) {
  if (w.behaviour.resizes_across_families || machine.machine.power == power::deallocated ||
      equals_ignoring_case(now.family, next.family)) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const auto& size : w.offer.sizes) {
    if (equals_ignoring_case(size.family, now.family) &&
        w.offer.find_size(size.name, machine.location) != nullptr) {
      names.push_back(size.name);
    }
  }
  return error_reply(
      409,
      {"OperationNotAllowed",
       "Unable to resize the VM '" + machine.path.name + "' because the requested size " +
           next.name +
           " is not available in the current hardware cluster. The available sizes in this cluster "
           "are: " +
           base::join(names, ",") + "."}
  );
}

std::optional<reply> check_resize(const context& c, const resource& existing, const json& body) {
  machine_offer offer;
  if (auto bad = find_machine_size(c.world, body, existing.location, offer)) {
    return bad;
  }
  const auto* old = c.world.offer.find_size(size_of(existing.body), existing.location);
  auto bad = check_generation(*offer.size, existing.machine.generation, offer.size->architecture);
  if (!bad && old != nullptr) {
    bad = check_hardware(c.world, existing, *old, *offer.size);
  }
  if (!bad && old != nullptr &&
      !equals_ignoring_case(old->architecture, offer.size->architecture)) {
    bad = check_generation(*offer.size, existing.machine.generation, old->architecture);
  }
  if (!bad) {
    const bool same_family = old != nullptr && old->family == offer.size->family;
    const std::int64_t more = offer.size->cores - (same_family ? old->cores : 0);
    bad = check_cores(c, *offer.size, existing.location, more, is_spot(body));
  }
  return bad ? bad
             : check_restriction(
                   c, *offer.size, existing.location, existing.body["zones"][0].string_or("")
               );
}

std::optional<reply>
change_interfaces(const context& c, const resource& existing, json& properties) {
  const auto& wanted = c.body.at({"properties", "networkProfile", "networkInterfaces"});
  if (!wanted.is_array()) {
    return std::nullopt;
  }
  json list = json::array();
  bool same = true;
  const auto& old = properties.at({"networkProfile", "networkInterfaces"});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    json part = json::object({{"id", wanted[i]["id"]}});
    json options;
    for (const auto* key : {"primary", "deleteOption"}) {
      if (const auto& value = wanted[i].at({"properties", key}); !value.is_null()) {
        options.set(key, value);
      }
    }
    if (!options.is_null()) {
      part.set("properties", options);
    }
    list.push_back(part);
    same = same && same_text(wanted[i]["id"], old[i]["id"]);
  }
  same = same && wanted.size() == old.size();
  if (!same && existing.machine.power != power::deallocated) {
    return error_reply(
        409,
        {"AddingOrDeletingNetworkInterfacesOnARunningVirtualMachine",
         "Secondary network interfaces cannot be added to, or removed from, the running virtual "
         "machine " +
             existing.path.name + ". Deallocate it first."}
    );
  }
  if (wanted.size() == 0) {
    return error_reply(
        400,
        {"InvalidParameter",
         "Virtual Machine must have at least one network interface.",
         "networkProfile.networkInterfaces"}
    );
  }
  properties.member_ref("networkProfile").set("networkInterfaces", list);
  return std::nullopt;
}

// An identity keeps its ids for as long as it is of its type.
void change_identity(const context& c, json& body) {
  const auto& wanted = c.body["identity"];
  const std::string type = wanted["type"].string_or("");
  if (equals_ignoring_case(type, "None")) {
    body.erase("identity");
  } else if (!type.empty() && !equals_ignoring_case(type, body["identity"]["type"].string_or(""))) {
    body.set("identity", identity_part(wanted, c.subscription->tenant));
  }
}

// What may change at any time, and what check_immutable() let pass.
void change_simple(const context& c, bool is_patch, json& body) {
  const auto& wanted = c.body["properties"];
  if (c.body["tags"].is_object()) {
    body.set("tags", c.body["tags"]);
  } else if (!is_patch) {
    body.erase("tags");
  }
  change_identity(c, body);
  auto& properties = body.member_ref("properties");
  if (const auto& size = wanted.at({"hardwareProfile", "vmSize"}); size.is_string()) {
    properties.member_ref("hardwareProfile").set("vmSize", size);
  }
  for (const auto* key :
       {"diagnosticsProfile",
        "licenseType",
        "additionalCapabilities",
        "billingProfile",
        "securityProfile",
        "proximityPlacementGroup",
        "capacityReservation"}) {
    if (const auto& value = wanted[key]; !value.is_null()) {
      properties.set(key, value);
    }
  }
  const auto& storage = wanted["storageProfile"];
  auto& stored = properties.member_ref("storageProfile");
  if (storage["diskControllerType"].is_string()) {
    stored.set("diskControllerType", storage["diskControllerType"]);
  }
  auto& disk = stored.member_ref("osDisk");
  for (const auto* key : {"deleteOption", "diskSizeGB", "caching"}) {
    if (const auto& value = storage.at({"osDisk", key}); !value.is_null()) {
      disk.set(key, value);
    }
  }
  if (const auto& sku = storage.at({"osDisk", "managedDisk", "storageAccountType"});
      sku.is_string()) {
    disk.member_ref("managedDisk").set("storageAccountType", sku);
  }
}

// The body that the update leads to, or why it may not.
std::optional<reply>
change_body(const context& c, const resource& existing, bool is_patch, json& body) {
  change_simple(c, is_patch, body);
  auto bad = change_interfaces(c, existing, body.member_ref("properties"));
  json disks;
  if (!bad) {
    bad = change_data_disks(c, existing, disks);
  }
  if (bad) {
    return bad;
  }
  body.member_ref("properties").member_ref("storageProfile").set("dataDisks", disks);
  if (!equals_ignoring_case(size_of(body), size_of(existing.body))) {
    bad = check_resize(c, existing, body);
  }
  machine_offer offer;
  offer.size = c.world.offer.find_size(size_of(body), existing.location);
  if (!bad && offer.size != nullptr && !(body == existing.body)) {
    bad = check_machine_fit(c, body, existing.location, offer);
  }
  const auto parts = {"storageProfile", "networkProfile"};
  const bool refers_anew = std::any_of(parts.begin(), parts.end(), [&](const auto* part) {
    return !(body.at({"properties", part}) == existing.body.at({"properties", part}));
  });
  if (!bad && refers_anew) {
    bad = check_machine_references(c, existing.path, body, existing.location);
  }
  return bad;
}

// Until the update ends, what it gives up is still held.
std::vector<std::string> all_references(const resource& existing, const json& body) {
  auto ids = machine_references(body);
  ids.insert(ids.end(), existing.uses.begin(), existing.uses.end());
  std::set<std::string> keys;
  for (const auto& id : ids) {
    keys.insert(key_of(id));
  }
  return {keys.begin(), keys.end()};
}

} // namespace

// Starts the operation that makes the machine; sizes out of capacity fail there, not before.
reply start_machine(context& c, resource& r, int status) {
  r.state = provisioning::creating;
  r.machine.power = power::none;
  operation_plan plan;
  plan.action = action::create_machine;
  plan.pace = pace::machine_create;
  plan.subject = r.path.key();
  plan.location = r.location;
  plan.is_new = true;
  auto& op = begin(c, plan);
  const std::string size = r.body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  if (!op.planned &&
      c.world.offer.is_restricted(size, r.location, r.body["zones"][0].string_or(""), true)) {
    op.planned = operation_status::failed;
    op.error_code = allocation_failure(r);
  }
  reply answer = answer_with(c, r, status);
  add_monitor_headers(c, op, monitors::async, answer);
  return answer;
}

reply list_machine_sizes(context& c, const resource_path& path) {
  const auto* machine = c.world.find(path.key());
  if (machine == nullptr) {
    return resource_not_found(path);
  }
  const auto* size = c.world.offer.find_size(size_of(machine->body), machine->location);
  const bool anywhere = size == nullptr || c.world.behaviour.resizes_across_families ||
                        machine->machine.power == power::deallocated;
  return list_sizes(c, machine->location, anywhere ? std::string() : size->family);
}

reply update_machine(context& c, resource& existing, const resource_path& path, bool is_patch) {
  auto bad = check_immutable(c, existing);
  if (!bad) {
    bad = check_user_data(c.body["properties"]);
  }
  if (!bad) {
    bad = refuse_if_locked(c, existing);
  }
  json body = existing.body;
  if (!bad) {
    bad = change_body(c, existing, is_patch, body);
  }
  if (bad) {
    return *bad;
  }
  if (const auto& data = c.body.at({"properties", "userData"}); data.is_string()) {
    existing.machine.user_data = data.string_or("");
  }
  // A create that failed is tried again by the same PUT.
  const bool was_never_made =
      existing.state == provisioning::failed && existing.machine.power == power::none;
  const bool changes = !(body == existing.body);
  c.world.set_uses(existing, all_references(existing, body));
  existing.body = std::move(body);
  existing.path = path;
  existing.body.set("name", path.name);
  existing.body.set("id", path.id());
  existing.changed = c.now();
  c.world.touch_etag(existing);
  if (was_never_made && !is_patch) {
    return start_machine(c, existing, 200);
  }
  const provisioning before = existing.state;
  existing.state = provisioning::updating;
  if (!changes) {
    // Shown as Updating once, though nothing happens.
    reply answer = answer_with(c, existing, 200);
    existing.state = before;
    return answer;
  }
  operation_plan plan;
  plan.action = action::update_machine;
  plan.pace = pace::machine_update;
  plan.subject = path.key();
  plan.location = existing.location;
  plan.is_new = false;
  reply answer = answer_with(c, existing, 200);
  add_monitor_headers(c, begin(c, plan), monitors::async, answer);
  return answer;
}

} // namespace siteagent::azure_emulator
