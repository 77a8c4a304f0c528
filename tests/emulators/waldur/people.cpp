// SPDX-License-Identifier: MIT
// Users, customers, projects, service providers and their keys; the server's version.
#include "events.hpp"
#include "members.hpp"
#include "render.hpp"
#include "roles.hpp"
#include "routes.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

bool provides_anything_of(const context& c, std::string_view customer_uuid) {
  const auto& rows = c.data.offerings.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const offering& o) {
    return o.customer == customer_uuid && manages(c.who, o, "OFFERING.LIST");
  });
}

bool provides_anything(const context& c) {
  const auto& rows = c.data.offerings.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const offering& o) {
    return manages(c.who, o, "OFFERING.LIST");
  });
}

// What changed is told to every offering where the user has an account and that is shown it.
reply update_profile(context& c, user& u) {
  json changed = json::array();
  for (const auto& [key, value] : c.body.members()) {
    if (key == "username" || key == "token" || key == "is_staff" || attribute_of(u, key) == value) {
      continue;
    }
    if (key == "full_name") {
      u.full_name = value.string_or("");
    } else if (key == "email") {
      u.email = value.string_or("");
    } else {
      u.profile.set(key, value);
    }
    changed.push_back(key);
  }
  for (const auto& x : c.data.offering_users.rows()) {
    const offering* o = c.data.offerings.find(x.offering);
    json shown = json::array();
    for (const json& key : changed.items()) {
      const std::string name = key.string_or("");
      if (o != nullptr && std::find(o->exposed_fields.begin(), o->exposed_fields.end(), name) !=
                              o->exposed_fields.end()) {
        shown.push_back(name);
      }
    }
    if (x.user == u.uuid && shown.size() > 0) {
      note(c.data, x, "attribute_update", json::object({{"changed_attributes", shown}}));
    }
  }
  return ok(show_user(c, u));
}

reply project_action(context& c, const project& p) {
  const std::string action = c.action();
  if (action == "add_user" || action == "delete_user") {
    const bool owns = std::any_of(c.who.grants.begin(), c.who.grants.end(), [&](const grant& g) {
      return g.role == "CUSTOMER.OWNER" && g.scope_uuid == p.customer;
    });
    return change_role(c, {"project", p.uuid, "PROJECT."}, c.who.is_staff || owns);
  }
  if (action != "sync_user_roles") {
    return not_found();
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  note_members(c.data, p, nullptr);
  return status_text("User roles synchronization has been requested.");
}

// A provider sees the projects of his consumers, which for an emulator are all.
bool sees(const context& c, const project& p) {
  return consumes(c.who, p) || provides_anything(c);
}

} // namespace

reply handle_version(context& c) {
  if (!c.rest.empty()) {
    return not_found();
  }
  return c.is("GET") ? reply(ok(json::object({{"version", c.data.version}})))
                     : reply(method_not_allowed(c));
}

reply handle_users(context& c) {
  if (c.is_list() && !c.is("GET")) {
    return method_not_allowed(c);
  }
  if (c.is_list()) {
    return list_of(
        c,
        select(c.data.users, [&](const user& u) { return c.who.is_staff || u.uuid == c.who.uuid; }),
        show_user
    );
  }
  const std::string uuid = c.rest[0] == "me" ? c.who.uuid : hex_or_empty(c.rest[0]);
  user* u = c.data.users.find(uuid);
  if (u == nullptr || !(c.who.is_staff || u->uuid == c.who.uuid) || !c.action().empty()) {
    return not_found();
  }
  if (c.is("PATCH")) {
    return update_profile(c, *u);
  }
  return c.is("GET") ? reply(ok(trimmed(c, show_user(c, *u)))) : reply(method_not_allowed(c));
}

reply handle_customers(context& c) {
  if (!c.is_list() && (c.action() == "add_user" || c.action() == "delete_user")) {
    const customer* of = c.data.customers.find(hex_or_empty(c.rest[0]));
    return of != nullptr ? change_role(c, {"customer", of->uuid, "CUSTOMER."}, c.who.is_staff)
                         : reply(not_found());
  }
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  const bool all = c.who.is_staff || provides_anything(c);
  const auto visible = select(c.data.customers, [&](const customer&) { return all; });
  if (c.is_list()) {
    return list_of(c, visible, show_customer);
  }
  const customer* x = c.data.customers.find(hex_or_empty(c.rest[0]));
  return x != nullptr && all && c.action().empty() ? reply(ok(trimmed(c, show_customer(c, *x))))
                                                   : reply(not_found());
}

reply handle_projects(context& c) {
  if (c.is_list()) {
    if (!c.is("GET")) {
      return method_not_allowed(c);
    }
    const auto slugs = values_of(c, "slug");
    const auto rows = select(c.data.projects, [&](const project& p) {
      return (slugs.empty() || slugs.back() == p.slug) && sees(c, p);
    });
    return list_of(c, rows, show_project);
  }
  const project* p = c.data.projects.find(hex_or_empty(c.rest[0]));
  if (p == nullptr || !sees(c, *p)) {
    return not_found();
  }
  if (!c.action().empty()) {
    return project_action(c, *p);
  }
  return c.is("GET") ? reply(ok(trimmed(c, show_project(c, *p)))) : reply(method_not_allowed(c));
}

reply handle_service_providers(context& c) {
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  if (c.is_list()) {
    auto customer = uuid_filter(c, "customer_uuid");
    if (!customer) {
      return customer.error();
    }
    const auto rows = select(c.data.providers, [&](const service_provider& p) {
      return !*customer || **customer == p.customer;
    });
    return list_of(c, rows, show_provider);
  }
  const service_provider* p = c.data.providers.find(hex_or_empty(c.rest[0]));
  if (p == nullptr) {
    return not_found();
  }
  const std::string action = c.action();
  if (action.empty()) {
    return ok(trimmed(c, show_provider(c, *p)));
  }
  if (!provides_anything_of(c, p->customer) && !c.who.is_staff) {
    return forbidden();
  }
  if (action == "keys") {
    return list_of(c, select(c.data.keys, [](const ssh_key&) { return true; }), show_key);
  }
  if (action == "projects") {
    const std::string query = hex_or_empty(c.request.parameter("query"));
    return list_of(
        c,
        select(c.data.projects, [&](const project& x) { return query.empty() || x.uuid == query; }),
        show_project
    );
  }
  return not_found();
}

} // namespace siteagent::waldur_emulator
