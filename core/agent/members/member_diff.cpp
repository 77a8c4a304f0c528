// SPDX-License-Identifier: MIT
// The member diff.
#include "core/agent/members/member_diff.hpp"

#include "core/agent/request_body.hpp"

#include <algorithm>
#include <set>

namespace siteagent::agent {

namespace {

using base::json;

waldur::limits limits_in(const json& user) {
  waldur::limits out;
  for (const auto& [type, amount] : user["limits"].members()) {
    if (const auto text = amount.number_text()) {
      out.emplace(type, std::string(*text));
    }
  }
  return out;
}

bool is_limited_so(const json& user, const waldur::limits& wanted) {
  const waldur::limits all = limits_in(user);
  waldur::limits present;
  for (const auto& [type, amount] : wanted) {
    if (const auto found = all.find(type); found != all.end()) {
      present.insert(*found);
    }
  }
  return same_limits(present, wanted);
}

// Is that user as he should be?
bool is_as_wanted(const json& user, const wanted_member& wanted, const member_limits& limits) {
  const auto role = user["role"].string();
  if (role && !wanted.role.empty() && *role != wanted.role) {
    return false;
  }
  const auto given = limits.find(wanted.username);
  return user["limits"].is_null() || given == limits.end() || is_limited_so(user, given->second);
}

} // namespace

bool is_leaving(std::string_view state) {
  static constexpr std::string_view states[] = {
      "Requested deletion", "Deleting", "Deleted", "Error deleting"};
  return std::find(std::begin(states), std::end(states), state) != std::end(states);
}

wanted_members wanted_of_team(const std::vector<waldur::team_member>& team) {
  wanted_members wanted;
  for (const waldur::team_member& m : team) {
    if (!m.username.empty() && !is_leaving(m.state)) {
      wanted.emplace(
          m.username,
          wanted_member{m.username, m.role, m.login, m.email, m.full_name, m.state, json::object()}
      );
    }
  }
  return wanted;
}

bool keeps_users(const json& row) {
  return row["users"].is_array();
}

bool has_user_limits(const json& row) {
  const std::vector<json>& users = row["users"].items();
  return std::any_of(users.begin(), users.end(), [](const json& u) {
    return u["limits"].is_object();
  });
}

std::vector<std::string> usernames_in(const json& row) {
  std::vector<std::string> names;
  for (const json& user : row["users"].items()) {
    if (const std::string name = user["username"].string_or(""); !name.empty()) {
      names.push_back(name);
    }
  }
  return names;
}

member_changes compare_members(
    const wanted_members& wanted, const json& row, const member_limits& limits, bool may_remove
) {
  member_changes changes;
  std::set<std::string> present;
  for (const json& user : row["users"].items()) {
    const std::string name = user["username"].string_or("");
    if (name.empty() || !present.insert(name).second) {
      continue;
    }
    const auto found = wanted.find(name);
    if (found == wanted.end()) {
      if (may_remove) {
        changes.remove.push_back(name);
      }
    } else if (!is_as_wanted(user, found->second, limits)) {
      changes.add.push_back(found->second);
    }
  }
  for (const auto& [name, member] : wanted) {
    if (!present.contains(name)) {
      changes.add.push_back(member);
    }
  }
  return changes;
}

json to_json(const wanted_member& m, const member_limits& limits) {
  json out = json::object({{"username", m.username}});
  const auto set = [&out](const char* name, const std::string& text) {
    if (!text.empty()) {
      out.set(name, text);
    }
  };
  set("role", m.role);
  set("login", m.login);
  set("email", m.email);
  set("full_name", m.full_name);
  set("state", m.state);
  if (m.attributes.size() > 0) {
    out.set("attributes", m.attributes);
  }
  if (const auto found = limits.find(m.username); found != limits.end()) {
    out.set("limits", limits_to_json(found->second));
  }
  return out;
}

} // namespace siteagent::agent
