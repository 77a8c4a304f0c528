// SPDX-License-Identifier: MIT
// /api/marketplace-provider-resources/ and /api/marketplace-resources/: the same objects as the
// provider and as the consumer sees them.
#include "events.hpp"
#include "limits.hpp"
#include "members.hpp"
#include "render.hpp"
#include "resource_orders.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 6> states{
    "Creating", "OK", "Erred", "Updating", "Terminating", "Terminated"};
constexpr std::size_t longest_backend_id = 255;

bool provides(const context& c, const resource& r, std::string_view permission) {
  const auto* o = c.data.offerings.find(r.offering);
  return o != nullptr && manages(c.who, *o, permission);
}

bool sees(const context& c, const resource& r, bool provider_side) {
  const auto* p = c.data.projects.find(r.project);
  return provides(c, r, "RESOURCE.LIST") || (!provider_side && p != nullptr && consumes(c.who, *p));
}

bool among(const std::vector<std::string>& wanted, std::string_view value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

reply list_resources(const context& c, bool provider_side) {
  const auto wanted = values_of(c, "state");
  for (const auto& state : wanted) {
    if (std::find(states.begin(), states.end(), state) == states.end()) {
      return bad_field(
          "state", "Select a valid choice. " + state + " is not one of the available choices."
      );
    }
  }
  const auto names = values_of(c, "name_exact");
  const auto backend_ids = values_of(c, "backend_id");
  std::optional<std::string> offering;
  std::optional<std::string> project;
  std::optional<std::string> customer;
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 3> filters{
      {{"offering_uuid", &offering}, {"project_uuid", &project}, {"customer_uuid", &customer}}};
  for (const auto& [key, target] : filters) {
    auto value = uuid_filter(c, key);
    if (!value) {
      return value.error();
    }
    *target = *std::move(value);
  }
  const auto rows = select(c.data.resources, [&](const resource& r) {
    const auto* p = c.data.projects.find(r.project);
    return among(wanted, r.state) && among(names, r.name) && among(backend_ids, r.backend_id) &&
           (!offering || *offering == r.offering) && (!project || *project == r.project) &&
           (!customer || (p != nullptr && *customer == p->customer)) && sees(c, r, provider_side);
  });
  return list_of(c, rows, show_resource);
}

reply set_backend_id(context& c, resource& r) {
  auto id = required_text(c, "backend_id");
  if (!id) {
    return id.error();
  }
  if (id->size() > longest_backend_id) {
    return bad_field("backend_id", "Ensure this field has no more than 255 characters.");
  }
  const bool changed = r.backend_id != *id;
  r.backend_id = *id;
  r.modified = c.call.now;
  return status_text(
      changed ? "Resource backend_id has been changed." : "Resource backend_id is not changed."
  );
}

reply set_backend_metadata(context& c, resource& r) {
  const json* value = c.body.find("backend_metadata");
  if (value == nullptr) {
    return bad_field("backend_metadata", "This field is required.");
  }
  if (!value->is_object()) {
    return bad_field("backend_metadata", "Expected a dictionary of items.");
  }
  r.backend_metadata = *value;
  r.modified = c.call.now;
  return status_text("Resource backend metadata has been updated.");
}

reply set_limits(context& c, resource& r) {
  if (!c.body["limits"].is_object()) {
    return bad_field("limits", "This field is required.");
  }
  auto limits = checked_limits(*c.data.offerings.find(r.offering), c.body["limits"], false);
  if (!limits) {
    return limits.error();
  }
  const bool changed = !(r.limits == *limits);
  r.limits = *std::move(limits);
  r.modified = c.call.now;
  if (changed) {
    note(c.data, r);
  }
  return status_text("Resource limits have been updated.");
}

reply set_endpoints(context& c, resource& r) {
  const json& given = c.body["endpoints"];
  if (!given.is_array()) {
    return bad_field("endpoints", "This field is required.");
  }
  json endpoints = json::array();
  for (const json& e : given.items()) {
    const std::string name = e["name"].string_or("");
    const std::string url = e["url"].string_or("");
    if (name.empty() || url.find("://") == std::string::npos) {
      return bad_field("endpoints", "Each endpoint needs a name and a URL.");
    }
    endpoints.push_back(json::object({{"uuid", random_uuid()}, {"name", name}, {"url", url}}));
  }
  r.endpoints = std::move(endpoints);
  r.modified = c.call.now;
  return status_text("Endpoints have been set.");
}

void set_state(context& c, resource& r, std::string_view state) {
  r.modified = c.call.now;
  if (r.state != state) {
    r.state = state;
    note(c.data, r);
  }
}

reply set_as_erred(context& c, resource& r) {
  set_state(c, r, "Erred");
  r.error_message = optional_text(c, "error_message");
  r.error_traceback = optional_text(c, "error_traceback");
  return status_text("Resource is set as erred.");
}

reply set_as_ok(context& c, resource& r) {
  set_state(c, r, "OK");
  r.error_message.clear();
  r.error_traceback.clear();
  return status_text("Resource is set as OK.");
}

// One member of a team.
struct member {
  const user* who = nullptr;
  std::string role;
  const offering_user* account = nullptr;
};

json show_member(const context& c, const member& m) {
  const user& u = *m.who;
  return json::object(
      {{"url", c.url("users", u.uuid)},
       {"uuid", u.uuid},
       {"username", u.username},
       {"full_name", u.full_name},
       {"email", u.email},
       {"role", m.role},
       {"expiration_time", nullptr},
       {"offering_user_username", m.account ? json(m.account->username) : json()},
       {"offering_user_state", m.account ? json(m.account->state) : json()}}
  );
}

bool consents(const user& u, const std::string& offering_uuid) {
  return !u.consents ||
         std::find(u.consents->begin(), u.consents->end(), offering_uuid) != u.consents->end();
}

reply team_of(const context& c, const resource& r) {
  const bool only_consenting = c.request.parameter("has_consent") == "true";
  std::vector<member> team;
  for (const auto& u : c.data.users.rows()) {
    const std::string role = role_in(u, r.project);
    if (!role.empty() && (!only_consenting || consents(u, r.offering))) {
      team.push_back({&u, role, find_offering_user(c.data, r.offering, u.uuid)});
    }
  }
  std::vector<const member*> rows;
  for (const auto& m : team) {
    rows.push_back(&m);
  }
  return list_of(c, rows, show_member);
}

reply set_flag(context& c, resource& r, std::string_view key, bool& flag) {
  if (!c.who.is_staff) {
    return forbidden();
  }
  const auto value = c.body[key].boolean();
  if (!value) {
    return bad_field(key, "Must be a valid boolean.");
  }
  const bool changed = flag != *value;
  flag = *value;
  r.modified = c.call.now;
  if (changed) {
    note(c.data, r);
  }
  return status_text("Resource has been updated.");
}

constexpr std::array<std::string_view, 4> member_states{
    "synced", "pending", "missing_in_idp", "error"};

// Replaces what was reported before. Users that cannot be found are left out and told.
reply set_membership_sync_statuses(context& c, resource& r) {
  const offering* o = c.data.offerings.find(r.offering);
  if (o == nullptr ||
      !o->plugin_options["enable_membership_sync_status"].boolean().value_or(false)) {
    return refuse(
        409, json::object({{"detail", "Membership sync status is not enabled for this offering."}})
    );
  }
  if (!c.body["statuses"].is_array()) {
    return bad_field("statuses", "This field is required.");
  }
  json stored = json::array();
  json skipped = json::array();
  for (const json& given : c.body["statuses"].items()) {
    const std::string state = given["state"].string_or("");
    if (std::find(member_states.begin(), member_states.end(), state) == member_states.end()) {
      return bad_field("statuses", "\"" + state + "\" is not a valid choice.");
    }
    const auto& users = c.data.users.rows();
    const bool is_known = std::any_of(users.begin(), users.end(), [&](const user& u) {
      return u.username == given["username"].string_or("");
    });
    (is_known ? stored : skipped).push_back(given);
  }
  const auto count = stored.size();
  r.member_statuses = std::move(stored);
  return ok(json::object({{"stored", count}, {"skipped", skipped}}));
}

using provider_call = reply (*)(context&, resource&);

struct provider_action {
  std::string_view name;
  std::string_view permission;
  provider_call call;
};

constexpr std::array<provider_action, 10> provider_actions{
    {{"set_backend_id", "RESOURCE.SET_BACKEND_ID", set_backend_id},
     {"set_backend_metadata", "RESOURCE.SET_BACKEND_METADATA", set_backend_metadata},
     {"set_limits", "RESOURCE.SET_LIMITS", set_limits},
     {"set_endpoints", "RESOURCE.SET_BACKEND_METADATA", set_endpoints},
     {"set_as_erred", "RESOURCE.SET_STATE", set_as_erred},
     {"set_as_ok", "RESOURCE.SET_STATE", set_as_ok},
     {"set_membership_sync_statuses",
      "RESOURCE.SET_BACKEND_METADATA",
      set_membership_sync_statuses},
     {"sync_user_roles",
      "OFFERING.UPDATE",
      [](context& c, resource& r) -> reply {
        if (const project* p = c.data.projects.find(r.project)) {
          note_members(c.data, *p, &r);
        }
        return status_text("User roles synchronization has been requested.");
      }},
     {"refresh_last_sync",
      "RESOURCE.SET_BACKEND_METADATA",
      [](context& c, resource& r) -> reply {
        r.last_sync = c.call.now;
        return status_text("Last sync time has been updated.");
      }},
     {"set_effective_id", "RESOURCE.SET_BACKEND_ID", [](context& c, resource& r) -> reply {
        r.effective_id = optional_text(c, "effective_id");
        r.modified = c.call.now;
        return status_text("Resource effective_id has been changed.");
      }}}};

reply provider_side_action(context& c, resource& r) {
  const std::string action = c.action();
  for (const auto& known : provider_actions) {
    if (known.name == action) {
      return provides(c, r, known.permission) ? known.call(c, r) : reply(forbidden());
    }
  }
  return not_found();
}

// The resource goes from Waldur and nobody is asked to do anything about it.
reply unlink(context& c, const resource& r) {
  const std::string uuid = r.uuid;
  c.data.orders.remove_if([&](const order& o) { return o.resource == uuid; });
  c.data.orders_by_resource.erase(uuid);
  c.data.usages.remove_if([&](const component_usage& u) { return u.resource == uuid; });
  c.data.resources.remove_if([&](const resource& x) { return x.uuid == uuid; });
  net::server_response gone;
  gone.status = 204;
  return gone;
}

reply move_resource(context& c, resource& r) {
  const json& given =
      c.body["project"]["url"].is_null() ? c.body["project"] : c.body["project"]["url"];
  const project* p = c.data.projects.find(uuid_of_link(given.string_or(""), {"projects"}));
  if (p == nullptr) {
    return bad_field("project", "Invalid hyperlink - Object does not exist.");
  }
  r.project = p->uuid;
  r.modified = c.call.now;
  return ok(show_resource(c, r));
}

reply rename(context& c, resource& r) {
  const auto* p = c.data.projects.find(r.project);
  if (p == nullptr || !consumes(c.who, *p)) {
    return forbidden();
  }
  const std::string name = optional_text(c, "name");
  if (!name.empty()) {
    r.name = name;
  }
  if (c.body.find("end_date") != nullptr) {
    r.end_date = optional_text(c, "end_date");
  }
  r.modified = c.call.now;
  return ok(show_resource(c, r));
}

reply resource_action(context& c, resource& r, bool provider_side) {
  const std::string action = c.action();
  if (action == "team") {
    return c.is("GET") ? team_of(c, r) : reply(method_not_allowed(c));
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (action == "terminate") {
    return terminate(c, r);
  }
  if (action == "restore") {
    return restore(c, r);
  }
  if (action == "set_paused") {
    return set_flag(c, r, "paused", r.paused);
  }
  if (action == "set_downscaled") {
    return set_flag(c, r, "downscaled", r.downscaled);
  }
  if (action == "unlink" || action == "move_resource") {
    if (!c.who.is_staff) {
      return forbidden();
    }
    return action == "unlink" ? unlink(c, r) : move_resource(c, r);
  }
  if (action == "set_restrict_member_access") {
    return set_flag(c, r, "restrict_member_access", r.restrict_member_access);
  }
  if (provider_side) {
    return provider_side_action(c, r);
  }
  if (action == "update_limits") {
    return update_limits(c, r);
  }
  return action == "switch_plan" ? switch_plan(c, r) : reply(not_found());
}

reply handle(context& c, bool provider_side) {
  if (c.is_list()) {
    return c.is("GET") ? list_resources(c, provider_side) : reply(method_not_allowed(c));
  }
  resource* r = c.data.resources.find(hex_or_empty(c.rest[0]));
  if (r == nullptr || !sees(c, *r, provider_side)) {
    return not_found();
  }
  if (!c.action().empty()) {
    return resource_action(c, *r, provider_side);
  }
  if (c.is("PATCH")) {
    return rename(c, *r);
  }
  return c.is("GET") ? reply(ok(trimmed(c, show_resource(c, *r)))) : reply(method_not_allowed(c));
}

} // namespace

reply handle_provider_resources(context& c) {
  return handle(c, true);
}

reply handle_resources(context& c) {
  return handle(c, false);
}

} // namespace siteagent::waldur_emulator
