// SPDX-License-Identifier: MIT
// What a plugin measured, as Waldur takes it: known components, billed by usage or limit, two
// decimals.
#pragma once

#include "core/agent/offering_context.hpp"
#include "core/base/clock.hpp"
#include "core/base/decimal.hpp"
#include "core/base/json.hpp"

#include <map>
#include <string>

namespace siteagent::agent {

// Waldur keeps so many digits of usage and refuses more.
inline constexpr unsigned usage_decimals = 2;

using amounts = std::map<std::string, base::decimal>; // component type -> two decimals

struct measured_usage {
  amounts total;                        // empty: nothing to book, not even for users
  std::map<std::string, amounts> users; // username -> share
};

// "2026-11-01", as billing periods are named.
std::string period_text(base::month m);

// May Waldur be told this component's usage? One illegal component refuses a whole request.
bool takes_usage(const offering_info& info, const std::string& component);

// Measured over time, so that it can only grow within a month.
bool accumulates(const offering_info& info, const std::string& component);

// A row of report_usage that was measured. What Waldur does not take is left out; what points to a
// mistake (a component it does not know, an amount that is none) is warned about once.
measured_usage
read_measured(offering_context& offering, const offering_info& info, const base::json& row);

} // namespace siteagent::agent
