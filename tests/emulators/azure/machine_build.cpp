// SPDX-License-Identifier: MIT
// The stored body of a machine, with what the platform adds to a request.
#include "crypto.hpp"
#include "machine.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

// Copies members that are there and not null.
void copy_members(const json& from, std::initializer_list<const char*> names, json& to) {
  for (const auto* name : names) {
    if (const auto& value = from[name]; !value.is_null()) {
      to.set(name, value);
    }
  }
}

json image_part(const json& reference, const image_entry* image) {
  json part;
  copy_members(
      reference,
      {"id",
       "publisher",
       "offer",
       "sku",
       "version",
       "sharedGalleryImageId",
       "communityGalleryImageId"},
      part
  );
  if (image != nullptr) {
    part.set("exactVersion", image->version);
  }
  return part;
}

json managed_part(const json& disk, std::string_view default_sku) {
  json part;
  part.set(
      "storageAccountType", disk.at({"managedDisk", "storageAccountType"}).string_or(default_sku)
  );
  if (const auto& id = disk.at({"managedDisk", "id"}); id.is_string()) {
    part.set("id", id);
  }
  return part;
}

json os_disk_part(const json& disk, const std::string& machine, const machine_offer& offer) {
  json part;
  part.set("osType", offer.is_linux ? "Linux" : "Windows");
  std::string name = disk["name"].string_or("");
  if (name.empty()) {
    name = machine + "_OsDisk_1_" + base::uuid::random().hex();
  }
  part.set("name", name);
  part.set("createOption", disk["createOption"].string_or("FromImage"));
  part.set("caching", disk["caching"].string_or("None"));
  copy_members(disk, {"writeAcceleratorEnabled", "diffDiskSettings"}, part);
  part.set("managedDisk", managed_part(disk, default_disk_sku(offer.size)));
  part.set("deleteOption", disk["deleteOption"].string_or("Detach"));
  const std::int64_t fallback = offer.image != nullptr ? offer.image->size_gib : 30;
  part.set("diskSizeGB", disk["diskSizeGB"].integer().value_or(fallback));
  return part;
}

json linux_part(const json& wanted) {
  json part;
  part.set(
      "disablePasswordAuthentication",
      wanted["disablePasswordAuthentication"].boolean().value_or(false)
  );
  if (const auto& keys = wanted.at({"ssh", "publicKeys"}); keys.size() > 0) {
    part.set("ssh", json::object({{"publicKeys", keys}}));
  }
  part.set("provisionVMAgent", wanted["provisionVMAgent"].boolean().value_or(true));
  const auto& patch = wanted["patchSettings"];
  part.set(
      "patchSettings",
      json::object(
          {{"patchMode", patch["patchMode"].string_or("ImageDefault")},
           {"assessmentMode", patch["assessmentMode"].string_or("ImageDefault")}}
      )
  );
  part.set("enableVMAgentPlatformUpdates", false);
  return part;
}

json windows_part(const json& wanted) {
  json part;
  part.set("provisionVMAgent", wanted["provisionVMAgent"].boolean().value_or(true));
  part.set("enableAutomaticUpdates", wanted["enableAutomaticUpdates"].boolean().value_or(true));
  part.set(
      "patchSettings",
      json::object({{"patchMode", "AutomaticByOS"}, {"assessmentMode", "ImageDefault"}})
  );
  part.set("enableVMAgentPlatformUpdates", true);
  return part;
}

// Never the password, never the custom data.
json os_profile_part(const json& wanted, bool is_linux) {
  json part;
  part.set("computerName", wanted["computerName"]);
  part.set("adminUsername", wanted["adminUsername"]);
  if (is_linux) {
    part.set("linuxConfiguration", linux_part(wanted["linuxConfiguration"]));
  } else {
    part.set("windowsConfiguration", windows_part(wanted["windowsConfiguration"]));
  }
  part.set("secrets", json::array());
  part.set("allowExtensionOperations", wanted["allowExtensionOperations"].boolean().value_or(true));
  part.set("requireGuestProvisionSignal", true);
  return part;
}

json interfaces_part(const json& wanted) {
  json list = json::array();
  for (const auto& interface : wanted.items()) {
    json part = json::object({{"id", interface["id"]}});
    json properties;
    copy_members(interface["properties"], {"primary", "deleteOption"}, properties);
    if (!properties.is_null()) {
      part.set("properties", properties);
    }
    list.push_back(part);
  }
  return json::object({{"networkInterfaces", list}});
}

} // namespace

std::string default_disk_sku(const size_entry* size) {
  return size != nullptr && size->premium_storage ? "Premium_LRS" : "Standard_LRS";
}

json data_disk_part(const json& disk, const std::string& machine, std::string_view default_sku) {
  json part;
  const auto lun = disk["lun"].integer().value_or(0);
  part.set("lun", lun);
  std::string name = disk["name"].string_or("");
  if (name.empty() && disk.at({"managedDisk", "id"}).is_string()) {
    const std::string id = disk.at({"managedDisk", "id"}).string_or("");
    name = id.substr(id.rfind('/') + 1);
  }
  if (name.empty()) {
    name = machine + "_disk" + std::to_string(lun + 2) + "_" + base::uuid::random().hex();
  }
  part.set("name", name);
  part.set("createOption", disk["createOption"].string_or("Empty"));
  part.set("caching", disk["caching"].string_or("None"));
  part.set("managedDisk", managed_part(disk, default_sku));
  part.set("deleteOption", disk["deleteOption"].string_or("Detach"));
  copy_members(disk, {"diskSizeGB", "writeAcceleratorEnabled"}, part);
  part.set("toBeDetached", false);
  return part;
}

json identity_part(const json& wanted, const std::string& tenant) {
  json part = wanted;
  if (base::to_lower(wanted["type"].string_or("")).find("systemassigned") != std::string::npos) {
    part.set("principalId", base::uuid::random().dashed());
    part.set("tenantId", tenant);
  }
  return part;
}

json build_machine(
    const context& c, const resource_path& path, std::string_view location, const machine_offer& o
) {
  const auto& wanted = c.body["properties"];
  const auto& storage = wanted["storageProfile"];
  json body = json::object(
      {{"name", path.name},
       {"id", path.id()},
       {"type", type_name(path.kind)},
       {"location", location}}
  );
  copy_members(c.body, {"tags", "zones", "plan", "extendedLocation"}, body);
  const std::string identity = c.body.at({"identity", "type"}).string_or("None");
  if (!equals_ignoring_case(identity, "None")) {
    body.set("identity", identity_part(c.body["identity"], c.subscription->tenant));
  }
  json properties;
  properties.set("hardwareProfile", wanted["hardwareProfile"]);
  properties.set("provisioningState", "Creating");
  properties.set("vmId", base::uuid::random().dashed());
  json disks = json::array();
  for (const auto& disk : storage["dataDisks"].items()) {
    disks.push_back(data_disk_part(disk, path.name, default_disk_sku(o.size)));
  }
  json storage_part;
  if (storage["imageReference"].is_object()) {
    storage_part.set("imageReference", image_part(storage["imageReference"], o.image));
  }
  storage_part.set("osDisk", os_disk_part(storage["osDisk"], path.name, o));
  storage_part.set("dataDisks", disks);
  copy_members(storage, {"diskControllerType"}, storage_part);
  properties.set("storageProfile", storage_part);
  if (wanted["osProfile"].is_object()) {
    properties.set("osProfile", os_profile_part(wanted["osProfile"], o.is_linux));
  }
  copy_members(wanted, {"securityProfile"}, properties);
  properties.set(
      "networkProfile", interfaces_part(wanted.at({"networkProfile", "networkInterfaces"}))
  );
  copy_members(
      wanted,
      {"diagnosticsProfile",
       "additionalCapabilities",
       "availabilitySet",
       "proximityPlacementGroup",
       "priority",
       "evictionPolicy",
       "billingProfile",
       "licenseType",
       "capacityReservation",
       "host",
       "extensionsTimeBudget",
       "scheduledEventsProfile",
       "applicationProfile"},
      properties
  );
  properties.set("timeCreated", compute_time(c.now()));
  body.set("properties", properties);
  return body;
}

std::vector<std::string> machine_references(const json& body) {
  std::vector<std::string> ids;
  const auto& properties = body["properties"];
  for (const auto& interface : properties.at({"networkProfile", "networkInterfaces"}).items()) {
    ids.push_back(interface["id"].string_or(""));
  }
  const std::string set = properties.at({"availabilitySet", "id"}).string_or("");
  if (!set.empty()) {
    ids.push_back(set);
  }
  const auto& storage = properties["storageProfile"];
  const std::string os = storage.at({"osDisk", "managedDisk", "id"}).string_or("");
  if (!os.empty()) {
    ids.push_back(os);
  }
  for (const auto& disk : storage["dataDisks"].items()) {
    const std::string id = disk.at({"managedDisk", "id"}).string_or("");
    if (!id.empty()) {
      ids.push_back(id);
    }
  }
  return ids;
}

bool refers_to(const json& machine_body, const std::string& key) {
  const auto ids = machine_references(machine_body);
  return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
    return key_of(id) == key;
  });
}

std::string secret_hash(std::string_view text) {
  return text.empty() ? std::string() : base64url(keyed_hash(text));
}

std::string
image_id(const std::string& subscription, std::string_view location, const image_entry& i) {
  return "/Subscriptions/" + subscription + "/Providers/Microsoft.Compute/Locations/" +
         std::string(location) + "/Publishers/" + i.publisher + "/ArtifactTypes/VMImage/Offers/" +
         i.offer + "/Skus/" + i.sku + "/Versions/" + i.version;
}

} // namespace siteagent::azure_emulator
