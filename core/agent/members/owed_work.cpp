// SPDX-License-Identifier: MIT
// What is owed, and when.
#include "core/agent/members/owed_work.hpp"

#include <algorithm>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes first_pause{1};
constexpr std::chrono::minutes longest_pause{30};
constexpr unsigned most_doublings = 5;

} // namespace

owed_work::debt owed_work::renewed(unsigned times) const {
  const auto pause = std::min<std::chrono::minutes>(
      first_pause * (1 << std::min(times, most_doublings)), longest_pause
  );
  const base::steady_time now = clock_.steady();
  return {now, now + pause, times + 1};
}

void owed_work::owe(const base::uuid& resource) {
  const std::lock_guard lock(mutex_);
  const auto known = resources_.find(resource);
  resources_.insert_or_assign(
      resource, renewed(known == resources_.end() ? 0 : known->second.times)
  );
}

void owed_work::settle(const base::uuid& resource) {
  const std::lock_guard lock(mutex_);
  resources_.erase(resource);
}

void owed_work::owe_everything(std::optional<std::chrono::milliseconds> pause) {
  const std::lock_guard lock(mutex_);
  if (!pause) {
    everything_ = renewed(everything_ ? everything_->times : 0);
    return;
  }
  const base::steady_time now = clock_.steady();
  const base::steady_time due = now + *pause;
  // Those who ask meanwhile share one pass.
  everything_ = everything_ ? debt{now, std::min(due, everything_->due), everything_->times}
                            : debt{now, due, 0};
}

void owed_work::settle_everything(base::steady_time start) {
  const std::lock_guard lock(mutex_);
  if (everything_ && everything_->asked < start) {
    everything_.reset();
  }
}

std::optional<base::steady_time> owed_work::next_due() const {
  const std::lock_guard lock(mutex_);
  std::optional<base::steady_time> first;
  if (everything_) {
    first = everything_->due;
  }
  for (const auto& [resource, one] : resources_) {
    first = first ? std::min(*first, one.due) : one.due;
  }
  return first;
}

bool owed_work::is_everything_due() const {
  const std::lock_guard lock(mutex_);
  return everything_ && everything_->due <= clock_.steady();
}

std::vector<base::uuid> owed_work::due() const {
  const std::lock_guard lock(mutex_);
  std::vector<base::uuid> found;
  for (const auto& [resource, one] : resources_) {
    if (one.due <= clock_.steady()) {
      found.push_back(resource);
    }
  }
  return found;
}

} // namespace siteagent::agent
