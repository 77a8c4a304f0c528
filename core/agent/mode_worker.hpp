// SPDX-License-Identifier: MIT
// What a track of the scheduler drives: the passes of one mode for one offering.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/events/event_options.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/order_book.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/registration.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

enum class mode : std::uint8_t { order_process, event_process, membership_sync, report };

std::string_view name_of(mode m);

// pass(), reconcile() and wait() are called by one thread at a time, the rest by any.
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

  // wait() would return at once.
  virtual bool is_idle() const { return true; }

  // The offering left the configuration or got new settings: nothing new is begun, what runs goes
  // on, so that is_idle() will be true some day. Must not block.
  virtual void retire() {}

  // A time earlier than the period at which another pass makes sense.
  virtual std::optional<base::steady_time> next_due() const { return std::nullopt; }

  // At start and each reconciliation; must not block for long.
  virtual void reconcile() {}

  // May run only while this agent holds the offering's lease, if leases are on.
  virtual bool needs_lease() const { return true; }

  // How it is registered in Waldur.
  virtual std::vector<service_record> services() const = 0;
  virtual std::string plugin_id() const = 0;

  // For `status`: orders in hand; what is known of events (null: not driven by events).
  virtual std::vector<order_view> orders() const { return {}; }

  virtual base::json events() const { return {}; }
};

// Does this offering take part in that mode? Says why not.
bool takes_part(const offering_context& offering, mode m);

// What only some modes ask for.
struct worker_extras {
  session_opener sessions = {}; // to the broker of the offering's events
  event_timers timers = {};
  bool once = false; // passes only
};

// References must outlive it. `upkeep` has a pool of its own: what is not an order must not queue
// up behind long creates. Mode event_process needs a portal with events, and sessions.
std::unique_ptr<mode_worker> make_worker(
    mode m,
    offering_context& offering,
    portal& waldur,
    environment& env,
    environment& upkeep,
    worker_extras extras
);

} // namespace siteagent::agent
