// SPDX-License-Identifier: MIT
// The status document.
#include "core/agent/board.hpp"

#include <algorithm>

namespace siteagent::agent {

namespace {

using base::json;

std::string_view name_of(order_view::phase p) {
  switch (p) {
  case order_view::phase::queued:
    return "queued";
  case order_view::phase::running:
    return "running";
  case order_view::phase::waiting:
    return "waiting";
  }
  return "waiting";
}

// Steady times are of no use outside the process.
class converter {
public:
  explicit converter(const base::clock& clock) : steady_(clock.steady()), wall_(clock.wall()) {}

  json operator()(base::steady_time t) const {
    return base::to_rfc3339(
        wall_ + std::chrono::duration_cast<base::wall_time::duration>(t - steady_)
    );
  }

  json operator()(const std::optional<base::steady_time>& t) const {
    return t ? (*this)(*t) : json();
  }

private:
  const base::steady_time steady_;
  const base::wall_time wall_;
};

json text_or_null(const std::optional<base::wall_time>& t) {
  return t ? json(base::to_rfc3339(*t)) : json();
}

json describe_order(const order_view& o, const converter& wall) {
  return json::object(
      {{"order", o.order.hex()},
       {"type", o.type},
       {"resource", o.resource ? json(o.resource->hex()) : json()},
       {"state", name_of(o.at)},
       {"step", o.step.empty() ? json() : json(o.step)},
       {"since", wall(o.since)},
       {"failures", static_cast<std::int64_t>(o.failures)},
       {"reason", o.reason.empty() ? json() : json(o.reason)},
       {"next_attempt", wall(o.next_attempt)},
       {"throttled", o.is_throttled}}
  );
}

json describe_track(const track& t, const converter& wall) {
  const pass_record r = t.record();
  return json::object(
      {{"mode", name_of(t.what())},
       {"plugin", t.worker().plugin_id()},
       {"running_since", text_or_null(r.running_since)},
       {"last_success", text_or_null(r.last_success)},
       {"last_error", r.last_error.empty() ? json() : json(r.last_error)},
       {"next_pass", wall(r.next_pass)},
       {"passes", static_cast<std::int64_t>(r.passes)},
       {"failed_passes", static_cast<std::int64_t>(r.failed)},
       {"failures_in_a_row", static_cast<std::int64_t>(r.failures_in_a_row)},
       {"events", t.worker().events()}}
  );
}

} // namespace

json describe_offering(
    const offering_context& offering,
    const std::vector<const track*>& tracks,
    const offering_lease* lease,
    const base::clock& clock
) {
  const converter wall(clock);
  json modes = json::array();
  json orders = json::array();
  std::optional<base::steady_time> throttled_until = offering.throttled_until();
  for (const track* t : tracks) {
    modes.push_back(describe_track(*t, wall));
    for (const order_view& o : t->worker().orders()) {
      orders.push_back(describe_order(o, wall));
      if (o.is_throttled && (!throttled_until || *o.next_attempt > *throttled_until)) {
        throttled_until = o.next_attempt;
      }
    }
  }
  return json::object(
      {{"name", offering.config().name},
       {"uuid", offering.config().uuid.hex()},
       {"retiring", offering.is_retired()},
       {"credentials_refused", offering.breaker().is_open()},
       {"throttled_until", wall(throttled_until)},
       {"lease", lease != nullptr ? lease->describe() : json()},
       {"modes", std::move(modes)},
       {"orders", std::move(orders)}}
  );
}

json describe_load(const worker_pool::load& load) {
  return json::object(
      {{"limit", static_cast<std::int64_t>(load.limit)},
       {"running", static_cast<std::int64_t>(load.running)},
       {"waiting", static_cast<std::int64_t>(load.waiting)}}
  );
}

} // namespace siteagent::agent
