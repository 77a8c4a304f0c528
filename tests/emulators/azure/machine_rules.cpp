// SPDX-License-Identifier: MIT
// Rules of a machine that look at the catalog and at other resources.
#include "machine.hpp"
#include "operations.hpp"
#include "rules.hpp"

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

std::string sizes_in(const world& w, std::string_view location) {
  std::vector<std::string> names;
  for (const auto& size : w.offer.sizes) {
    if (w.offer.find_size(size.name, location) != nullptr) {
      names.push_back(size.name);
    }
  }
  return base::join(names, ",");
}

bool has_word(std::string_view list, std::string_view word) {
  for (const auto part : base::split(list, ',')) {
    if (equals_ignoring_case(part, word)) {
      return true;
    }
  }
  return false;
}

std::optional<reply> check_generation(const size_entry& size, const image_entry& image) {
  if (!has_word(size.generations, image.generation)) {
    return refuse(
        400,
        "BadRequest",
        "The selected VM size '" + size.name + "' cannot boot Hypervisor Generation '" +
            image.generation.substr(1) +
            "'. If this was a Create operation please check that the Hypervisor Generation of the "
            "Image matches the Hypervisor Generation of the selected VM Size. If this was an "
            "Update "
            "operation please select a Hypervisor Generation '" +
            image.generation.substr(1) + "' VM Size.",
        ""
    );
  }
  if (!equals_ignoring_case(size.architecture, image.architecture)) {
    return refuse(
        400,
        "BadRequest",
        "Cannot create a VM of size '" + size.name +
            "' because this VM size only supports a CPU Architecture of '" + size.architecture +
            "', but an image or disk with CPU Architecture '" + image.architecture +
            "' was specified. Please use an image or disk that is compatible.",
        ""
    );
  }
  return std::nullopt;
}

std::optional<reply> check_plan(const context& c, const image_entry& image) {
  const auto& plan = c.body["plan"];
  if (image.plan.is_null()) {
    if (plan.is_null()) {
      return std::nullopt;
    }
    return refuse(
        400,
        "VMMarketplaceInvalidInput",
        "Plan information not needed: the image '" + image.publisher + ":" + image.offer + ":" +
            image.sku + "' has no purchase plan.",
        ""
    );
  }
  if (plan.is_null()) {
    return refuse(
        400,
        "VMMarketplaceInvalidInput",
        "Creating a virtual machine from Marketplace image or a custom image sourced from a "
        "Marketplace image requires Plan information in the request.",
        ""
    );
  }
  for (const auto* key : {"name", "publisher", "product"}) {
    if (!equals_ignoring_case(plan[key].string_or(""), image.plan[key].string_or(""))) {
      return refuse(
          400,
          "VMMarketplaceInvalidInput",
          "The purchase plan information in the request does not match that of the image.",
          ""
      );
    }
  }
  return std::nullopt;
}

std::optional<reply> check_security_type(const context& c, const machine_offer& offer) {
  const std::string type =
      c.body.at({"properties", "securityProfile", "securityType"}).string_or("");
  if (!equals_ignoring_case(type, "TrustedLaunch")) {
    return std::nullopt;
  }
  if (!offer.size->trusted_launch) {
    return refuse(
        400,
        "BadRequest",
        "The VM size '" + offer.size->name +
            "' is not supported for creation of VMs and Virtual Machine Scale Set with "
            "'TrustedLaunch' security type.",
        ""
    );
  }
  if (offer.image != nullptr && (!offer.image->trusted_launch || offer.image->generation != "V2")) {
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

std::optional<reply> check_os_disk(const context& c, const machine_offer& offer) {
  const auto& disk = c.body.at({"properties", "storageProfile", "osDisk"});
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
  return check_disk_sku(*offer.size, disk, "osDisk");
}

std::optional<reply> check_data_disks(const context& c, const machine_offer& offer) {
  const auto& disks = c.body.at({"properties", "storageProfile", "dataDisks"});
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
    if (auto bad = check_disk_sku(*offer.size, disk, "dataDisk")) {
      return bad;
    }
  }
  return std::nullopt;
}

std::optional<reply> check_zones(const context& c, std::string_view location) {
  const auto& zones = c.body["zones"];
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

std::optional<reply> check_interface_count(const context& c, const size_entry& size) {
  const auto& list = c.body.at({"properties", "networkProfile", "networkInterfaces"});
  if (static_cast<std::int64_t>(list.size()) > size.interfaces) {
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

std::optional<reply> find_image(const context& c, std::string_view location, machine_offer& offer) {
  const auto& storage = c.body.at({"properties", "storageProfile"});
  const auto& reference = storage["imageReference"];
  offer.is_linux = !equals_ignoring_case(storage.at({"osDisk", "osType"}).string_or(""), "Windows");
  if (equals_ignoring_case(storage.at({"osDisk", "createOption"}).string_or(""), "Attach")) {
    return std::nullopt;
  }
  if (!reference["id"].string_or("").empty()) {
    return refuse(
        404,
        "NotFound",
        "The Image '" + reference["id"].string_or("") + "' cannot be found in '" +
            std::string(location) + "' region.",
        "imageReference"
    );
  }
  const std::string publisher = reference["publisher"].string_or("");
  const std::string name = reference["offer"].string_or("");
  const std::string sku = reference["sku"].string_or("");
  const std::string version = reference["version"].string_or("");
  if (publisher.empty() || name.empty() || sku.empty() || version.empty()) {
    return refuse(
        400,
        "InvalidParameter",
        "The imageReference must have publisher, offer, sku and version.",
        "imageReference"
    );
  }
  offer.image = c.world.offer.find_image(publisher, name, sku, version, location);
  if (offer.image == nullptr) {
    return refuse(
        404,
        "PlatformImageNotFound",
        "The platform image '" + publisher + ":" + name + ":" + sku + ":" + version +
            "' is not available. Verify that all fields in the storage profile are correct. For "
            "more details about storage profile information, please refer to "
            "https://aka.ms/storageprofile",
        "imageReference"
    );
  }
  offer.is_linux = !equals_ignoring_case(offer.image->os, "Windows");
  return std::nullopt;
}

} // namespace

std::optional<reply>
check_machine_offer(const context& c, std::string_view location, machine_offer& offer) {
  const std::string wanted = c.body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  offer.size = c.world.offer.find_size(wanted, location);
  if (offer.size == nullptr) {
    return refuse(
        400,
        "InvalidParameter",
        "The requested VM size " + wanted +
            " is not available in the current region. The sizes available in the current region "
            "are: " +
            sizes_in(c.world, location) +
            ".\nFind out more on the available VM sizes in each region at "
            "https://aka.ms/azure-regions.",
        "vmSize"
    );
  }
  auto bad = find_image(c, location, offer);
  if (!bad && offer.image != nullptr) {
    bad = check_generation(*offer.size, *offer.image);
  }
  if (!bad && offer.image != nullptr) {
    bad = check_plan(c, *offer.image);
  }
  if (!bad) {
    bad = check_security_type(c, offer);
  }
  if (!bad) {
    bad = check_os_disk(c, offer);
  }
  if (!bad) {
    bad = check_data_disks(c, offer);
  }
  if (!bad) {
    bad = check_zones(c, location);
  }
  if (!bad) {
    bad = check_interface_count(c, *offer.size);
  }
  return bad;
}

namespace {

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

std::optional<reply>
check_attached_disk(const context& c, const resource_path& path, const std::string& id) {
  const auto* disk = c.world.find(key_of(id));
  if (disk == nullptr || disk->path.kind != kind::disk) {
    return refuse(404, "NotFound", "Disk " + id + " is not found.", "dataDisk.managedDisk.id");
  }
  for (const auto& user : c.world.users_of(key_of(id))) {
    if (user != path.key() && c.world.find(user) != nullptr) {
      return refuse(
          409,
          "ConflictingUserInput",
          "Disk '" + id + "' cannot be attached as the disk is already owned by VM '" +
              c.world.find(user)->path.id() + "'.",
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

} // namespace

std::optional<reply>
check_machine_references(const context& c, const resource_path& path, std::string_view location) {
  const auto& interfaces = c.body.at({"properties", "networkProfile", "networkInterfaces"});
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
  const auto& storage = c.body.at({"properties", "storageProfile"});
  std::vector<json> disks = storage["dataDisks"].items();
  disks.push_back(storage["osDisk"]);
  for (const auto& disk : disks) {
    const bool attach = equals_ignoring_case(disk["createOption"].string_or(""), "Attach");
    auto bad = attach ? check_attached_disk(c, path, disk.at({"managedDisk", "id"}).string_or(""))
                      : check_disk_name(c, path, disk["name"].string_or(""));
    if (bad) {
      return bad;
    }
  }
  return std::nullopt;
}

} // namespace siteagent::azure_emulator
