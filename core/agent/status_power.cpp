// SPDX-License-Identifier: MIT
// Pausing, downscaling and restoring in a pass of status synchronisation.
#include "core/agent/resource_call.hpp"
#include "core/agent/status_sync.hpp"
#include "core/net/retry.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

constexpr net::backoff start_pace{std::chrono::minutes(10), std::chrono::hours(1)};
constexpr const char* running = "running";
constexpr const char* deallocated = "deallocated";

} // namespace

base::result<base::json>
status_sync::set_power(backend& cloud, waldur::resource& resource, power_change change) {
  if (change == power_change::stop) {
    if (!is_marked(resource.backend_metadata)) {
      // Before the stop: a marker too many starts nothing, a missing one would leave it standing.
      const base::json marked = wanted_metadata(resource, base::json(), true);
      if (write(resource, "metadata", [&] {
            return waldur_.set_backend_metadata(resource.uuid, marked);
          })) {
        resource.backend_metadata = marked;
      }
    }
    return change_power(
        cloud, resource.paused ? host::operation::pause : host::operation::downscale, resource
    );
  }
  base::result<base::json> answer = change_power(cloud, host::operation::restore, resource);
  const std::lock_guard lock(mutex_);
  history& past = histories_[resource.uuid];
  if (answer) {
    past.start_failures = 0;
  } else {
    past.start_not_before =
        env_.clock.steady() +
        start_pace.delay(past.start_failures, net::random_jitter(), answer.error().retry_after);
    ++past.start_failures;
  }
  return answer;
}

bool status_sync::is_waiting_to_start(const base::uuid& resource) {
  const std::lock_guard lock(mutex_);
  const history& past = histories_[resource];
  return past.start_failures > 0 && env_.clock.steady() < past.start_not_before;
}

base::result<base::json>
status_sync::change_power(backend& cloud, host::operation op, const waldur::resource& resource) {
  resource_answer answer = call_about(offering_, env_, cloud, op, resource);
  if (!answer.rows) {
    if (!env_.stop.stop_requested()) {
      answer.log.failure(
          observe::level::warning,
          "power state not changed, tried again later",
          answer.rows.error(),
          {{"reference", answer.reference}}
      );
    }
    return std::move(answer.rows).error();
  }
  answer.log.info("power state is as wanted", {{"reference", answer.reference}});
  if (answer.rows->empty()) {
    const bool stops = op != host::operation::restore;
    return base::json::object({{"power", stops ? deallocated : running}});
  }
  return std::move(answer.rows->front());
}

} // namespace siteagent::agent
