// SPDX-License-Identifier: MIT
// The shares of single users in a component's usage.
#pragma once

#include "core/base/uuid.hpp"

#include <optional>
#include <string>

namespace siteagent::waldur {

// What Waldur holds of one user's share.
struct user_usage {
  std::optional<base::uuid> component_usage; // the record it is a share of
  std::string username;                      // "" = not shown
  std::string usage;                         // decimal text; "" = not shown
};

// What is reported about one user.
struct user_usage_item {
  std::string username;
  std::string usage;                       // exactly two decimals
  std::string date;                        // RFC 3339: the first of the period
  std::optional<base::uuid> offering_user; // nullopt: the username is no offering user's
};

} // namespace siteagent::waldur
