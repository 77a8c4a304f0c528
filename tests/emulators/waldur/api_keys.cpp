// SPDX-License-Identifier: MIT
// /api/marketplace-resource-api-keys/ and the policies with periodic limits: what few providers
// have and an agent must answer for.
#include "events.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 4> states{"Creating", "OK", "Updating", "Erred"};

const offering* offering_of(const context& c, std::string_view resource_uuid) {
  const resource* r = c.data.resources.find(resource_uuid);
  return r != nullptr ? c.data.offerings.find(r->offering) : nullptr;
}

bool provides(const context& c, std::string_view resource_uuid, std::string_view permission) {
  const offering* o = offering_of(c, resource_uuid);
  return o != nullptr && manages(c.who, *o, permission);
}

reply report_created(context& c) {
  const std::string resource_uuid = hex_or_empty(optional_text(c, "resource"));
  if (!provides(c, resource_uuid, "RESOURCE.LIST")) {
    return bad_field("resource", "Object does not exist.");
  }
  auto client = required_text(c, "client_id");
  if (!client) {
    return client.error();
  }
  auto key = required_text(c, "api_key");
  if (!key) {
    return key.error();
  }
  const auto& rows = c.data.api_keys.rows();
  const bool is_known = std::any_of(rows.begin(), rows.end(), [&](const api_key& k) {
    return k.resource == resource_uuid && k.client_id == *client;
  });
  if (is_known) {
    return bad_field("client_id", "The resource has a key with this client_id.");
  }
  api_key k;
  k.uuid = random_uuid();
  k.resource = resource_uuid;
  k.client_id = *std::move(client);
  k.key = *std::move(key);
  k.state = "OK";
  k.created = c.call.now;
  k.modified = c.call.now;
  return created(show_api_key(c, c.data.api_keys.add(std::move(k))));
}

reply set_key(context& c, api_key& k) {
  auto key = required_text(c, "api_key");
  if (!key) {
    return key.error();
  }
  if (k.state == "OK") {
    return wrong_state("Creating, Updating, Erred");
  }
  k.key = *std::move(key);
  if (c.body.find("client_id") != nullptr) {
    k.client_id = optional_text(c, "client_id");
  }
  k.state = "OK";
  k.error_message.clear();
  k.modified = c.call.now;
  return ok(show_api_key(c, k));
}

reply set_erred(context& c, api_key& k) {
  k.error_message = optional_text(c, "error_message");
  k.state = "Erred";
  k.modified = c.call.now;
  return ok(show_api_key(c, k));
}

// The portal wants another key.
reply rotate(context& c, api_key& k) {
  if (k.state != "OK" && k.state != "Erred") {
    return wrong_state("OK, Erred");
  }
  k.state = "Updating";
  k.modified = c.call.now;
  note(c.data, k, "rotate");
  return ok(show_api_key(c, k));
}

reply list_keys(const context& c) {
  auto of_resource = uuid_filter(c, "resource_uuid");
  if (!of_resource) {
    return of_resource.error();
  }
  auto of_offering = uuid_filter(c, "offering_uuid");
  if (!of_offering) {
    return of_offering.error();
  }
  auto before = time_filter(c, "modified_before");
  if (!before) {
    return before.error();
  }
  const auto wanted = values_of(c, "state");
  for (const auto& s : wanted) {
    if (std::find(states.begin(), states.end(), s) == states.end()) {
      return bad_field(
          "state", "Select a valid choice. " + s + " is not one of the available choices."
      );
    }
  }
  const auto rows = select(c.data.api_keys, [&](const api_key& k) {
    const offering* o = offering_of(c, k.resource);
    return o != nullptr && manages(c.who, *o, "RESOURCE.LIST") &&
           (!*of_resource || **of_resource == k.resource) &&
           (!*of_offering || **of_offering == o->uuid) && (!*before || k.modified <= **before) &&
           (wanted.empty() || std::find(wanted.begin(), wanted.end(), k.state) != wanted.end());
  });
  return list_of(c, rows, show_api_key);
}

// {"resource_uuid", "success", "error_message"} about settings that were applied.
reply report_command_result(context& c, periodic_policy& p) {
  const std::string resource_uuid = hex_or_empty(optional_text(c, "resource_uuid"));
  const resource* r = c.data.resources.find(resource_uuid);
  if (r == nullptr || r->offering != p.offering) {
    return bad_field("resource_uuid", "Resource is not found.");
  }
  if (!c.body["success"].boolean()) {
    return bad_field("success", "Must be a valid boolean.");
  }
  p.results.push_back(c.body);
  return status_text("Command result has been recorded.");
}

// The server found that a resource is over or under its limit.
reply evaluate(context& c, const periodic_policy& p) {
  const resource* r = c.data.resources.find(hex_or_empty(optional_text(c, "resource_uuid")));
  if (!c.who.is_staff) {
    return forbidden();
  }
  if (r == nullptr || r->offering != p.offering) {
    return bad_field("resource_uuid", "Resource is not found.");
  }
  note_periodic_settings(c.data, p, *r, c.body["settings"], c.call.now);
  return status_text("Policy has been evaluated.");
}

} // namespace

reply handle_api_keys(context& c) {
  if (c.is_list()) {
    return c.is("GET") ? list_keys(c) : reply(method_not_allowed(c));
  }
  if (c.rest[0] == "report_created") {
    return c.is("POST") ? report_created(c) : reply(method_not_allowed(c));
  }
  api_key* k = c.data.api_keys.find(hex_or_empty(c.rest[0]));
  if (k == nullptr || !provides(c, k->resource, "RESOURCE.LIST")) {
    return not_found();
  }
  const std::string action = c.action();
  if (action.empty()) {
    return c.is("GET") ? reply(ok(trimmed(c, show_api_key(c, *k)))) : reply(method_not_allowed(c));
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (action == "set_key") {
    return set_key(c, *k);
  }
  if (action == "set_erred") {
    return set_erred(c, *k);
  }
  return action == "rotate" ? rotate(c, *k) : reply(not_found());
}

reply handle_periodic_policies(context& c) {
  const auto provides_it = [&c](const periodic_policy& p) {
    const offering* o = c.data.offerings.find(p.offering);
    return o != nullptr && manages(c.who, *o, "OFFERING.LIST");
  };
  if (c.is_list()) {
    return c.is("GET") ? list_of(c, select(c.data.policies, provides_it), show_policy)
                       : reply(method_not_allowed(c));
  }
  periodic_policy* p = c.data.policies.find(hex_or_empty(c.rest[0]));
  if (p == nullptr || !provides_it(*p)) {
    return not_found();
  }
  const std::string action = c.action();
  if (action.empty()) {
    return c.is("GET") ? reply(ok(trimmed(c, show_policy(c, *p)))) : reply(method_not_allowed(c));
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (action == "report-command-result") {
    return report_command_result(c, *p);
  }
  return action == "evaluate" ? evaluate(c, *p) : reply(not_found());
}

} // namespace siteagent::waldur_emulator
