// SPDX-License-Identifier: MIT
// What the agent remembers of orders between two looks at them: when to try again, and results that
// Waldur could not be told yet. Memory only; losing it costs time, never a machine.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "core/base/uuid.hpp"
#include "core/waldur/types.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

// Used by whoever holds the lock of the order's resource.
struct order_memory {
  struct verdict {
    bool done = false;
    std::string message;         // for the customer, when erred
    bool clear_resource = false; // the resource is fine although the order is not: set_as_ok
  };

  std::optional<base::steady_time> first_attempt; // of the provider operation
  std::optional<verdict> pending;                 // only the report is missing
  std::optional<base::json> created;              // what create_resource emitted
  std::optional<base::error> failure;             // a create that failed; clean-up not finished
  std::optional<base::steady_time> cleaning_since;
  bool is_finally_metered = false; // a Terminate: the last usage was asked for
};

// One order as `status` shows it.
struct order_view {
  enum class phase : std::uint8_t {
    queued,  // waits for a worker or for an older order of its resource
    running, // `step` is being done since `since`; it may rest until `next_attempt` for `reason`
    waiting, // looked at, left as it is; `reason`, and `next_attempt` if it is known
  };

  base::uuid order;
  std::string type;
  std::optional<base::uuid> resource;
  phase at = phase::queued;
  std::string step;
  base::steady_time since{};
  std::optional<base::steady_time> next_attempt;
  unsigned failures = 0; // in a row
  std::string reason;
  bool is_throttled = false; // the reason is a limit of calls
};

// [any thread]
class order_book {
public:
  explicit order_book(const base::clock& clock) : clock_(clock) {}

  // Waldur lists it.
  void see(const waldur::order& order);
  std::shared_ptr<order_memory> memory_of(const base::uuid& order);
  // Somebody works on it now: its postponement is over, the count of failures stays.
  void begin(const base::uuid& order);
  // What is being done for it.
  void note(const base::uuid& order, std::string_view step);
  // What is being done goes on by itself at `until`, or when note() says so before: the cloud takes
  // no calls of this kind now (`which`, for people).
  void note_throttled(const base::uuid& order, std::string_view which, base::steady_time until);
  // Nobody works on it any more.
  void end(const base::uuid& order);
  // Not before 5 s, doubling to 5 min, and not before the other side's advice (why.retry_after).
  // The pause chosen.
  std::chrono::milliseconds postpone(const base::uuid& order, const base::error& why);
  bool is_due(const base::uuid& order) const;
  // The earliest postponed order, if any.
  std::optional<base::steady_time> next_due() const;
  void forget(const base::uuid& order);
  // Drops what Waldur no longer lists and nobody works on.
  void keep_only(const std::set<base::uuid>& orders);
  std::vector<order_view> views() const;

private:
  struct entry {
    std::shared_ptr<order_memory> memory = std::make_shared<order_memory>();
    unsigned failures = 0;
    std::optional<base::steady_time> not_before;
    std::string type;
    std::optional<base::uuid> resource;
    order_view::phase at = order_view::phase::queued;
    std::string step;
    base::steady_time since{};
    std::string reason;
    bool is_throttled = false;
    std::string resting; // why a running step rests
    base::steady_time resting_until{};
  };

  order_view view_of(const base::uuid& order, const entry& e) const;

  const base::clock& clock_;
  mutable std::mutex mutex_;
  std::map<base::uuid, entry> entries_;
};

} // namespace siteagent::agent
