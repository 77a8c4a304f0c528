// SPDX-License-Identifier: MIT
// Checkpoints of long cloud operations.
#include "core/agent/checkpoint.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::seconds look_interval{5};
constexpr const char* executing = "executing";
constexpr std::chrono::milliseconds longest_wait = std::chrono::hours(24); // as the host allows

void record(const observe::logger& audit, const base::json& what, const std::string& trace_id) {
  const std::string phase = what["phase"].string_or("");
  const std::string verb = what["verb"].string_or("");
  const std::string kind = what["kind"].string_or("");
  if (phase == "after") {
    audit.info(
        "cloud write",
        {{"verb", verb},
         {"kind", kind},
         {"id", what["id"].string_or("")},
         {"request_id", what["request_id"].string_or("")},
         {"reference", trace_id}}
    );
  } else if (const auto wait = throttled_wait_of(what)) {
    audit.info(
        "the cloud limits calls, waiting",
        {{"calls", wait->which},
         {"milliseconds", std::to_string(wait->time.count())},
         {"reference", trace_id}}
    );
  } else {
    audit.debug(
        "cloud step",
        {{"phase", phase},
         {"verb", verb},
         {"kind", kind},
         {"id", what["id"].string_or("")},
         {"percent", std::string(what["percent"].number_text().value_or(""))},
         {"reference", trace_id}}
    );
  }
}

} // namespace

order_watch::order_watch(
    portal& waldur, const base::clock& clock, base::uuid order, std::string known_state
)
    : waldur_(waldur), clock_(clock), order_(order), state_(std::move(known_state)),
      looked_(clock.steady()) {}

bool order_watch::still_wanted() {
  const std::lock_guard lock(mutex_);
  if (state_ == executing && clock_.steady() - looked_ >= look_interval) {
    const base::result<std::string> read = waldur_.get_order_state(order_);
    if (read) {
      state_ = *read;
    }
    looked_ = clock_.steady();
  }
  return state_ == executing;
}

bool order_watch::gone() const {
  const std::lock_guard lock(mutex_);
  return state_ != executing;
}

std::string order_watch::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::optional<throttled_wait> throttled_wait_of(const base::json& checkpoint) {
  if (checkpoint["phase"].string_or("") != "wait" ||
      checkpoint["reason"].string_or("") != "throttled") {
    return std::nullopt;
  }
  const std::int64_t ms = checkpoint["for_ms"].integer().value_or(0);
  return throttled_wait{
      checkpoint["class"].string_or(""),
      std::chrono::milliseconds(std::clamp<std::int64_t>(ms, 0, longest_wait.count()))};
}

host::checkpoint_function make_checkpoint(
    const environment& env,
    offering_context& offering,
    progress_board::activity& activity,
    order_watch* watch,
    observe::logger log,
    std::string trace_id
) {
  return [&env, &offering, &activity, watch, log = std::move(log), trace_id = std::move(trace_id)](
             const base::json& what
         ) -> base::result<void> {
    activity.touch();
    record(log, what, trace_id);
    if (const auto wait = throttled_wait_of(what)) {
      offering.note_throttled(env.clock.steady() + wait->time);
    }
    if (env.stop.stop_requested()) {
      return base::error{
          .code = base::error_code::cancelled, .message = "the agent is asked to stop"};
    }
    if (watch != nullptr && !watch->still_wanted()) {
      return base::error{
          .code = base::error_code::cancelled,
          .message = "the order is no longer executing but " + watch->state()};
    }
    return {};
  };
}

} // namespace siteagent::agent
