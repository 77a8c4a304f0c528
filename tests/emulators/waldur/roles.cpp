// SPDX-License-Identifier: MIT
// Roles of users in projects, customers and offerings: given and taken by a portal.
#include "roles.hpp"

#include "events.hpp"
#include "members.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

struct role_change {
  user* whom = nullptr;
  std::string role;
};

base::result<role_change> read_change(const context& c) {
  auto role = required_text(c, "role");
  if (!role) {
    return role.error();
  }
  auto whom = required_text(c, "user");
  if (!whom) {
    return whom.error();
  }
  const std::string linked = uuid_of_link(*whom, {"users"});
  role_change change{
      c.data.users.find(linked.empty() ? hex_or_empty(*whom) : linked), *std::move(role)};
  if (change.whom == nullptr) {
    return bad_field("user", "Object does not exist.");
  }
  return change;
}

bool is_same(const grant& g, const role_scope& where, std::string_view role) {
  return g.scope == where.kind && g.scope_uuid == where.uuid && g.role == role;
}

void tell(context& c, const role_change& change, const role_scope& where, bool granted) {
  const project* p = where.kind == "project" ? c.data.projects.find(where.uuid) : nullptr;
  if (p == nullptr) {
    return;
  }
  note_role(c.data, *change.whom, *p, change.role, granted);
  if (!granted) {
    retire_offering_users(c.data, *change.whom, c.call.now);
    return;
  }
  for (const resource* r : c.data.living_resources(p->uuid)) {
    make_offering_users(c.data, *r, c.call.now);
  }
}

reply add_user(context& c, const role_change& change, const role_scope& where) {
  auto& grants = change.whom->grants;
  const bool has_it = std::any_of(grants.begin(), grants.end(), [&](const grant& g) {
    return is_same(g, where, change.role);
  });
  if (has_it) {
    return bad_request("User already has the same role in this scope.");
  }
  grants.push_back({change.role, std::string(where.kind), where.uuid});
  tell(c, change, where, true);
  return created(json::object({{"expiration_time", nullptr}}));
}

reply delete_user(context& c, const role_change& change, const role_scope& where) {
  const auto taken = std::erase_if(change.whom->grants, [&](const grant& g) {
    return is_same(g, where, change.role);
  });
  if (taken == 0) {
    return bad_request("User has no role in this scope.");
  }
  tell(c, change, where, false);
  return ok(json());
}

} // namespace

reply change_role(context& c, const role_scope& where, bool may) {
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (!may) {
    return forbidden();
  }
  auto change = read_change(c);
  if (!change) {
    return change.error();
  }
  if (!change->role.starts_with(where.role_prefix)) {
    return bad_field("role", "Role is not valid for this scope.");
  }
  return c.action() == "add_user" ? add_user(c, *change, where) : delete_user(c, *change, where);
}

} // namespace siteagent::waldur_emulator
