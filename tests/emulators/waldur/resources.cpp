// SPDX-License-Identifier: MIT
// /api/marketplace-provider-resources/ and /api/marketplace-resources/: the same objects as the
// provider and as the consumer sees them.
#include "events.hpp"
#include "limits.hpp"
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

reply team_of(const context& c, const resource& r) {
  json team = json::array();
  for (const auto& u : c.data.users.rows()) {
    for (const auto& g : u.grants) {
      if (g.scope == "project" && g.scope_uuid == r.project) {
        team.push_back(json::object(
            {{"url", c.url("users", u.uuid)},
             {"uuid", u.uuid},
             {"username", u.username},
             {"full_name", u.full_name},
             {"email", u.email},
             {"role", g.role},
             {"expiration_time", nullptr},
             {"offering_user_username", nullptr},
             {"offering_user_state", nullptr}}
        ));
        break;
      }
    }
  }
  return ok(team);
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

using provider_call = reply (*)(context&, resource&);

struct provider_action {
  std::string_view name;
  std::string_view permission;
  provider_call call;
};

constexpr std::array<provider_action, 8> provider_actions{
    {{"set_backend_id", "RESOURCE.SET_BACKEND_ID", set_backend_id},
     {"set_backend_metadata", "RESOURCE.SET_BACKEND_METADATA", set_backend_metadata},
     {"set_limits", "RESOURCE.SET_LIMITS", set_limits},
     {"set_endpoints", "RESOURCE.SET_BACKEND_METADATA", set_endpoints},
     {"set_as_erred", "RESOURCE.SET_STATE", set_as_erred},
     {"set_as_ok", "RESOURCE.SET_STATE", set_as_ok},
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

reply set_membership_sync_statuses(context& c) {
  if (!c.body["statuses"].is_array()) {
    return bad_field("statuses", "This field is required.");
  }
  return ok(json::object({{"stored", c.body["statuses"].size()}, {"skipped", 0}}));
}

reply provider_side_action(context& c, resource& r) {
  const std::string action = c.action();
  for (const auto& known : provider_actions) {
    if (known.name == action) {
      return provides(c, r, known.permission) ? known.call(c, r) : reply(forbidden());
    }
  }
  return action == "set_membership_sync_statuses" ? set_membership_sync_statuses(c)
                                                  : reply(not_found());
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
