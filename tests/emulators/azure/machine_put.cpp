// SPDX-License-Identifier: MIT
// Creating and updating machines.
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

reply answer_with(context& c, resource& r, int status) {
  reply answer = json_reply(status, render(c.world, r));
  answer.headers.emplace_back("ETag", "\"" + std::to_string(r.machine.version) + "\"");
  return answer;
}

void remember_secrets(const context& c, resource& r) {
  const auto& profile = c.body.at({"properties", "osProfile"});
  r.machine.custom_data_hash = secret_hash(profile["customData"].string_or(""));
  r.machine.password_hash = secret_hash(profile["adminPassword"].string_or(""));
  r.machine.user_data = c.body.at({"properties", "userData"}).string_or("");
}

// Starts the operation that makes the machine; sizes out of capacity fail there, not before.
reply start_create(context& c, resource& r, int status) {
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
  if (!op.planned && c.world.offer.is_restricted(size, r.location, true)) {
    op.planned = operation_status::failed;
    op.error_code = "AllocationFailed";
  }
  reply answer = answer_with(c, r, status);
  add_monitor_headers(c, op, monitors::async, answer);
  return answer;
}

reply create(context& c, const resource_path& path, const std::string& location) {
  machine_offer offer;
  auto bad = check_known_members(c.body);
  if (!bad) {
    bad = check_machine_shape(c.body);
  }
  if (!bad) {
    bad = check_machine_offer(c, location, offer);
  }
  const auto& properties = c.body["properties"];
  const bool has_profile = properties["osProfile"].is_object();
  if (!bad && has_profile) {
    bad = check_os_profile(properties["osProfile"], offer.is_linux);
  }
  if (!bad) {
    bad = check_user_data(properties);
  }
  if (!bad) {
    bad = check_machine_references(c, path, location);
  }
  if (!bad) {
    bad = check_cores(c, *offer.size, location, offer.size->cores);
  }
  if (!bad) {
    bad = check_restriction(c, *offer.size, location);
  }
  if (bad) {
    return *bad;
  }
  resource r;
  r.path = path;
  r.location = location;
  r.body = build_machine(c, path, location, offer);
  r.created = c.now();
  r.changed = c.now();
  r.machine.generation = offer.image != nullptr ? offer.image->generation : "V2";
  r.uses = machine_references(r.body);
  remember_secrets(c, r);
  return start_create(c, c.world.put(std::move(r)), 201);
}

reply not_changeable(std::string_view property) {
  return error_reply(
      409,
      {"PropertyChangeNotAllowed",
       "Changing property '" + std::string(property) + "' is not allowed.",
       std::string(property)}
  );
}

bool same_text(const json& a, const json& b) {
  return a.is_null() ||
         (a.is_string() && b.is_string() && equals_ignoring_case(a.string_or(""), b.string_or("")));
}

// Properties that a machine keeps for life; what the request omits stays.
std::optional<reply> check_immutable(const context& c, const resource& existing) {
  const auto& wanted = c.body["properties"];
  const auto& stored = existing.body["properties"];

  struct row {
    std::string_view name;
    std::initializer_list<std::string_view> path;
  };

  const row texts[] = {
      {"osProfile.computerName", {"osProfile", "computerName"}},
      {"osProfile.adminUsername", {"osProfile", "adminUsername"}},
      {"imageReference.publisher", {"storageProfile", "imageReference", "publisher"}},
      {"imageReference.offer", {"storageProfile", "imageReference", "offer"}},
      {"imageReference.sku", {"storageProfile", "imageReference", "sku"}},
      {"imageReference.version", {"storageProfile", "imageReference", "version"}},
      {"osDisk.name", {"storageProfile", "osDisk", "name"}},
      {"osDisk.createOption", {"storageProfile", "osDisk", "createOption"}},
      {"osDisk.osType", {"storageProfile", "osDisk", "osType"}},
      {"priority", {"priority"}},
      {"availabilitySet", {"availabilitySet", "id"}},
  };
  for (const auto& row : texts) {
    if (!same_text(wanted.at(row.path), stored.at(row.path))) {
      return not_changeable(row.name);
    }
  }
  const auto& zones = c.body["zones"];
  const auto& plan = c.body["plan"];
  if (!zones.is_null() && !(zones == existing.body["zones"])) {
    return not_changeable("zones");
  }
  if (!plan.is_null() && !(plan == existing.body["plan"])) {
    return not_changeable("plan");
  }
  const auto& linux_part = wanted.at({"osProfile", "linuxConfiguration"});
  const auto& stored_linux = stored.at({"osProfile", "linuxConfiguration"});
  const auto& keys = linux_part.at({"ssh", "publicKeys"});
  if (!keys.is_null() && !(keys == stored_linux.at({"ssh", "publicKeys"}))) {
    return not_changeable("linuxConfiguration.ssh.publicKeys");
  }
  const auto flag = linux_part["disablePasswordAuthentication"].boolean();
  if (flag && flag != stored_linux["disablePasswordAuthentication"].boolean()) {
    return not_changeable("linuxConfiguration.disablePasswordAuthentication");
  }
  const std::string data = wanted.at({"osProfile", "customData"}).string_or("");
  if (!data.empty() && secret_hash(data) != existing.machine.custom_data_hash) {
    return not_changeable("osProfile.customData");
  }
  const std::string password = wanted.at({"osProfile", "adminPassword"}).string_or("");
  if (!password.empty() && secret_hash(password) != existing.machine.password_hash) {
    return not_changeable("osProfile.adminPassword");
  }
  return std::nullopt;
}

std::optional<reply> change_size(context& c, const resource& existing, json& properties) {
  const std::string wanted = c.body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  const std::string current = properties.at({"hardwareProfile", "vmSize"}).string_or("");
  if (wanted.empty() || equals_ignoring_case(wanted, current)) {
    return std::nullopt;
  }
  const auto* size = c.world.offer.find_size(wanted, existing.location);
  if (size == nullptr) {
    return error_reply(
        400,
        {"InvalidParameter",
         "The requested VM size " + wanted + " is not available in the current region.",
         "vmSize"}
    );
  }
  const auto* old = c.world.offer.find_size(current, existing.location);
  const bool same_family = old != nullptr && old->family == size->family;
  const std::int64_t more = size->cores - (same_family ? old->cores : 0);
  auto bad = check_cores(c, *size, existing.location, more);
  if (!bad) {
    bad = check_restriction(c, *size, existing.location);
  }
  if (!bad) {
    properties.member_ref("hardwareProfile").set("vmSize", wanted);
  }
  return bad;
}

std::optional<reply> change_interfaces(
    context& c, const resource& existing, const resource_path& path, json& properties
) {
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
             path.name + ". Deallocate it first."}
    );
  }
  if (!same) {
    if (auto bad = check_machine_references(c, path, existing.location)) {
      return bad;
    }
  }
  properties.member_ref("networkProfile").set("networkInterfaces", list);
  return std::nullopt;
}

// Attaching and detaching data disks later is not emulated: said, not ignored.
std::optional<reply> refuse_disk_changes(const context& c, const resource& existing) {
  const auto& wanted = c.body.at({"properties", "storageProfile", "dataDisks"});
  const auto& stored = existing.body.at({"properties", "storageProfile", "dataDisks"});
  bool same = !wanted.is_array() || wanted.size() == stored.size();
  for (std::size_t i = 0; same && i < wanted.size(); ++i) {
    same = wanted[i]["lun"].integer() == stored[i]["lun"].integer() &&
           same_text(wanted[i]["name"], stored[i]["name"]);
  }
  if (same) {
    return std::nullopt;
  }
  return error_reply(
      400,
      {"NotSupportedByEmulator",
       "Changing the data disks of an existing machine is not emulated.",
       "dataDisks"}
  );
}

// What may change at any time.
void change_simple(const context& c, bool is_patch, json& body) {
  const auto& wanted = c.body["properties"];
  if (c.body["tags"].is_object()) {
    body.set("tags", c.body["tags"]);
  } else if (!is_patch) {
    body.erase("tags");
  }
  auto& properties = body.member_ref("properties");
  for (const auto* key : {"diagnosticsProfile", "licenseType", "additionalCapabilities"}) {
    if (const auto& value = wanted[key]; !value.is_null()) {
      properties.set(key, value);
    }
  }
  const auto& disk = wanted.at({"storageProfile", "osDisk"});
  auto& stored_disk = properties.member_ref("storageProfile").member_ref("osDisk");
  for (const auto* key : {"deleteOption", "diskSizeGB", "caching"}) {
    if (const auto& value = disk[key]; !value.is_null()) {
      stored_disk.set(key, value);
    }
  }
}

reply update(context& c, resource& existing, const resource_path& path, bool is_patch) {
  auto bad = check_immutable(c, existing);
  if (!bad) {
    bad = refuse_disk_changes(c, existing);
  }
  if (!bad) {
    bad = check_user_data(c.body["properties"]);
  }
  if (!bad) {
    bad = refuse_if_locked(c, existing);
  }
  json body = existing.body;
  if (!bad) {
    bad = change_size(c, existing, body.member_ref("properties"));
  }
  if (!bad) {
    bad = change_interfaces(c, existing, path, body.member_ref("properties"));
  }
  if (bad) {
    return *bad;
  }
  change_simple(c, is_patch, body);
  if (const auto& data = c.body.at({"properties", "userData"}); data.is_string()) {
    existing.machine.user_data = data.string_or("");
  }
  // A create that failed is tried again by the same PUT.
  const bool was_never_made =
      existing.state == provisioning::failed && existing.machine.power == power::none;
  const bool changes = !(body == existing.body);
  existing.body = std::move(body);
  existing.path = path;
  existing.body.set("name", path.name);
  existing.body.set("id", path.id());
  existing.changed = c.now();
  c.world.set_uses(existing, machine_references(existing.body));
  c.world.touch_etag(existing);
  if (was_never_made && !is_patch) {
    return start_create(c, existing, 200);
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

} // namespace

reply put_machine(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  if (auto bad = check_preconditions(c, existing)) {
    return *bad;
  }
  if (existing == nullptr) {
    return create(c, path, normalized_location(c.body["location"].string_or("")));
  }
  if (auto bad = check_known_members(c.body)) {
    return *bad;
  }
  return update(c, *existing, path, false);
}

reply patch_machine(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  if (existing == nullptr) {
    return resource_not_found(path);
  }
  if (auto bad = check_tags(c.body)) {
    return *bad;
  }
  if (auto bad = check_preconditions(c, existing)) {
    return *bad;
  }
  return update(c, *existing, existing->path, true);
}

} // namespace siteagent::azure_emulator
