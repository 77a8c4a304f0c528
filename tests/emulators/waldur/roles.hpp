// SPDX-License-Identifier: MIT
// Giving and taking of roles, the same for every scope.
#pragma once

#include "api.hpp"

#include <string>
#include <string_view>

namespace siteagent::waldur_emulator {

struct role_scope {
  std::string_view kind; // "project", "customer", "offering"
  std::string uuid;
  std::string_view role_prefix; // "PROJECT."
};

// POST <scope>/add_user/ and delete_user/ {role, user}; `may` is whether the caller is allowed to.
reply change_role(context& c, const role_scope& where, bool may);

} // namespace siteagent::waldur_emulator
