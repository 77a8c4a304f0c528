// SPDX-License-Identifier: MIT
// Registration of agents: identities, their services and processors, and shipped logs.
#include "queues.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 5> identity_fields{
    "version", "dependencies", "last_restarted", "config_file_path", "config_file_content"};
constexpr std::size_t most_logs = 100;
constexpr std::size_t longest_backend_type = 100;

const offering* offering_of(const context& c, const identity& i) {
  return c.data.offerings.find(i.offering);
}

bool may(const context& c, const identity& i) {
  const offering* o = offering_of(c, i);
  return c.who.is_staff || (o != nullptr && manages(c.who, *o, "OFFERING.UPDATE"));
}

// The body of a POST or PUT into an identity.
base::result<void> read_identity(const context& c, identity& i) {
  auto given = required_text(c, "offering");
  if (!given) {
    return given.error();
  }
  i.offering = hex_or_empty(*given);
  if (i.offering.empty()) {
    i.offering =
        uuid_of_link(*given, {"marketplace-provider-offerings", "marketplace-public-offerings"});
  }
  if (offering_of(c, i) == nullptr) {
    return bad_field("offering", "Object does not exist.");
  }
  auto name = required_text(c, "name");
  if (!name) {
    return name.error();
  }
  i.name = *name;
  for (std::string_view field : identity_fields) {
    if (const json* value = c.body.find(field)) {
      i.fields.set(field, *value);
    }
  }
  i.modified = c.call.now;
  return {};
}

reply create_identity(context& c) {
  identity i;
  i.uuid = random_uuid();
  i.created_by = c.who.uuid;
  i.created = c.call.now;
  if (auto read = read_identity(c, i); !read) {
    return read.error();
  }
  if (!may(c, i)) {
    return forbidden();
  }
  const auto& rows = c.data.identities.rows();
  const bool taken = std::any_of(rows.begin(), rows.end(), [&](const identity& other) {
    return other.name == i.name && other.offering == i.offering;
  });
  if (taken) {
    return bad_field("non_field_errors", "The fields offering, name must make a unique set.");
  }
  return created(show_identity(c, c.data.identities.add(std::move(i))));
}

void remove_service(store& s, const std::string& uuid) {
  s.processors.remove_if([&](const processor& p) { return p.service == uuid; });
  s.services.remove_if([&](const service& x) { return x.uuid == uuid; });
}

net::server_response gone() {
  net::server_response r;
  r.status = 204;
  return r;
}

reply remove_identity(context& c, const identity& i) {
  const std::string uuid = i.uuid;
  const std::vector<service> services = c.data.services.rows();
  for (const auto& s : services) {
    if (s.identity == uuid) {
      remove_service(c.data, s.uuid);
    }
  }
  release_queue_of(c, i);
  c.data.identities.remove_if([&](const identity& x) { return x.uuid == uuid; });
  return gone();
}

reply register_service(context& c, const identity& i) {
  auto name = required_text(c, "name");
  if (!name) {
    return name.error();
  }
  auto mode = required_text(c, "mode");
  if (!mode) {
    return mode.error();
  }
  for (auto& s : c.data.services.rows()) {
    if (s.identity == i.uuid && s.name == *name) {
      s.mode = *mode;
      s.state = "Active";
      s.modified = c.call.now;
      return ok(show_service(c, s));
    }
  }
  service s;
  s.uuid = random_uuid();
  s.identity = i.uuid;
  s.name = *name;
  s.mode = *mode;
  s.state = "Active";
  s.created = c.call.now;
  s.modified = c.call.now;
  return created(show_service(c, c.data.services.add(std::move(s))));
}

reply identity_action(context& c, const identity& i) {
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (!may(c, i)) {
    return forbidden();
  }
  const std::string action = c.action();
  if (action == "register_service") {
    return register_service(c, i);
  }
  if (action == "register_queue") {
    return register_queue(c, i);
  }
  return action == "register_event_subscription" ? register_event_subscription(c)
                                                 : reply(not_found());
}

reply register_processor(context& c, service& s) {
  auto name = required_text(c, "name");
  if (!name) {
    return name.error();
  }
  const std::string type = optional_text(c, "backend_type");
  if (type.size() > longest_backend_type) {
    return bad_field("backend_type", "Ensure this field has no more than 100 characters.");
  }
  s.state = "Active";
  for (auto& p : c.data.processors.rows()) {
    if (p.service == s.uuid && p.name == *name) {
      p.backend_type = type;
      p.backend_version = optional_text(c, "backend_version");
      p.last_run = c.call.now;
      return ok(show_processor(c, p));
    }
  }
  processor p;
  p.uuid = random_uuid();
  p.service = s.uuid;
  p.name = *name;
  p.backend_type = type;
  p.backend_version = optional_text(c, "backend_version");
  p.created = c.call.now;
  p.last_run = c.call.now;
  return created(show_processor(c, c.data.processors.add(std::move(p))));
}

reply set_statistics(context& c, service& s) {
  if (!c.body["statistics"].is_object()) {
    return bad_field("statistics", "This field is required.");
  }
  s.statistics = c.body["statistics"];
  s.modified = c.call.now;
  return ok(show_service(c, s));
}

constexpr std::array<std::string_view, 5> log_levels{
    "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

base::result<void> check_log(const context& c, const json& record) {
  const identity* i =
      c.data.identities.find(hex_or_empty(record["agent_identity_uuid"].string_or("")));
  if (i == nullptr || !may(c, *i)) {
    return bad_field("agent_identity_uuid", "Agent identity is not found.");
  }
  if (!record["timestamp"].is_number()) {
    return bad_field("timestamp", "A valid number is required.");
  }
  const std::string level = record["level"].string_or("");
  if (std::find(log_levels.begin(), log_levels.end(), level) == log_levels.end()) {
    return bad_field("level", "\"" + level + "\" is not a valid choice.");
  }
  if (!record["message"].is_string()) {
    return bad_field("message", "This field is required.");
  }
  return {};
}

reply list_identities(const context& c) {
  const auto names = values_of(c, "name");
  const auto rows = select(c.data.identities, [&](const identity& i) {
    return (names.empty() || names.back() == i.name) && may(c, i);
  });
  return list_of(c, rows, show_identity);
}

} // namespace

reply handle_identities(context& c) {
  if (c.is_list()) {
    if (c.is("GET")) {
      return list_identities(c);
    }
    return c.is("POST") ? create_identity(c) : reply(method_not_allowed(c));
  }
  identity* i = c.data.identities.find(hex_or_empty(c.rest[0]));
  if (i == nullptr || !may(c, *i)) {
    return not_found();
  }
  if (!c.action().empty()) {
    return identity_action(c, *i);
  }
  if (c.is("GET")) {
    return ok(trimmed(c, show_identity(c, *i)));
  }
  if (c.is("PUT")) {
    identity changed = *i;
    if (auto read = read_identity(c, changed); !read) {
      return read.error();
    }
    *i = std::move(changed);
    return ok(show_identity(c, *i));
  }
  return c.is("DELETE") ? remove_identity(c, *i) : reply(method_not_allowed(c));
}

reply handle_services(context& c) {
  if (c.is_list()) {
    return c.is("GET")
               ? list_of(
                     c, select(c.data.services, [](const service&) { return true; }), show_service
                 )
               : reply(method_not_allowed(c));
  }
  service* s = c.data.services.find(hex_or_empty(c.rest[0]));
  const identity* i = s != nullptr ? c.data.identities.find(s->identity) : nullptr;
  if (i == nullptr || !may(c, *i)) {
    return not_found();
  }
  const std::string action = c.action();
  if (action.empty()) {
    if (c.is("DELETE")) {
      remove_service(c.data, std::string(s->uuid));
      return gone();
    }
    return c.is("GET") ? reply(ok(trimmed(c, show_service(c, *s)))) : reply(method_not_allowed(c));
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (action == "register_processor") {
    return register_processor(c, *s);
  }
  return action == "set_statistics" ? set_statistics(c, *s) : reply(not_found());
}

reply handle_processors(context& c) {
  const auto visible = [&c](const processor& p) {
    const service* s = c.data.services.find(p.service);
    const identity* i = s != nullptr ? c.data.identities.find(s->identity) : nullptr;
    return i != nullptr && may(c, *i);
  };
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  if (c.is_list()) {
    return list_of(c, select(c.data.processors, visible), show_processor);
  }
  const processor* p = c.data.processors.find(hex_or_empty(c.rest[0]));
  return p != nullptr && visible(*p) && c.action().empty()
             ? reply(ok(trimmed(c, show_processor(c, *p))))
             : reply(not_found());
}

reply handle_agent_logs(context& c) {
  if (!c.is_list() || !c.data.takes_logs) {
    return not_found();
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (!c.body.is_array() || c.body.size() > most_logs) {
    return bad_request("Expected a list of at most 100 records.");
  }
  for (const json& record : c.body.items()) {
    if (auto good = check_log(c, record); !good) {
      return good.error();
    }
  }
  for (const json& record : c.body.items()) {
    c.data.logs.push_back(record);
  }
  return created(json::object({{"accepted", c.body.size()}}));
}

} // namespace siteagent::waldur_emulator
