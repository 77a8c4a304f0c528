// SPDX-License-Identifier: MIT
// Waldur's people as a provider sees them: offering users, teams, accounts, decoded tolerantly.
#pragma once

#include "core/base/json.hpp"
#include "core/base/uuid.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace siteagent::waldur {

// The account of a Waldur user on one offering.
struct offering_user {
  base::uuid uuid;
  std::optional<base::uuid> user; // user_uuid
  std::string username;           // on the provider's side; "" = none yet
  std::string state; // Requested | Creating | Pending account linking | OK | Requested deletion ...
  base::json attributes = base::json::object(); // user_<name> -> <name>: what the offering exposes
};

// Who may use a resource.
struct team_member {
  base::uuid user;
  std::string login; // global username
  std::string full_name;
  std::string email;
  std::string role;
  std::string username; // offering_user_username; "" = none yet
  std::string state;    // offering_user_state; "" = not shown
};

enum class account_kind : std::uint8_t { service, course };

// A service or course account of a project.
struct project_account {
  std::string username;
  std::string state; // OK | Closed | Erred
  std::optional<base::uuid> project;
};

// What one user may use of one component of one resource.
struct user_limit {
  base::uuid resource;
  base::uuid offering_user;
  std::string component; // its type
  std::string limit;     // decimal text
};

// How one member's role arrived on the provider's side.
struct member_status {
  std::string login;
  std::string role;
  std::string state; // synced | pending | missing_in_idp | error
  std::string message;
};

} // namespace siteagent::waldur
