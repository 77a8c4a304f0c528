// SPDX-License-Identifier: MIT
// The memory of orders between two looks at them.
#include "core/agent/order_book.hpp"

#include "core/base/secret.hpp"
#include "core/base/text.hpp"
#include "core/net/retry.hpp"

namespace siteagent::agent {

namespace {

// net::backoff takes half of the delay as its lower end.
constexpr net::backoff order_pace{std::chrono::seconds(10), std::chrono::minutes(5)};
constexpr std::size_t longest_reason = 300;

} // namespace

void order_book::see(const waldur::order& order) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = entries_.try_emplace(order.uuid);
  at->second.type = order.type;
  at->second.resource = order.resource;
  if (is_new) {
    at->second.since = clock_.steady();
  }
}

std::shared_ptr<order_memory> order_book::memory_of(const base::uuid& order) {
  const std::lock_guard lock(mutex_);
  return entries_[order].memory;
}

void order_book::begin(const base::uuid& order) {
  const std::lock_guard lock(mutex_);
  entry& e = entries_[order];
  e.not_before.reset();
  e.at = order_view::phase::running;
  e.step = "look at the order";
  e.since = clock_.steady();
  e.reason.clear();
  e.resting_until = {};
}

void order_book::note(const base::uuid& order, std::string_view step) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(order);
  if (found == entries_.end()) {
    return;
  }
  found->second.resting_until = {};
  if (found->second.step != step) {
    found->second.step = step;
    found->second.since = clock_.steady();
  }
}

void order_book::note_throttled(
    const base::uuid& order, std::string_view which, base::steady_time until
) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(order); found != entries_.end()) {
    found->second.resting = "the cloud limits ";
    found->second.resting += which.empty() ? "calls" : base::truncated(which, longest_reason);
    found->second.resting_until = until;
  }
}

void order_book::end(const base::uuid& order) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(order);
  if (found != entries_.end() && found->second.at == order_view::phase::running) {
    found->second.at = order_view::phase::waiting;
    found->second.since = clock_.steady();
  }
}

std::chrono::milliseconds order_book::postpone(const base::uuid& order, const base::error& why) {
  const std::lock_guard lock(mutex_);
  entry& e = entries_[order];
  const std::chrono::milliseconds pause =
      order_pace.delay(e.failures, net::random_jitter(), why.retry_after);
  ++e.failures;
  e.not_before = clock_.steady() + pause;
  e.reason = base::truncated(base::global_redactor().scrub(why.message), longest_reason);
  e.is_throttled = why.code == base::error_code::throttled;
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

order_view order_book::view_of(const base::uuid& order, const entry& e) const {
  const bool is_running = e.at == order_view::phase::running;
  order_view view{
      order,
      e.type,
      e.resource,
      e.at,
      is_running ? e.step : std::string(),
      e.since,
      e.not_before,
      e.failures,
      e.reason,
      e.is_throttled && e.not_before.has_value()};
  if (is_running && e.resting_until > clock_.steady()) {
    view.next_attempt = e.resting_until;
    view.reason = e.resting;
    view.is_throttled = true;
  }
  return view;
}

std::vector<order_view> order_book::views() const {
  const std::lock_guard lock(mutex_);
  std::vector<order_view> all;
  all.reserve(entries_.size());
  for (const auto& [uuid, e] : entries_) {
    all.push_back(view_of(uuid, e));
  }
  return all;
}

} // namespace siteagent::agent
