// SPDX-License-Identifier: MIT
// Users, customers, projects, service providers and their keys; the server's version.
#include "render.hpp"
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
  if (!c.is("GET")) {
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
  const user* u = c.data.users.find(uuid);
  const bool visible = u != nullptr && (c.who.is_staff || u->uuid == c.who.uuid);
  return visible && c.action().empty() ? reply(ok(trimmed(c, show_user(c, *u))))
                                       : reply(not_found());
}

reply handle_customers(context& c) {
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
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  if (c.is_list()) {
    const auto slugs = values_of(c, "slug");
    const auto rows = select(c.data.projects, [&](const project& p) {
      return (slugs.empty() || slugs.back() == p.slug) && sees(c, p);
    });
    return list_of(c, rows, show_project);
  }
  const project* p = c.data.projects.find(hex_or_empty(c.rest[0]));
  return p != nullptr && sees(c, *p) && c.action().empty()
             ? reply(ok(trimmed(c, show_project(c, *p))))
             : reply(not_found());
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

reply handle_empty(context& c) {
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  return list_of(c, std::vector<const user*>(), show_user);
}

} // namespace siteagent::waldur_emulator
