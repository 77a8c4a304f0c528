// SPDX-License-Identifier: MIT
// Pausing, downscaling and restoring in a pass of status synchronisation.
#include "core/agent/checkpoint.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/status_sync.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"
#include "core/net/retry.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};
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
  const std::string reference = base::uuid::random().hex();
  const observe::logger log = offering_.log()
                                  .with("resource", resource.uuid.hex())
                                  .with("action", std::string(host::name_of(op)));
  progress_board::activity activity = env_.progress.begin(
      std::string(host::name_of(op)) + " of " + resource.uuid.hex(),
      cloud.deadline_of(op) + call_grace
  );
  host::call_request request;
  request.target = std::string(base::trim(resource.backend_id));
  request.idempotency_key = resource.uuid.hex();
  request.body.set("resource", resource_to_json(resource));
  host::call_options options;
  options.stop = env_.stop;
  options.trace_id = reference;
  options.checkpoint = make_checkpoint(env_, activity, nullptr, log, reference);
  base::result<std::vector<base::json>> answer = cloud.call(op, request, options);
  if (!answer) {
    if (react_to(answer.error()) == reaction::hold_offering) {
      offering_.hold(answer.error());
    }
    if (!env_.stop.stop_requested()) {
      log.failure(
          observe::level::warning,
          "power state not changed, tried again later",
          answer.error(),
          {{"reference", reference}}
      );
    }
    return std::move(answer).error();
  }
  log.info("power state is as wanted", {{"reference", reference}});
  if (answer->empty()) {
    const bool stops = op != host::operation::restore;
    return base::json::object({{"power", stops ? deallocated : running}});
  }
  return std::move(answer->front());
}

} // namespace siteagent::agent
