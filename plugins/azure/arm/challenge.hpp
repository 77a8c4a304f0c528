// SPDX-License-Identifier: MIT
// What Azure Resource Manager says when it refuses a token (401). Pure functions.
#pragma once

#include "core/base/error.hpp"
#include "core/net/transport.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure::arm {

// The claims a new token must satisfy (continuous access evaluation), as JSON; "" when none.
std::string claims_of(const net::response& refusal);

// The tenant that owns the subscription, from the challenge or the message; "" when not told.
std::string tenant_of(const net::response& refusal);

// Adds to an error made from `refusal` what the operator must change: for a token of another
// tenant, the right one.
base::error explain(base::error e, const net::response& refusal);

} // namespace siteagent::azure::arm
