// SPDX-License-Identifier: MIT
// The memory of orders between two looks at them.
#include "core/agent/order_book.hpp"

#include "core/net/retry.hpp"

namespace siteagent::agent {

namespace {

// net::backoff takes half of the delay as its lower end.
constexpr net::backoff order_pace{std::chrono::seconds(10), std::chrono::minutes(5)};

} // namespace

std::shared_ptr<order_memory> order_book::memory_of(const base::uuid& order) {
  const std::lock_guard lock(mutex_);
  return entries_[order].memory;
}

void order_book::begin(const base::uuid& order) {
  const std::lock_guard lock(mutex_);
  entries_[order].not_before.reset();
}

std::chrono::milliseconds
order_book::postpone(const base::uuid& order, std::optional<std::chrono::milliseconds> advice) {
  const std::lock_guard lock(mutex_);
  entry& e = entries_[order];
  const std::chrono::milliseconds pause =
      order_pace.delay(e.failures, net::random_jitter(), advice);
  ++e.failures;
  e.not_before = clock_.steady() + pause;
  return pause;
}

bool order_book::is_due(const base::uuid& order) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(order);
  return found == entries_.end() || !found->second.not_before ||
         *found->second.not_before <= clock_.steady();
}

std::optional<base::steady_time> order_book::next_due() const {
  const std::lock_guard lock(mutex_);
  std::optional<base::steady_time> earliest;
  for (const auto& [uuid, e] : entries_) {
    if (e.not_before && (!earliest || *e.not_before < *earliest)) {
      earliest = e.not_before;
    }
  }
  return earliest;
}

void order_book::forget(const base::uuid& order) {
  const std::lock_guard lock(mutex_);
  entries_.erase(order);
}

void order_book::keep_only(const std::set<base::uuid>& orders) {
  const std::lock_guard lock(mutex_);
  // An order somebody works on may be younger than the list.
  std::erase_if(entries_, [&](const auto& e) {
    return !orders.contains(e.first) && e.second.memory.use_count() == 1;
  });
}

} // namespace siteagent::agent
