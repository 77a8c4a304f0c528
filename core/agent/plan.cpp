// SPDX-License-Identifier: MIT
// The passes of the agent, run once for a plan.
#include "core/agent/plan.hpp"

#include "core/agent/order_pass.hpp"
#include "core/agent/status_sync.hpp"
#include "core/agent/sweep.hpp"
#include "core/agent/usage_report.hpp"

#include <utility>

namespace siteagent::agent {

void change_list::add(planned_change change) {
  const std::string key = change.action + '\n' + change.order + '\n' + change.resource + '\n' +
                          change.now.dump() + '\n' + change.then.dump();
  const std::lock_guard lock(mutex_);
  if (known_.insert(key).second) {
    changes_.push_back(std::move(change));
  }
}

std::vector<planned_change> change_list::take() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  return std::exchange(changes_, {});
}

std::vector<base::error>
plan_offering(offering_context& offering, portal& planning, environment& env) {
  std::vector<base::error> failures;
  const auto note = [&](const char* what, base::result<void> outcome) {
    if (!outcome) {
      failures.push_back(base::with_context(std::move(outcome).error(), what));
    }
  };
  const config::offering& c = offering.config();
  if (!c.order_processing_backend.empty()) {
    order_pass orders(offering, planning, env);
    note("orders", orders.start());
    orders.wait();
    sweep leftovers(offering, planning, env);
    leftovers.start();
    leftovers.wait();
  }
  if (!c.membership_sync_backend.empty()) {
    status_sync status(offering, planning, env);
    base::result<void> outcome = status.run();
    if (outcome) {
      outcome = status.run(); // what is missing is believed at the second look only
    }
    note("status", std::move(outcome));
  }
  if (!c.reporting_backend.empty()) {
    usage_report usage(offering, planning, env);
    note("usage", usage.run());
  }
  return failures;
}

} // namespace siteagent::agent
