// SPDX-License-Identifier: MIT
// Resources whose last pass left something undone, and when each makes sense again: pauses that
// double from 1 to 30 minutes.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/uuid.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace siteagent::agent {

// [any thread]
class owed_work {
public:
  explicit owed_work(const base::clock& clock) : clock_(clock) {}

  void owe(const base::uuid& resource);
  void settle(const base::uuid& resource);
  // A pass over everything, not before `pause`; without one the doubling pauses.
  void owe_everything(std::optional<std::chrono::milliseconds> pause = std::nullopt);
  // What was asked for at `start` or later stays.
  void settle_everything(base::steady_time start);

  // Those that exist no longer, or are somebody else's business now, go.
  template <class Predicate>
  void keep_if(Predicate keep) {
    const std::lock_guard lock(mutex_);
    std::erase_if(resources_, [&](const auto& entry) { return !keep(entry.first); });
  }

  std::optional<base::steady_time> next_due() const;
  bool is_everything_due() const;
  std::vector<base::uuid> due() const;

private:
  struct debt {
    base::steady_time asked;
    base::steady_time due;
    unsigned times;
  };

  debt renewed(unsigned times) const;

  const base::clock& clock_;
  mutable std::mutex mutex_;
  std::map<base::uuid, debt> resources_;
  std::optional<debt> everything_;
};

} // namespace siteagent::agent
