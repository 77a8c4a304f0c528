// SPDX-License-Identifier: MIT
// Billing accounts, credit and cost, as the seed's "billing" gives them.
#pragma once

#include "context.hpp"

#include "core/base/result.hpp"

#include <optional>
#include <string>

namespace siteagent::azure_emulator {

// {"accounts": [{"name", "display_name", "agreement", "access", "profiles": [{"name",
//   "display_name", "currency", "spending_limit", "credit", "available", "lots", "events"}],
//   "balances", "lots", "events"}], "costs": [{"subscription", "amount", "currency"}]}
base::result<base::json> read_billing(const base::json& value);

// Paths under /providers/Microsoft.Billing; nullopt: not one of them.
std::optional<reply> route_billing(context& c);

// POST /subscriptions/{id}/providers/Microsoft.CostManagement/query
reply query_costs(context& c);

} // namespace siteagent::azure_emulator
