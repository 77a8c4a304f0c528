// SPDX-License-Identifier: MIT
// What operations on machines do at their end.
#include "machine.hpp"
#include "network.hpp"
#include "operations.hpp"
#include "render.hpp"

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
    set_power(machine, power::running, now);
    return;
  }
  fail_machine(machine, op);
  if (!leaves_nothing(op.error_code)) {
    // Got as far as booting: the disk is there and the machine is billed.
    fill_disks(w, machine, now);
    set_power(machine, power::running, now);
  }
  hold_interfaces(w, machine, now);
}

void complete_power(const operation& op, resource& machine, bool ok, base::wall_time now) {
  if (!ok) {
    // The machine stays as it was before the action.
    fail_machine(machine, op);
    set_power(machine, machine.machine.power_before, now);
    return;
  }
  machine.state = provisioning::succeeded;
  switch (op.action) {
  case action::deallocate:
    set_power(machine, power::deallocated, now);
    break;
  case action::power_off:
    set_power(machine, power::stopped, now);
    break;
  case action::start:
  case action::restart:
    set_power(machine, power::running, now);
    break;
  default:
    break;
  }
}

void remove_interface(world& w, const std::string& key, base::wall_time now) {
  const auto* interface = w.find(key);
  if (interface == nullptr) {
    return;
  }
  remember_references(w, *interface, now);
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

// Disks as the machine's body says they are now; those it gave up become free, and so do
// interfaces.
void complete_update(world& w, resource& machine, base::wall_time now) {
  const auto before = machine.uses;
  fill_disks(w, machine, now);
  for (const auto& key : before) {
    auto* r = w.find(key);
    if (r != nullptr && r->path.kind == kind::network_interface && !refers_to(machine.body, key)) {
      r->interface.mac.clear();
      w.touch_etag(*r);
    }
  }
  const auto& storage = machine.body.at({"properties", "storageProfile"});
  std::vector<json> disks = storage["dataDisks"].items();
  disks.push_back(storage["osDisk"]);
  for (const auto& entry : disks) {
    auto* disk = w.find(key_of(entry.at({"managedDisk", "id"}).string_or("")));
    const auto size = entry["diskSizeGB"].integer();
    if (disk == nullptr || !size || disk->body.at({"properties", "diskSizeGB"}).integer() == size) {
      continue;
    }
    disk->body.member_ref("properties").set("diskSizeGB", *size);
    show_disk_details(*disk, now);
  }
  for (const auto& key : machine.uses) {
    auto* r = w.find(key);
    // One that a failed create holds stays held.
    if (r != nullptr && r->path.kind == kind::network_interface && r->interface.mac.empty() &&
        r->interface.reserved_for.empty()) {
      r->interface.mac = w.new_mac();
      w.touch_etag(*r);
    }
  }
}

} // namespace

void remove_machine(world& w, resource& machine, base::wall_time now) {
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
      remove_interface(w, id, now);
    }
  }
  const auto& storage = properties["storageProfile"];
  std::vector<json> disks = storage["dataDisks"].items();
  disks.push_back(storage["osDisk"]);
  for (const auto& disk : disks) {
    if (!w.behaviour.disks_survive &&
        equals_ignoring_case(disk["deleteOption"].string_or(""), "Delete")) {
      w.erase(key_of(disk.at({"managedDisk", "id"}).string_or("")));
    }
  }
}

void set_power(resource& machine, power p, base::wall_time now) {
  auto& part = machine.machine;
  if (part.power != p) {
    part.power_seen = part.power;
    part.power_changed = now;
    part.power = p;
  }
}

void evict_machine(world& w, resource& machine, base::wall_time now) {
  preempt(w, machine.operation, now);
  if (equals_ignoring_case(
          machine.body.at({"properties", "evictionPolicy"}).string_or(""), "Delete"
      )) {
    remove_machine(w, machine, now);
    return;
  }
  set_power(machine, power::deallocated, now);
  machine.state = provisioning::succeeded;
  machine.changed = now;
  w.touch_etag(machine);
}

void complete_machine(world& w, operation& op, bool ok, base::wall_time now) {
  auto* machine = w.find(op.subject);
  if (machine == nullptr) {
    return;
  }
  if (op.action == action::remove_machine && ok) {
    remove_machine(w, *machine, now);
    return;
  }
  w.touch_etag(*machine);
  machine->changed = now;
  switch (op.action) {
  case action::create_machine:
    complete_create(w, op, *machine, ok, now);
    break;
  case action::update_machine:
    complete_update(w, *machine, now);
    machine->state = provisioning::succeeded;
    if (!ok) {
      fail_machine(*machine, op);
    }
    break;
  case action::remove_machine:
    fail_machine(*machine, op);
    break;
  default:
    complete_power(op, *machine, ok, now);
    break;
  }
}

} // namespace siteagent::azure_emulator
