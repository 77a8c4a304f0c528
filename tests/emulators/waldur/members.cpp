// SPDX-License-Identifier: MIT
// Accounts of users with offerings.
#include "members.hpp"

#include "events.hpp"

#include <algorithm>
#include <vector>

namespace siteagent::waldur_emulator {

namespace {

bool is_one_of(std::string_view state, std::initializer_list<std::string_view> states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

// What the offering's policy calls a user; "" = the provider does.
std::string generated_username(const store& s, const offering& o, const user& u) {
  const std::string policy =
      o.plugin_options["username_generation_policy"].string_or("service_provider");
  if (policy == "waldur_username" || policy == "identity_claim") {
    return u.username;
  }
  if (policy == "anonymized") {
    const std::string prefix =
        o.plugin_options["username_anonymized_prefix"].string_or("walduruser_");
    const std::string number = std::to_string(s.offering_users.rows().size());
    return prefix + std::string(5 - std::min<std::size_t>(5, number.size()), '0') + number;
  }
  if (policy == "full_name") {
    std::string name = slugify(u.full_name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  return {};
}

} // namespace

json attribute_of(const user& u, std::string_view name) {
  if (name == "username") {
    return u.username;
  }
  if (name == "full_name") {
    return u.full_name;
  }
  if (name == "email") {
    return u.email;
  }
  return u.profile[name];
}

json exposed_attributes(const store& s, const user& u, std::string_view offering_uuid) {
  json shown = json::object();
  if (const offering* o = s.offerings.find(offering_uuid)) {
    for (const auto& name : o->exposed_fields) {
      shown.set(name, attribute_of(u, name));
    }
  }
  return shown;
}

const offering_user*
find_offering_user(const store& s, std::string_view offering_uuid, std::string_view user_uuid) {
  for (const auto& x : s.offering_users.rows()) {
    if (x.offering == offering_uuid && x.user == user_uuid) {
      return &x;
    }
  }
  return nullptr;
}

void set_state(store& s, offering_user& u, std::string_view state, base::wall_time now) {
  u.state = state;
  u.modified = now;
  note(s, u, "update", json::object({{"changed_fields", json::array({"state"})}}));
}

void set_username(store& s, offering_user& u, const std::string& username, base::wall_time now) {
  if (u.username == username) {
    return;
  }
  u.username = username;
  u.modified = now;
  const bool on_its_way = is_one_of(
      u.state,
      {"Requested",
       "Creating",
       "Pending account linking",
       "Pending additional validation",
       "Error creating"}
  );
  if (on_its_way && !username.empty()) {
    u.state = "OK";
  }
  note(s, u, "username_set");
}

void make_offering_users(store& s, const resource& r, base::wall_time now) {
  const offering* o = s.offerings.find(r.offering);
  if (o == nullptr ||
      !o->plugin_options["service_provider_can_create_offering_user"].boolean().value_or(false)) {
    return;
  }
  for (const auto& u : s.users.rows()) {
    if (role_in(u, r.project).empty()) {
      continue;
    }
    if (const offering_user* known = find_offering_user(s, o->uuid, u.uuid)) {
      if (known->state != "Deleted") {
        continue;
      }
    }
    offering_user x;
    const offering_user* gone = find_offering_user(s, o->uuid, u.uuid);
    x.uuid = gone != nullptr ? gone->uuid : random_uuid();
    x.offering = o->uuid;
    x.user = u.uuid;
    x.username = generated_username(s, *o, u);
    x.state = x.username.empty() ? "Requested" : "OK";
    x.created = now;
    x.modified = now;
    note(s, s.offering_users.add(std::move(x)), "create");
  }
}

void retire_offering_users(store& s, const user& u, base::wall_time now) {
  for (auto& x : s.offering_users.rows()) {
    const bool still_there =
        std::any_of(s.resources.rows().begin(), s.resources.rows().end(), [&](const resource& r) {
          return r.offering == x.offering && r.state != "Terminated" &&
                 !role_in(u, r.project).empty();
        });
    if (x.user != u.uuid || still_there) {
      continue;
    }
    if (x.state == "Requested") {
      set_state(s, x, "Deleted", now);
    } else if (!is_one_of(
                   x.state, {"Requested deletion", "Deleting", "Deleted", "Error deleting"}
               )) {
      set_state(s, x, "Requested deletion", now);
    }
  }
}

} // namespace siteagent::waldur_emulator
