// SPDX-License-Identifier: MIT
// What a loop of the scheduler drives: the passes of one mode for one offering.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"

#include <optional>
#include <string_view>

namespace siteagent::agent {

// Driven by one thread.
class mode_worker {
public:
  mode_worker() = default;
  mode_worker(const mode_worker&) = delete;
  mode_worker& operator=(const mode_worker&) = delete;
  virtual ~mode_worker() = default;

  // One pass. May leave work going on. An error: the offering could not run.
  virtual base::result<void> pass() = 0;

  // Until the work the passes began has ended.
  virtual void wait() {}

  // A time earlier than the period at which another pass makes sense.
  virtual std::optional<base::steady_time> next_due() const { return std::nullopt; }

  // At start and each reconciliation; must not block for long.
  virtual void reconcile() {}

  // How it is registered in Waldur.
  virtual std::string_view processor() const = 0;
  virtual std::string_view plugin_id() const = 0;
};

} // namespace siteagent::agent
