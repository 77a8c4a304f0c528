// SPDX-License-Identifier: MIT
// Who should be a user of a resource against who is (Waldur contract 4.4). Pure functions.
#pragma once

#include "core/base/json.hpp"
#include "core/waldur/people.hpp"
#include "core/waldur/types.hpp"

#include <map>
#include <string>
#include <vector>

namespace siteagent::agent {

struct wanted_member {
  std::string username;
  std::string role;  // "" = says nothing about it
  std::string login; // name in Waldur; "" = an account that is no person
  std::string email;
  std::string full_name;
  std::string state; // of the offering user; "" = not shown
  base::json attributes = base::json::object();
};

using wanted_members = std::map<std::string, wanted_member>; // by username

// username -> limits, of one resource
using member_limits = std::map<std::string, waldur::limits>;

struct member_changes {
  std::vector<wanted_member> add; // new ones, and those whose role or limits differ
  std::vector<std::string> remove;

  bool empty() const { return add.empty() && remove.empty(); }
};

// Those of a team who have a username and are not on their way out.
wanted_members wanted_of_team(const std::vector<waldur::team_member>& team);

// Has this row of pull_resources users at all? Without: nothing to compare, nobody to add.
bool keeps_users(const base::json& row);
// Do its users have limits of their own?
bool has_user_limits(const base::json& row);

// `may_remove` false: somebody wanted may be missing from `wanted`, so everybody stays. Limits are
// compared only for the components `limits` names.
member_changes compare_members(
    const wanted_members& wanted,
    const base::json& row,
    const member_limits& limits,
    bool may_remove
);

// Usernames in a row.
std::vector<std::string> usernames_in(const base::json& row);

// A state in which the account is being, or was, taken away.
bool is_leaving(std::string_view offering_user_state);

// The ABI's words.
base::json to_json(const wanted_member& m, const member_limits& limits);

} // namespace siteagent::agent
