// SPDX-License-Identifier: MIT
#include "permissions.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

using parts = std::vector<std::string>;
using verb_kind = request_target::verb_kind;

std::string joined(const parts& p, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count && i < p.size(); ++i) {
    path += "/" + p[i];
  }
  return path.empty() ? "/" : path;
}

verb_kind verb_of(std::string_view method) {
  if (method == "GET" || method == "HEAD") {
    return verb_kind::read;
  }
  if (method == "DELETE") {
    return verb_kind::remove;
  }
  return method == "POST" ? verb_kind::action : verb_kind::write;
}

std::string_view suffix_of(verb_kind v) {
  constexpr std::string_view words[] = {"/read", "/write", "/delete", "/action"};
  return words[static_cast<std::size_t>(v)];
}

// The last "providers" decides: what follows may extend any object before it.
std::size_t last_providers(const parts& s) {
  for (std::size_t i = s.size(); i > 0; --i) {
    if (equals_ignoring_case(s[i - 1], "providers")) {
      return i - 1;
    }
  }
  return s.size();
}

// Paths of ARM's own: subscriptions, groups, their lists.
void describe_own(const parts& s, request_target& t) {
  t.provider = "Microsoft.Resources";
  t.scope = joined(s, std::min<std::size_t>(s.size(), 2));
  std::string type = "subscriptions";
  if (s.size() >= 3) {
    const std::string word = base::to_lower(s[2]);
    t.is_monitor = word == "operationresults";
    if (word == "resourcegroups") {
      type += "/resourceGroups";
      t.scope = joined(s, std::min<std::size_t>(s.size(), 4));
      t.name = s.size() == 4 ? s[3] : std::string();
      t.is_collection = s.size() == 3;
      if (s.size() == 3) {
        t.scope = joined(s, 2);
      }
      if (s.size() > 4) {
        type += "/" + s[4];
        t.is_collection = true;
      }
    } else {
      type += "/" + s[2];
      t.is_collection = word == "resources";
    }
  }
  t.action = "Microsoft.Resources/" + type + std::string(suffix_of(t.verb));
}

// at: the index of "providers", which a namespace follows.
void describe_provided(const parts& s, std::size_t at, request_target& t) {
  t.provider = s[at + 1];
  const std::string holder = joined(s, at);
  if (s.size() == at + 2) { // the provider itself
    t.scope = holder;
    t.action = "Microsoft.Resources/subscriptions/providers/read";
    return;
  }
  std::vector<std::string> types;
  std::string word; // of an action
  for (std::size_t i = at + 2; i < s.size(); i += 2) {
    types.push_back(s[i]);
  }
  const bool ends_in_type = (s.size() - at) % 2 == 1;
  if (t.verb == verb_kind::action && ends_in_type) {
    word = types.back();
    types.pop_back();
    t.scope = types.empty() ? holder : joined(s, s.size() - 1);
  } else {
    t.scope =
        ends_in_type ? (types.size() == 1 ? holder : joined(s, s.size() - 1)) : joined(s, s.size());
  }
  t.name = t.scope == holder ? std::string() : t.scope.substr(t.scope.rfind('/') + 1);
  t.type = base::join(types, "/");
  t.is_collection = ends_in_type && t.verb == verb_kind::read && types.size() == 1 &&
                    find_kind(t.provider, t.type, "").has_value();
  t.is_monitor = (!types.empty() && equals_ignoring_case(types.back(), "operationStatuses")) ||
                 (types.size() == 2 && equals_ignoring_case(types[0], "locations") &&
                  base::to_lower(types[1]).find("operation") != std::string::npos);
  t.action = t.provider + (t.type.empty() ? "" : "/" + t.type) + (word.empty() ? "" : "/" + word) +
             std::string(suffix_of(t.verb));
}

} // namespace

request_target target_of(const net::server_request& http) {
  const auto& s = http.segments;
  request_target t;
  t.verb = verb_of(http.method);
  if (s.size() > 3 && equals_ignoring_case(s[0], "subscriptions") &&
      equals_ignoring_case(s[2], "resourceGroups")) {
    t.group = s[3];
  }
  const std::size_t at = last_providers(s);
  if (at + 1 < s.size()) {
    describe_provided(s, at, t);
  } else {
    describe_own(s, t);
  }
  return t;
}

bool action_matches(std::string_view pattern, std::string_view action) {
  const std::string p = base::to_lower(pattern);
  const std::string a = base::to_lower(action);
  // Greedy with one point to go back to, as for any glob with only stars.
  std::size_t i = 0;
  std::size_t j = 0;
  std::size_t star = std::string::npos;
  std::size_t mark = 0;
  while (j < a.size()) {
    if (i < p.size() && p[i] == '*') {
      star = i++;
      mark = j;
    } else if (i < p.size() && p[i] == a[j]) {
      ++i;
      ++j;
    } else if (star != std::string::npos) {
      i = star + 1;
      j = ++mark;
    } else {
      return false;
    }
  }
  return p.find_first_not_of('*', i) == std::string::npos;
}

bool is_within(std::string_view scope, std::string_view ancestor) {
  const std::string inner = key_of(scope);
  std::string outer = key_of(ancestor);
  while (!outer.empty() && outer.back() == '/') {
    outer.pop_back();
  }
  return inner.compare(0, outer.size(), outer) == 0 &&
         (inner.size() == outer.size() || inner[outer.size()] == '/');
}

namespace {

bool allows(const permission_entry& p, std::string_view action) {
  const auto hit = [&](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return action_matches(pattern, action);
    });
  };
  return hit(p.actions) && !hit(p.not_actions);
}

} // namespace

bool may(
    const world& w,
    std::string_view principal,
    std::string_view action,
    std::string_view scope,
    base::wall_time now
) {
  const auto* a = w.offer.find_principal(principal);
  if (a == nullptr || !a->permissions) {
    return true;
  }
  return std::any_of(a->permissions->begin(), a->permissions->end(), [&](const auto& p) {
    return p.effective_from <= now && is_within(scope, p.scope) && allows(p, action);
  });
}

namespace {

// Some role below the scope: enough to see the subscription itself and a list's visible part.
bool may_below(const context& c, std::string_view action, std::string_view scope) {
  const auto* a = c.world.offer.find_principal(c.principal);
  return a != nullptr && a->permissions &&
         std::any_of(a->permissions->begin(), a->permissions->end(), [&](const auto& p) {
           return p.effective_from <= c.now() && is_within(p.scope, scope) &&
                  (action.empty() || allows(p, action));
         });
}

bool is_subscription_read(const request_target& t) {
  return t.action == "Microsoft.Resources/subscriptions/read";
}

} // namespace

bool may_see(const context& c, std::string_view scope) {
  return may(c.world, c.principal, "Microsoft.Resources/subscriptions/read", scope, c.now()) ||
         may_below(c, "", scope);
}

std::optional<reply> check_permission(const context& c, const request_target& target) {
  const bool own_rights = equals_ignoring_case(target.provider, "Microsoft.Authorization") &&
                          equals_ignoring_case(target.type, "permissions");
  if (target.is_monitor || own_rights ||
      may(c.world, c.principal, target.action, target.scope, c.now())) {
    return std::nullopt;
  }
  if ((target.is_collection && may_below(c, target.action, target.scope)) ||
      (is_subscription_read(target) && may_below(c, "", target.scope))) {
    return std::nullopt;
  }
  return gateway_error(
      403,
      {"AuthorizationFailed",
       "The client '" + c.principal + "' with object id '" + c.principal +
           "' does not have authorization to perform action '" + target.action + "' over scope '" +
           target.scope +
           "' or the scope is invalid. If access was recently granted, please refresh your "
           "credentials."}
  );
}

namespace {

struct link_row {
  std::string_view type;
  std::string_view action;
};

// What a reference to an object of a type needs.
constexpr link_row links[] = {
    {"microsoft.network/virtualnetworks/subnets",
     "Microsoft.Network/virtualNetworks/subnets/join/action"},
    {"microsoft.network/publicipaddresses", "Microsoft.Network/publicIPAddresses/join/action"},
    {"microsoft.network/networksecuritygroups",
     "Microsoft.Network/networkSecurityGroups/join/action"},
    {"microsoft.network/applicationsecuritygroups",
     "Microsoft.Network/applicationSecurityGroups/joinIpConfiguration/action"},
    {"microsoft.network/networkinterfaces", "Microsoft.Network/networkInterfaces/join/action"},
    {"microsoft.compute/disks", "Microsoft.Compute/disks/read"},
    {"microsoft.compute/images", "Microsoft.Compute/images/read"},
};

// "microsoft.network/virtualnetworks/subnets" of an id; "" when it is none of a resource.
std::string type_of_id(std::string_view id) {
  const auto s = base::split(id, '/');
  std::string type;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (equals_ignoring_case(s[i], "providers") && i + 1 < s.size()) {
      type = base::to_lower(s[i + 1]);
      for (std::size_t j = i + 2; j + 1 < s.size(); j += 2) {
        type += "/" + base::to_lower(s[j]);
      }
      break;
    }
  }
  return type;
}

// A rule that names an application group does not join it: it has an action of its own.
std::string_view action_of(const link_row& row, const request_target& target) {
  const bool by_group = equals_ignoring_case(target.type, "networkSecurityGroups") ||
                        equals_ignoring_case(target.type, "networkSecurityGroups/securityRules");
  return by_group && row.type == "microsoft.network/applicationsecuritygroups"
             ? "Microsoft.Network/applicationSecurityGroups/joinNetworkSecurityRule/action"
             : row.action;
}

void collect_ids(const json& value, std::vector<std::string>& ids) {
  for (const auto& item : value.items()) {
    collect_ids(item, ids);
  }
  for (const auto& [name, member] : value.members()) {
    if (name == "id" && member.is_string()) {
      ids.push_back(member.string_or(""));
    } else {
      collect_ids(member, ids);
    }
  }
}

} // namespace

std::optional<reply> check_linked(const context& c, const request_target& target) {
  const auto* a = c.world.offer.find_principal(c.principal);
  if (target.verb != verb_kind::write || a == nullptr || !a->permissions) {
    return std::nullopt;
  }
  std::vector<std::string> ids;
  collect_ids(c.body["properties"], ids);
  for (const auto& id : ids) {
    if (is_within(id, target.scope)) {
      continue; // a part of the object itself, echoed
    }
    const std::string type = type_of_id(id);
    for (const auto& row : links) {
      const std::string_view action = action_of(row, target);
      if (row.type != type || may(c.world, c.principal, action, id, c.now())) {
        continue;
      }
      return gateway_error(
          403,
          {"LinkedAuthorizationFailed",
           "The client '" + c.principal + "' with object id '" + c.principal +
               "' has permission to perform action '" + target.action + "' on scope '" +
               target.scope + "'; however, it does not have permission to perform action(s) '" +
               std::string(action) + "' on the linked scope(s) '" + id +
               "' (respectively) or the linked scope(s) are invalid."}
      );
    }
  }
  return std::nullopt;
}

namespace {

json texts(const std::vector<std::string>& list) {
  json out = json::array();
  for (const auto& text : list) {
    out.push_back(text);
  }
  return out;
}

json permission_body(const std::vector<std::string>& yes, const std::vector<std::string>& no) {
  return json::object(
      {{"actions", texts(yes)},
       {"notActions", texts(no)},
       {"dataActions", json::array()},
       {"notDataActions", json::array()}}
  );
}

} // namespace

reply list_permissions(context& c, std::string_view scope) {
  json value = json::array();
  const auto* a = c.world.offer.find_principal(c.principal);
  if (a == nullptr || !a->permissions) {
    value.push_back(permission_body({"*"}, {}));
  } else {
    for (const auto& p : *a->permissions) {
      if (p.effective_from <= c.now() && is_within(scope, p.scope)) {
        value.push_back(permission_body(p.actions, p.not_actions));
      }
    }
  }
  return json_reply(200, json::object({{"value", value}}));
}

} // namespace siteagent::azure_emulator
