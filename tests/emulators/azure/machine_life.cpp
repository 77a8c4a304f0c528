// SPDX-License-Identifier: MIT
// Power actions and deletion of machines, and what operations on machines do at their end.
#include "handlers.hpp"
#include "machine.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

bool leaves_nothing(std::string_view code) {
  const std::string lower = base::to_lower(code);
  return lower.find("allocation") != std::string::npos || lower.find("sku") == 0;
}

void fill_disks(world& w, resource& machine, base::wall_time now) {
  auto& storage = machine.body.member_ref("properties").member_ref("storageProfile");
  disk_spec spec;
  spec.path = machine.path;
  spec.path.kind = kind::disk;
  spec.location = machine.location;
  spec.zones = machine.body["zones"];
  if (w.machine_tags_on_disks) {
    spec.tags = machine.body["tags"];
  }
  auto& os = storage.member_ref("osDisk");
  const auto make = [&](json& disk, bool is_os) {
    auto& managed = disk.member_ref("managedDisk");
    if (!managed["id"].is_null()) {
      return; // attached, or made by an earlier attempt
    }
    spec.path.name = disk["name"].string_or("");
    spec.sku = managed["storageAccountType"].string_or("Standard_LRS");
    spec.size_gib = disk["diskSizeGB"].integer().value_or(32);
    spec.os = is_os ? disk["osType"].string_or("Linux") : "";
    spec.generation = is_os ? machine.machine.generation : "";
    const auto& reference = storage["imageReference"];
    const auto* image = w.offer.find_image(
        reference["publisher"].string_or(""),
        reference["offer"].string_or(""),
        reference["sku"].string_or(""),
        reference["exactVersion"].string_or(""),
        machine.location
    );
    spec.image_id = is_os && image != nullptr
                        ? image_id(machine.path.subscription, machine.location, *image)
                        : std::string();
    managed.set("id", make_disk(w, spec, now).path.id());
  };
  make(os, true);
  for (auto& disk : storage.member_ref("dataDisks").items()) {
    make(disk, false);
  }
  w.set_uses(machine, machine_references(machine.body));
}

void hold_interfaces(world& w, const resource& machine, base::wall_time now) {
  for (const auto& key : machine.uses) {
    auto* r = w.find(key);
    if (r != nullptr && r->path.kind == kind::network_interface) {
      r->interface.reserved_until = now + w.interface_hold;
      r->interface.reserved_for = machine.path.id();
    }
  }
}

void attach_interfaces(world& w, const resource& machine) {
  for (const auto& key : machine.uses) {
    auto* r = w.find(key);
    if (r == nullptr || r->path.kind != kind::network_interface) {
      continue;
    }
    if (r->interface.mac.empty()) {
      r->interface.mac = w.new_mac();
    }
    r->interface.reserved_for.clear();
    r->interface.reserved_until = {};
    w.touch_etag(*r);
  }
}

void fail_machine(resource& machine, const operation& op) {
  machine.state = provisioning::failed;
  machine.machine.failure_code = op.error_code;
  machine.machine.failure_message = op.error_message;
}

void complete_create(
    world& w, const operation& op, resource& machine, bool ok, base::wall_time now
) {
  if (ok) {
    fill_disks(w, machine, now);
    attach_interfaces(w, machine);
    machine.state = provisioning::succeeded;
    machine.machine.power = power::running;
    return;
  }
  fail_machine(machine, op);
  if (!leaves_nothing(op.error_code)) {
    // Got as far as booting: the disk is there and the machine is billed.
    fill_disks(w, machine, now);
    machine.machine.power = power::running;
  }
  hold_interfaces(w, machine, now);
}

void complete_power(const operation& op, resource& machine, bool ok) {
  if (!ok) {
    // The machine stays as it was before the action.
    fail_machine(machine, op);
    machine.machine.power = machine.machine.power_before;
    return;
  }
  machine.state = provisioning::succeeded;
  switch (op.action) {
  case action::deallocate:
    machine.machine.power = power::deallocated;
    break;
  case action::power_off:
    machine.machine.power = power::stopped;
    break;
  case action::start:
  case action::restart:
    machine.machine.power = power::running;
    break;
  default:
    break;
  }
}

void remove_interface(world& w, const std::string& key) {
  const auto* interface = w.find(key);
  if (interface == nullptr) {
    return;
  }
  const auto uses = interface->uses;
  w.erase(key);
  for (const auto& used : uses) {
    const auto* address = w.find(used);
    if (address != nullptr && address->path.kind == kind::public_ip &&
        equals_ignoring_case(
            address->body.at({"properties", "deleteOption"}).string_or(""), "Delete"
        ) &&
        w.users_of(used).empty()) {
      w.erase(used);
    }
  }
}

void complete_machine_removal(world& w, const resource& machine) {
  const json body = machine.body;
  const std::string key = machine.path.key();
  w.erase(key);
  const auto& properties = body["properties"];
  for (const auto& interface : properties.at({"networkProfile", "networkInterfaces"}).items()) {
    const std::string id = key_of(interface["id"].string_or(""));
    if (auto* r = w.find(id)) {
      r->interface.mac.clear();
      w.touch_etag(*r);
    }
    if (equals_ignoring_case(
            interface.at({"properties", "deleteOption"}).string_or(""), "Delete"
        )) {
      remove_interface(w, id);
    }
  }
  const auto& storage = properties["storageProfile"];
  std::vector<json> disks = storage["dataDisks"].items();
  disks.push_back(storage["osDisk"]);
  for (const auto& disk : disks) {
    if (equals_ignoring_case(disk["deleteOption"].string_or(""), "Delete")) {
      w.erase(key_of(disk.at({"managedDisk", "id"}).string_or("")));
    }
  }
}

} // namespace

void complete_machine(world& w, operation& op, bool ok, base::wall_time now) {
  auto* machine = w.find(op.subject);
  if (machine == nullptr) {
    return;
  }
  if (op.action == action::remove_machine && ok) {
    complete_machine_removal(w, *machine);
    return;
  }
  w.touch_etag(*machine);
  machine->changed = now;
  switch (op.action) {
  case action::create_machine:
    complete_create(w, op, *machine, ok, now);
    break;
  case action::update_machine:
    if (ok) {
      machine->state = provisioning::succeeded;
    } else {
      fail_machine(*machine, op);
    }
    break;
  case action::remove_machine:
    fail_machine(*machine, op);
    break;
  default:
    complete_power(op, *machine, ok);
    break;
  }
}

namespace {

struct verb_row {
  std::string_view verb;
  azure_emulator::action action;
  power during;
};

constexpr verb_row verbs[] = {
    {"start", action::start, power::starting},
    {"deallocate", action::deallocate, power::deallocating},
    {"powerOff", action::power_off, power::stopping},
    {"restart", action::restart, power::running},
    {"redeploy", action::restart, power::running},
    {"reapply", action::update_machine, power::none},
};

bool is_off(power p) {
  return p == power::deallocated || p == power::deallocating || p == power::none;
}

std::optional<reply> refuse_action(const resource& machine, const verb_row& row) {
  const bool needs_running = row.action == action::restart || row.action == action::power_off;
  if (needs_running && is_off(machine.machine.power)) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Cannot " + std::string(row.verb) + " VM '" + machine.path.name +
             "' because it is not running."}
    );
  }
  return std::nullopt;
}

} // namespace

reply machine_action(context& c, const resource_path& path, std::string_view verb) {
  auto* machine = c.world.find(path.key());
  if (machine == nullptr) {
    return resource_not_found(path);
  }
  const verb_row* row = nullptr;
  for (const auto& candidate : verbs) {
    row = equals_ignoring_case(candidate.verb, verb) ? &candidate : row;
  }
  if (row == nullptr) {
    return error_reply(
        404, {"NotFound", "The action '" + std::string(verb) + "' is not emulated."}
    );
  }
  // Releasing a machine wins over other power actions; nothing else interrupts.
  const bool preempts = row->action == action::deallocate &&
                        machine->state == provisioning::updating && !machine->operation.empty();
  if (preempts) {
    preempt(c.world, machine->operation, c.now());
  } else if (auto bad = refuse_if_locked(c, *machine)) {
    return *bad;
  }
  if (auto bad = refuse_action(*machine, *row)) {
    return *bad;
  }
  const bool was_running = machine->machine.power == power::running;
  if (!preempts) {
    machine->machine.power_before = machine->machine.power;
  }
  machine->state = provisioning::updating;
  if (row->during != power::none && !(row->action == action::start && was_running)) {
    machine->machine.power = row->during;
  }
  c.world.touch_etag(*machine);
  operation_plan plan;
  plan.action = row->action;
  plan.pace = pace::machine_action;
  plan.subject = path.key();
  plan.location = machine->location;
  plan.is_new = false;
  auto& op = begin(c, plan);
  const std::string size =
      machine->body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  if (row->action == action::start && !was_running && !op.planned &&
      c.world.offer.is_restricted(size, machine->location, true)) {
    op.planned = operation_status::failed;
    op.error_code = "AllocationFailed";
  }
  reply answer = empty_reply(202);
  add_monitor_headers(c, op, monitors::async_and_location, answer);
  return answer;
}

reply delete_machine(context& c, const resource_path& path) {
  auto* machine = c.world.find(path.key());
  if (machine == nullptr) {
    return empty_reply(204);
  }
  if (auto bad = check_preconditions(c, machine)) {
    return *bad;
  }
  reply answer = empty_reply(202);
  const auto running = c.world.operations.find(key_of(machine->operation));
  if (running != c.world.operations.end() && running->second.action == action::remove_machine &&
      running->second.status == operation_status::in_progress) {
    add_monitor_headers(c, running->second, monitors::async_and_location, answer);
    return answer;
  }
  preempt(c.world, machine->operation, c.now());
  machine->state = provisioning::deleting;
  c.world.touch_etag(*machine);
  operation_plan plan;
  plan.action = action::remove_machine;
  plan.pace = pace::machine_delete;
  plan.subject = path.key();
  plan.location = machine->location;
  plan.is_new = false;
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

} // namespace siteagent::azure_emulator
