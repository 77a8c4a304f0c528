// SPDX-License-Identifier: MIT
// Microsoft.Insights: the subscription's activity log.
#pragma once

#include "core/base/clock.hpp"
#include "plugins/azure/arm/paging.hpp"

#include <string>
#include <utility>

namespace siteagent::azure {

// [any thread]
class monitor_client {
public:
  monitor_client(const arm::pipeline& arm, std::string subscription)
      : arm_(arm), subscription_(std::move(subscription)) {}

  // Every event of the compute provider since then, in Azure's order (newest first). Azure keeps
  // 90 days and shows an event minutes after it happened.
  base::result<void>
  each_compute_event(const arm::scope& call, base::wall_time since, const arm::taker& take) const;

private:
  const arm::pipeline& arm_;
  std::string subscription_;
};

} // namespace siteagent::azure
