// SPDX-License-Identifier: MIT
// Service and course accounts of projects, and limits of single users.
#include "accounts.hpp"

#include "core/base/decimal.hpp"
#include "events.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

bool may_manage(const context& c, const project_account& a) {
  const project* p = c.data.projects.find(a.project);
  return p != nullptr && consumes(c.who, *p);
}

std::string project_in(const context& c) {
  const std::string text = optional_text(c, "project");
  const std::string linked = uuid_of_link(text, {"projects"});
  return linked.empty() ? hex_or_empty(text) : linked;
}

reply create_account(context& c, std::string_view kind) {
  project_account a;
  a.uuid = random_uuid();
  a.kind = kind;
  a.project = project_in(c);
  if (c.data.projects.find(a.project) == nullptr) {
    return bad_field("project", "Object does not exist.");
  }
  if (!may_manage(c, a)) {
    return forbidden();
  }
  a.email = optional_text(c, "email");
  a.username = optional_text(c, "username");
  if (a.username.empty()) {
    a.username = (kind == "service_account" ? "svc_" : "course_") + a.uuid.substr(0, 8);
  }
  a.state = "OK";
  a.created = c.call.now;
  const project_account& stored = c.data.accounts.add(std::move(a));
  note(c.data, stored, "create");
  return created(show_account(c, stored));
}

// Accounts are closed, not forgotten: agents look them up to take the rights away.
reply close_account(context& c, project_account& a) {
  if (!may_manage(c, a)) {
    return forbidden();
  }
  if (a.state == "Closed") {
    return wrong_state("OK, Erred");
  }
  a.state = "Closed";
  note(c.data, a, "delete");
  net::server_response gone;
  gone.status = 204;
  return gone;
}

reply handle_accounts(context& c, std::string_view kind) {
  if (c.is_list()) {
    if (c.is("POST")) {
      return create_account(c, kind);
    }
    return c.is("GET") ? list_of(
                             c,
                             select(
                                 c.data.accounts,
                                 [&](const project_account& a) {
                                   return a.kind == kind && may_manage(c, a);
                                 }
                             ),
                             show_account
                         )
                       : reply(method_not_allowed(c));
  }
  project_account* a = c.data.accounts.find(hex_or_empty(c.rest[0]));
  if (a == nullptr || a->kind != kind || !c.action().empty()) {
    return not_found();
  }
  if (c.is("DELETE")) {
    return close_account(c, *a);
  }
  return c.is("GET") ? reply(ok(trimmed(c, show_account(c, *a)))) : reply(method_not_allowed(c));
}

reply create_limit(context& c) {
  if (!c.who.is_staff) {
    return forbidden();
  }
  user_limit x;
  x.uuid = random_uuid();
  x.resource = hex_or_empty(optional_text(c, "resource"));
  x.offering_user = hex_or_empty(optional_text(c, "user"));
  x.component_type = optional_text(c, "component_type");
  x.limit = optional_text(c, "limit");
  const resource* r = c.data.resources.find(x.resource);
  const offering* o = r != nullptr ? c.data.offerings.find(r->offering) : nullptr;
  if (o == nullptr) {
    return bad_field("resource", "Object does not exist.");
  }
  if (c.data.offering_users.find(x.offering_user) == nullptr) {
    return bad_field("user", "Object does not exist.");
  }
  if (o->find_component(x.component_type) == nullptr) {
    return bad_field("component_type", "The offering has no such component.");
  }
  if (!base::decimal::parse(x.limit)) {
    return bad_field("limit", "A valid number is required.");
  }
  return created(show_user_limit(c, c.data.user_limits.add(std::move(x))));
}

} // namespace

reply list_accounts_of(const context& c, const offering& o, std::string_view kind) {
  const auto rows = select(c.data.accounts, [&](const project_account& a) {
    const auto living = c.data.living_resources(a.project);
    return a.kind == kind && std::any_of(living.begin(), living.end(), [&](const resource* r) {
             return r->offering == o.uuid;
           });
  });
  return list_of(c, rows, show_account);
}

reply handle_service_accounts(context& c) {
  return handle_accounts(c, "service_account");
}

reply handle_course_accounts(context& c) {
  return handle_accounts(c, "course_account");
}

reply handle_user_limits(context& c) {
  if (!c.is_list()) {
    return not_found();
  }
  if (c.is("POST")) {
    return create_limit(c);
  }
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  auto of_resource = uuid_filter(c, "resource_uuid");
  if (!of_resource) {
    return of_resource.error();
  }
  auto of_offering = uuid_filter(c, "offering_uuid");
  if (!of_offering) {
    return of_offering.error();
  }
  const auto rows = select(c.data.user_limits, [&](const user_limit& x) {
    const resource* r = c.data.resources.find(x.resource);
    const offering* o = r != nullptr ? c.data.offerings.find(r->offering) : nullptr;
    return o != nullptr && manages(c.who, *o, "RESOURCE.LIST") &&
           (!*of_resource || **of_resource == x.resource) &&
           (!*of_offering || **of_offering == o->uuid);
  });
  return list_of(c, rows, show_user_limit);
}

} // namespace siteagent::waldur_emulator
