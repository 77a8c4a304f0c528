// SPDX-License-Identifier: MIT
// Books what the plugin measured (Waldur contract section 5): one bulk measurement per period,
// two decimals, only components that Waldur takes, only what changed.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/usage/booking.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace siteagent::agent {

// How long a deletion waits at most for the measurement of what it ends.
inline constexpr std::chrono::seconds final_measurement{60};

class usage_report {
public:
  // References must outlive it.
  usage_report(offering_context& offering, portal& waldur, environment& env);

  // One pass. An error: nothing could be measured. Called by one thread at a time.
  base::result<void> run();

  // The last word about a machine that is about to be deleted: afterwards nobody can measure it.
  // Best effort, told in the log; blocks for at most final_measurement per period and the writes.
  // Nothing without a reporting backend or while the offering's credentials are refused.
  void run_final(const waldur::resource& resource);

private:
  base::result<void> measure_finally(const std::string& plugin, const waldur::resource& resource);
  base::result<void> report_periods(
      backend& cloud,
      const offering_info& info,
      const std::vector<waldur::resource>& resources,
      std::chrono::milliseconds deadline
  );
  base::result<void> report_period(
      backend& cloud,
      booking& books,
      const offering_info& info,
      const std::vector<waldur::resource>& resources,
      base::month period,
      std::chrono::milliseconds deadline
  );
  std::vector<base::month> periods() const;
  bool is_current(base::month period) const;

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
};

} // namespace siteagent::agent
