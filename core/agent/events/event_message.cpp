// SPDX-License-Identifier: MIT
// The form of messages, and which kinds of them are asked for.
#include "core/agent/events/event_message.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

base::error bad(std::string why) {
  return {base::error_code::invalid, std::move(why)};
}

} // namespace

std::optional<base::uuid> event_message::uuid_at(std::string_view member) const {
  return base::uuid::parse(body[member].string_or(""));
}

base::result<event_message>
read_message(const net::stomp_message& message, std::string_view queue_type) {
  base::result<base::json> body = base::json::parse(message.body);
  if (!body) {
    return bad("the body is no JSON");
  }
  if (!body->is_object()) {
    return bad("the body is no JSON object");
  }
  event_message out;
  out.object_type = (*body)["object_type"].string_or(queue_type);
  if (out.object_type.empty()) {
    return bad("the body has no object_type");
  }
  out.body = *std::move(body);
  return out;
}

std::vector<std::string> wanted_types::all() const {
  std::vector<std::string> both = essential;
  both.insert(both.end(), others.begin(), others.end());
  return both;
}

wanted_types types_for(const wanted_roles& roles) {
  wanted_types types;
  if (roles.orders) {
    types.essential.emplace_back("order");
    types.others.emplace_back("resource_api_key_rotation");
  }
  if (roles.membership) {
    types.essential.emplace_back("user_role");
    types.essential.emplace_back("resource");
    for (const char* type : {"service_account", "course_account", "offering_user"}) {
      types.others.emplace_back(type);
    }
  }
  // Also with orders alone: the portal's button does something in either case.
  if (roles.orders || roles.membership) {
    types.others.emplace_back("offering_resources_sync");
  }
  if (roles.imports) {
    types.others.emplace_back("importable_resources");
  }
  if (roles.periodic_limits) {
    types.others.emplace_back("resource_periodic_limits");
  }
  return types;
}

} // namespace siteagent::agent
