// SPDX-License-Identifier: MIT
// Back-fills usage month by month, with the credentials of somebody who may do so.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/usage/booking.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::agent {

struct history_request {
  base::month first; // to `last`, both included; months to come are left out
  base::month last;
  std::vector<std::string> backend_ids; // only these resources; empty: all
  booking_rules rules;                  // may_decrease and users_one_by_one are set by load_history
};

// What became of one resource in one month.
struct history_line {
  base::month period;
  const waldur::resource& resource;
  bool is_measured = false; // false: the plugin has no data, `outcome` says nothing
  booking_outcome outcome;
};

struct history_summary {
  std::size_t months = 0;
  std::size_t resources = 0;
  std::size_t booked = 0; // or would be
  std::size_t unchanged = 0;
  std::size_t no_data = 0;
  std::size_t refused = 0;
  std::size_t failed = 0;        // resources in months
  std::size_t failed_months = 0; // that could not be measured; told in the log
};

// Oldest month first; one failed resource or month does not stop the others. An error: nothing
// could be begun. Totals may go down here: a correction is what it is for.
base::result<history_summary> load_history(
    offering_context& offering,
    portal& waldur,
    environment& env,
    history_request request,
    const std::function<void(const history_line&)>& tell
);

// The month of "2026-09-17"; nullopt: no such day.
std::optional<base::month> month_of_day(std::string_view text);

} // namespace siteagent::agent
