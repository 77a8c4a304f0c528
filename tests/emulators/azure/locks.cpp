// SPDX-License-Identifier: MIT
#include "locks.hpp"

#include "core/base/text.hpp"

#include <vector>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr std::string_view collection = "/providers/Microsoft.Authorization/locks/";
constexpr std::size_t longest_notes = 512;
constexpr std::size_t most_locks = 20; // at one scope

json lock_body(const lock_entry& l) {
  json properties = json::object({{"level", l.level}});
  if (!l.notes.empty()) {
    properties.set("notes", l.notes);
  }
  return json::object(
      {{"id", (l.scope == "/" ? "" : l.scope) + std::string(collection) + l.name},
       {"name", l.name},
       {"type", "Microsoft.Authorization/locks"},
       {"properties", properties}}
  );
}

std::string lock_key(const std::string& scope, const std::string& name) {
  return key_of(scope + std::string(collection) + name);
}

reply put_lock(context& c, const std::string& scope, const std::string& name) {
  const auto& properties = c.body["properties"];
  std::string level = properties["level"].string_or("");
  for (const auto* known : {"CanNotDelete", "ReadOnly"}) {
    if (equals_ignoring_case(level, known)) {
      level = known;
    }
  }
  if (level != "CanNotDelete" && level != "ReadOnly") {
    return gateway_error(
        400,
        {"InvalidLockLevel",
         "The lock level '" + level +
             "' is not valid. The supported values are 'CanNotDelete' and 'ReadOnly'."}
    );
  }
  const std::string notes = properties["notes"].string_or("");
  if (notes.size() > longest_notes) {
    return gateway_error(
        400, {"InvalidLockNotes", "The notes of a lock must not exceed 512 characters."}
    );
  }
  const std::string key = lock_key(scope, name);
  const bool is_new = c.world.locks.count(key) == 0;
  std::size_t here = 0;
  for (const auto& [other, l] : c.world.locks) {
    here += equals_ignoring_case(l.scope, scope) ? 1 : 0;
  }
  if (is_new && here >= most_locks) {
    return gateway_error(
        409, {"LockCountLimitReached", "The scope '" + scope + "' has the maximum of 20 locks."}
    );
  }
  const lock_entry l{scope, name, level, notes};
  c.world.locks[key] = l;
  return json_reply(is_new ? 201 : 200, lock_body(l));
}

// Locks made here, inherited from above, and kept by what lies below.
reply list_locks(const context& c, const std::string& scope) {
  json value = json::array();
  for (const auto& [key, l] : c.world.locks) {
    if (is_within(scope, l.scope) || is_within(l.scope, scope)) {
      value.push_back(lock_body(l));
    }
  }
  return json_reply(200, json::object({{"value", value}}));
}

} // namespace

reply route_locks(context& c, const std::string& scope, const std::string& name) {
  const std::string& method = c.http.method;
  if (name.empty()) {
    return method == "GET"
               ? list_locks(c, scope)
               : gateway_error(
                     405,
                     {"MethodNotAllowed",
                      "The HTTP method '" + method + "' is not supported at this resource."}
                 );
  }
  if (method == "PUT") {
    return put_lock(c, scope, name);
  }
  const auto it = c.world.locks.find(lock_key(scope, name));
  if (method == "DELETE") {
    if (it == c.world.locks.end()) {
      return empty_reply(204);
    }
    c.world.locks.erase(it);
    return empty_reply(200);
  }
  if (it == c.world.locks.end()) {
    return gateway_error(404, {"LockNotFound", "The lock '" + name + "' could not be found."});
  }
  return json_reply(200, lock_body(it->second));
}

std::optional<reply> check_locks(const context& c, const request_target& target) {
  using verb_kind = request_target::verb_kind;
  // Locks are managed under locks, and a query is a POST that changes nothing.
  const bool exempt = equals_ignoring_case(target.provider, "Microsoft.Authorization") ||
                      equals_ignoring_case(target.provider, "Microsoft.CostManagement");
  if (target.verb == verb_kind::read || exempt || c.world.locks.empty()) {
    return std::nullopt;
  }
  const bool removes = target.verb == verb_kind::remove;
  std::vector<std::string> scopes;
  for (const auto& [key, l] : c.world.locks) {
    const bool above = is_within(target.scope, l.scope);
    const bool below = removes && is_within(l.scope, target.scope);
    if ((above && (removes || l.level == "ReadOnly")) || below) {
      scopes.push_back(l.scope);
    }
  }
  if (scopes.empty()) {
    return std::nullopt;
  }
  return gateway_error(
      409,
      {"ScopeLocked",
       "The scope '" + target.scope + "' cannot perform " + (removes ? "delete" : "write") +
           " operation because following scope(s) are locked: '" + base::join(scopes, ",") +
           "'. Please remove the lock and try again."}
  );
}

} // namespace siteagent::azure_emulator
