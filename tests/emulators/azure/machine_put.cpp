// SPDX-License-Identifier: MIT
// Creating machines.
#include "handlers.hpp"
#include "machine.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::json;

namespace {

void remember_secrets(const context& c, resource& r) {
  const auto& profile = c.body.at({"properties", "osProfile"});
  r.machine.custom_data = profile["customData"].string_or("");
  r.machine.custom_data_hash = secret_hash(r.machine.custom_data);
  r.machine.password_hash = secret_hash(profile["adminPassword"].string_or(""));
  r.machine.user_data = c.body.at({"properties", "userData"}).string_or("");
}

std::optional<reply>
check_create(const context& c, const resource_path& path, machine_offer& offer) {
  const std::string location = normalized_location(c.body["location"].string_or(""));
  const auto& properties = c.body["properties"];
  auto bad = check_known_members(c.body);
  if (!bad) {
    bad = check_machine_shape(c.body);
  }
  if (!bad) {
    bad = find_machine_size(c.world, c.body, location, offer);
  }
  if (!bad) {
    bad = check_machine_image(c, location, offer);
  }
  if (!bad) {
    bad = check_machine_fit(c, c.body, location, offer);
  }
  if (!bad && properties["osProfile"].is_object()) {
    bad = check_os_profile(properties["osProfile"], offer.is_linux);
  }
  if (!bad) {
    bad = check_user_data(properties);
  }
  if (!bad) {
    bad = check_machine_references(c, path, c.body, location);
  }
  if (!bad) {
    bad = check_cores(c, *offer.size, location, offer.size->cores, is_spot(c.body));
  }
  return bad ? bad : check_restriction(c, *offer.size, location, c.body["zones"][0].string_or(""));
}

reply create(context& c, const resource_path& path, const std::string& location) {
  machine_offer offer;
  if (auto bad = check_create(c, path, offer)) {
    return *bad;
  }
  if (c.body.at({"properties", "networkProfile", "networkInterfaceConfigurations"}).size() > 0) {
    json interfaces;
    if (auto bad = make_configured_interfaces(c, path, location, interfaces)) {
      return *bad;
    }
    c.body.member_ref("properties")
        .member_ref("networkProfile")
        .set("networkInterfaces", interfaces);
  }
  resource r;
  r.path = path;
  r.location = location;
  r.body = build_machine(c, path, location, offer);
  r.created = c.now();
  r.changed = c.now();
  r.machine.generation = offer.image != nullptr ? offer.image->generation : "V2";
  r.unseen_reads = c.world.quotas_checked ? c.world.behaviour.missing_first_reads : 0;
  r.uses = machine_references(r.body);
  remember_secrets(c, r);
  return start_machine(c, c.world.put(std::move(r)), 201);
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
  return update_machine(c, *existing, path, false);
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
  if (auto bad = check_known_members(c.body)) {
    return *bad;
  }
  return update_machine(c, *existing, existing->path, true);
}

} // namespace siteagent::azure_emulator
