// SPDX-License-Identifier: MIT
// Offerings with their components, and plans.
#include "accounts.hpp"
#include "events.hpp"
#include "render.hpp"
#include "roles.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 4> limit_periods{"month", "quarterly", "annual", "total"};
constexpr std::array<std::string_view, 5> billing_types{"fixed", "usage", "limit", "one", "few"};

reply list_offerings(const context& c, bool provider_side) {
  auto customer = uuid_filter(c, "customer_uuid");
  if (!customer) {
    return customer.error();
  }
  const auto rows = select(c.data.offerings, [&](const offering& o) {
    return (!*customer || **customer == o.customer) &&
           (!provider_side || manages(c.who, o, "OFFERING.LIST"));
  });
  return list_of(c, rows, show_offering);
}

// Copies what the body says about a component; `type` and `billing_type` decide and are checked.
base::result<void> read_component(const context& c, component& x) {
  if (const json* billing = c.body.find("billing_type")) {
    x.billing_type = billing->string_or("");
  }
  if (std::find(billing_types.begin(), billing_types.end(), x.billing_type) ==
      billing_types.end()) {
    return bad_field("billing_type", "\"" + x.billing_type + "\" is not a valid choice.");
  }
  if (const json* type = c.body.find("type")) {
    x.type = type->string_or("");
  }
  const json& period = c.body["limit_period"];
  if (!period.is_null() &&
      std::find(limit_periods.begin(), limit_periods.end(), period.string_or("")) ==
          limit_periods.end()) {
    return bad_field("limit_period", "\"" + period.string_or("") + "\" is not a valid choice.");
  }
  for (const auto& [key, value] : c.body.members()) {
    if (key != "uuid" && key != "type" && key != "billing_type") {
      x.fields.set(key, value);
    }
  }
  return {};
}

reply create_component(context& c, offering& o) {
  for (std::string_view key : {"type", "name", "billing_type"}) {
    if (auto text = required_text(c, key); !text) {
      return text.error();
    }
  }
  if (o.find_component(c.body["type"].string_or("")) != nullptr) {
    return bad_field("type", "Component with this type already exists.");
  }
  component x;
  x.uuid = random_uuid();
  if (auto read = read_component(c, x); !read) {
    return read.error();
  }
  o.components.push_back(x);
  return created(show_component(c, x));
}

reply update_component(context& c, offering& o) {
  auto uuid = required_text(c, "uuid");
  if (!uuid) {
    return uuid.error();
  }
  const auto found = std::find_if(o.components.begin(), o.components.end(), [&](const auto& x) {
    return x.uuid == hex_or_empty(*uuid);
  });
  if (found == o.components.end()) {
    return bad_field("uuid", "Component does not exist.");
  }
  component changed = *found;
  if (auto read = read_component(c, changed); !read) {
    return read.error();
  }
  *found = changed;
  return ok(show_component(c, changed));
}

reply check_unique_backend_id(context& c, const offering& o) {
  auto id = required_text(c, "backend_id");
  if (!id) {
    return id.error();
  }
  const bool everywhere = c.body["check_all_offerings"].boolean().value_or(false);
  const auto& rows = c.data.resources.rows();
  const bool used = std::any_of(rows.begin(), rows.end(), [&](const resource& r) {
    const auto* owner = c.data.offerings.find(r.offering);
    const bool in_scope =
        r.offering == o.uuid || (everywhere && owner != nullptr && owner->customer == o.customer);
    return in_scope && r.backend_id == *id;
  });
  return ok(
      json::object({{"is_unique", !used}, {"is_valid_format", true}, {"errors", json::array()}})
  );
}

reply remove_component(context& c, offering& o) {
  auto uuid = required_text(c, "uuid");
  if (!uuid) {
    return uuid.error();
  }
  const auto gone = std::erase_if(o.components, [&](const component& x) {
    return x.uuid == hex_or_empty(*uuid);
  });
  if (gone == 0) {
    return bad_field("uuid", "Component does not exist.");
  }
  net::server_response done;
  done.status = 204;
  return done;
}

reply write_action(context& c, offering& o) {
  if (c.action() == "add_user" || c.action() == "delete_user") {
    return change_role(c, {"offering", o.uuid, "OFFERING."}, c.who.is_staff);
  }
  if (!manages(c.who, o, "OFFERING.UPDATE")) {
    return forbidden();
  }
  const std::string action = c.action();
  if (action == "create_offering_component") {
    return create_component(c, o);
  }
  if (action == "update_offering_component") {
    return update_component(c, o);
  }
  if (action == "remove_offering_component") {
    return remove_component(c, o);
  }
  if (action == "sync_resources") {
    note_resources_sync(c.data, o, c.who);
    return status_text("Resource synchronization has been requested.");
  }
  return action == "check_unique_backend_id" ? check_unique_backend_id(c, o) : reply(not_found());
}

reply read_action(context& c, const offering& o) {
  const std::string action = c.action();
  if (action == "user-attribute-config") {
    json exposed = json::array();
    for (const auto& name : o.exposed_fields) {
      exposed.push_back(name);
    }
    return ok(json::object({{"exposed_fields", exposed}}));
  }
  if (action == "list_project_service_accounts") {
    return list_accounts_of(c, o, "service_account");
  }
  return action == "list_course_accounts" ? list_accounts_of(c, o, "course_account")
                                          : reply(not_found());
}

reply handle_offerings(context& c, bool provider_side) {
  if (c.is_list()) {
    return c.is("GET") ? list_offerings(c, provider_side) : reply(method_not_allowed(c));
  }
  offering* o = c.data.offerings.find(hex_or_empty(c.rest[0]));
  if (o == nullptr || (provider_side && !manages(c.who, *o, "OFFERING.LIST"))) {
    return not_found();
  }
  if (c.action().empty()) {
    return c.is("GET") ? reply(ok(trimmed(c, show_offering(c, *o)))) : reply(method_not_allowed(c));
  }
  if (!provider_side) {
    return not_found();
  }
  if (c.is("GET")) {
    return read_action(c, *o);
  }
  return c.is("POST") ? write_action(c, *o) : reply(method_not_allowed(c));
}

} // namespace

reply handle_provider_offerings(context& c) {
  return handle_offerings(c, true);
}

reply handle_public_offerings(context& c) {
  return handle_offerings(c, false);
}

reply handle_plans(context& c) {
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  if (c.is_list()) {
    auto of = uuid_filter(c, "offering_uuid");
    if (!of) {
      return of.error();
    }
    return list_of(
        c,
        select(c.data.plans, [&](const plan& p) { return !*of || **of == p.offering; }),
        show_plan
    );
  }
  const plan* p = c.data.plans.find(hex_or_empty(c.rest[0]));
  return p != nullptr && c.action().empty() ? reply(ok(trimmed(c, show_plan(c, *p))))
                                            : reply(not_found());
}

} // namespace siteagent::waldur_emulator
