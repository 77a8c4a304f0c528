// SPDX-License-Identifier: MIT
// What a machine refers to: interfaces and disks that must be there, ready and free.
#include "machine.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply refuse(
    int status, std::string_view code, const std::string& message, std::string_view target
) {
  return error_reply(status, {std::string(code), message, std::string(target)});
}

std::optional<reply> check_interface(
    const context& c, const resource_path& path, const std::string& id, std::string_view location
) {
  const auto* interface = c.world.find(key_of(id));
  const auto parsed = parse_resource_id(id);
  if (!parsed || parsed->kind != kind::network_interface || interface == nullptr ||
      interface->location != location) {
    return error_reply(
        400,
        {"InvalidResourceReference",
         "Resource " + id + " referenced by resource " + path.id() +
             " was not found. Please make sure that the referenced resource exists, and that both "
             "resources are in the same region.",
         "",
         json::array()}
    );
  }
  for (const auto& user : c.world.users_of(key_of(id))) {
    const auto* machine = c.world.find(user);
    if (machine == nullptr || user == path.key()) {
      continue;
    }
    if (machine->state == provisioning::deleting) {
      return refuse(
          400,
          "NicReservedForAnotherVm",
          "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please "
          "provide another nic(s) or retry after 180 seconds. Reserved VM: " +
              machine->path.id(),
          ""
      );
    }
    return refuse(
        400,
        "NicInUse",
        "Network Interface " + id + " is used by existing resource " + machine->path.id() +
            ". In order to delete the network interface, it must be dissociated from the resource. "
            "To learn more, see aka.ms/deletenic.",
        ""
    );
  }
  const auto& hold = interface->interface;
  if (hold.reserved_until > c.now() && !equals_ignoring_case(hold.reserved_for, path.id())) {
    return refuse(
        400,
        "NicReservedForAnotherVm",
        "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide "
        "another nic(s) or retry after 180 seconds. Reserved VM: " +
            hold.reserved_for,
        ""
    );
  }
  return check_reference(c, path, id, kind::network_interface, location);
}

std::optional<reply> check_attached_disk(
    const context& c, const resource_path& path, const std::string& id, std::string_view location
) {
  const auto* disk = c.world.find(key_of(id));
  if (disk == nullptr || disk->path.kind != kind::disk) {
    return refuse(404, "NotFound", "Disk " + id + " is not found.", "dataDisk.managedDisk.id");
  }
  if (disk->location != location) {
    return refuse(
        400,
        "BadRequest",
        "Disk " + id + " is in location " + disk->location + " and the VM is in location " +
            std::string(location) + ".",
        "dataDisk.managedDisk.id"
    );
  }
  for (const auto& user : c.world.users_of(key_of(id))) {
    const auto* owner = c.world.find(user);
    // An update that is still running holds what it detaches.
    if (owner != nullptr && !refers_to(owner->body, key_of(id))) {
      return refuse(
          409,
          "AttachDiskWhileBeingDetached",
          "Cannot attach data disk '" + disk->path.name + "' to VM '" + path.name +
              "' because the disk is currently being detached. Please wait until the disk is "
              "completely detached and then try again.",
          ""
      );
    }
    if (user != path.key() && owner != nullptr) {
      return refuse(
          409,
          "ConflictingUserInput",
          "Disk '" + id + "' cannot be attached as the disk is already owned by VM '" +
              owner->path.id() + "'.",
          ""
      );
    }
  }
  return std::nullopt;
}

// Implicit disks must not collide with an existing one of their name.
std::optional<reply>
check_disk_name(const context& c, const resource_path& path, const std::string& name) {
  resource_path disk = path;
  disk.kind = kind::disk;
  disk.name = name;
  const auto* existing = name.empty() ? nullptr : c.world.find(disk.key());
  const bool own = existing != nullptr && c.world.users_of(disk.key()).count(path.key()) != 0;
  if (existing == nullptr || own) {
    return std::nullopt;
  }
  return refuse(
      409,
      "Conflict",
      "Disk " + name + " already exists in resource group " + path.group +
          ". Only CreateOption.Attach is supported.",
      "disk.name"
  );
}

std::optional<reply> check_machine_disks(
    const context& c, const resource_path& path, const json& body, std::string_view location
) {
  const auto& storage = body.at({"properties", "storageProfile"});
  std::vector<json> disks = storage["dataDisks"].items();
  disks.push_back(storage["osDisk"]);
  for (const auto& disk : disks) {
    const bool attach = equals_ignoring_case(disk["createOption"].string_or(""), "Attach");
    auto bad =
        attach
            ? check_attached_disk(c, path, disk.at({"managedDisk", "id"}).string_or(""), location)
            : check_disk_name(c, path, disk["name"].string_or(""));
    if (bad) {
      return bad;
    }
  }
  return std::nullopt;
}

// All interfaces of a machine are in one network, and a zonal address is in its zone.
std::optional<reply>
check_machine_places(const context& c, const resource_path& path, const json& body) {
  std::set<std::string> networks;
  const std::string zone = body["zones"][0].string_or("");
  for (const auto& interface :
       body.at({"properties", "networkProfile", "networkInterfaces"}).items()) {
    const auto* r = c.world.find(key_of(interface["id"].string_or("")));
    for (const auto& used : r == nullptr ? std::vector<std::string>() : r->uses) {
      const auto what = parse_resource_id(used);
      const auto* target = c.world.find(used);
      if (what && what->kind == kind::subnet) {
        networks.insert(key_of(what->parent_id()));
      }
      if (target == nullptr || target->path.kind != kind::public_ip || zone.empty()) {
        continue;
      }
      const auto& zones = target->body["zones"];
      if (zones.size() == 1 && zones[0].string_or("") != zone) {
        return refuse(
            400,
            "PublicIPAddressZoneMismatch",
            "Compute resource " + path.id() + " has a zone constraint " + zone +
                " but the PublicIPAddress " + target->path.id() +
                " used by the compute resource via NetworkInterface has a different zone "
                "constraint " +
                zones[0].string_or("") + ".",
            ""
        );
      }
    }
  }
  if (networks.size() <= 1) {
    return std::nullopt;
  }
  return refuse(
      400,
      "SubnetsNotInSameVnet",
      "The subnets of the network interfaces of VM " + path.name +
          " are not in the same Virtual Network. Please make sure that all subnets referenced are "
          "in same Virtual Network.",
      ""
  );
}

// A set is of the machine's group and place, and a machine in it is in no zone.
std::optional<reply> check_availability_set(
    const context& c, const resource_path& path, const json& body, std::string_view location
) {
  const std::string id = body.at({"properties", "availabilitySet", "id"}).string_or("");
  if (id.empty()) {
    return std::nullopt;
  }
  if (body["zones"].size() > 0) {
    return refuse(
        400,
        "BadRequest",
        "Virtual Machine cannot be created because both Availability Zone and Availability Set "
        "were specified. Deploying an Availability Set to an Availability Zone isn't supported.",
        ""
    );
  }
  return check_reference(c, path, id, kind::availability_set, location);
}

} // namespace

std::optional<reply> check_machine_references(
    const context& c, const resource_path& path, const json& body, std::string_view location
) {
  const auto& interfaces = body.at({"properties", "networkProfile", "networkInterfaces"});
  std::size_t primaries = 0;
  for (const auto& interface : interfaces.items()) {
    if (auto bad = check_interface(c, path, interface["id"].string_or(""), location)) {
      return bad;
    }
    primaries += interface.at({"properties", "primary"}).boolean().value_or(false) ? 1 : 0;
  }
  if (interfaces.size() > 1 && primaries != 1) {
    return refuse(
        400,
        "VirtualMachineMustHaveOneNetworkInterfaceAsPrimary",
        "Virtual machine " + path.name + " must have one network interface set as the primary.",
        ""
    );
  }
  auto bad = check_availability_set(c, path, body, location);
  if (!bad) {
    bad = check_machine_places(c, path, body);
  }
  return bad ? bad : check_machine_disks(c, path, body, location);
}

} // namespace siteagent::azure_emulator
