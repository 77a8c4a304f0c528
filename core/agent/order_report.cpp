// SPDX-License-Identifier: MIT
// The end of a look at an order: reported to Waldur, or left for later.
#include "core/agent/order_run.hpp"

#include "core/agent/verdict.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr unsigned write_attempts = 3;
constexpr std::chrono::seconds write_pause{1};
constexpr std::chrono::seconds longest_write_pause{30};

} // namespace

bool is_state_conflict(const base::error& e) {
  return e.http_status == 409 || e.http_status == 400;
}

base::result<void>
repeat_write(const environment& env, const std::function<base::result<void>()>& write) {
  for (unsigned attempt = 1;; ++attempt) {
    base::result<void> answer = write();
    if (answer || react_to(answer.error()) != reaction::retry || attempt == write_attempts) {
      return answer;
    }
    std::chrono::milliseconds pause = write_pause * attempt;
    if (answer.error().retry_after) {
      pause = std::max(pause, *answer.error().retry_after);
    }
    if (pause > longest_write_pause || !env.pause(pause)) {
      return answer;
    }
  }
}

order_step order_run::done() {
  memory_->pending = order_memory::verdict{.done = true, .message = {}, .clear_resource = false};
  return report();
}

order_step order_run::erred(const base::error& why, bool clear_resource) {
  log_.failure(observe::level::warning, "order failed", why, {{"reference", reference_}});
  memory_->pending = order_memory::verdict{
      .done = false,
      .message = customer_text(why, reference_, offering_.settings().expose_backend_error_details),
      .clear_resource = clear_resource};
  return report();
}

// One attempt to close the order. true: it was us.
base::result<bool> order_run::close(const order_memory::verdict& verdict) {
  for (const bool last_look : {false, true}) {
    const base::result<std::string> state = waldur_.get_order_state(order_.uuid);
    if (!state) {
      return state.error();
    }
    if (*state != executing) {
      log_.warning("order was closed by somebody else", {{"state", *state}});
      return false;
    }
    base::result<void> answer = verdict.done ? waldur_.set_done(order_.uuid)
                                             : waldur_.set_erred(order_.uuid, verdict.message);
    if (answer) {
      return true;
    }
    // A conflict: closed between our look and our word, so the next look decides.
    if (last_look || !is_state_conflict(answer.error())) {
      return std::move(answer).error();
    }
  }
  return false;
}

order_step order_run::report() {
  const order_memory::verdict verdict = *memory_->pending;
  book_.note(order_.uuid, verdict.done ? "report to Waldur: done" : "report to Waldur: erred");
  bool ours = false;
  const base::result<void> told = repeat_write(env_, [&]() -> base::result<void> {
    const base::result<bool> closed = close(verdict);
    if (!closed) {
      return closed.error();
    }
    ours = *closed;
    return {};
  });
  if (!told) {
    return later(
        base::with_context(told.error(), verdict.done ? "set order done" : "set order erred")
    );
  }
  if (!ours) {
    return finished();
  }
  if (verdict.clear_resource && order_.resource) {
    const base::result<void> cleared =
        repeat_write(env_, [&] { return waldur_.set_resource_ok(*order_.resource); });
    if (!cleared) {
      log_.failure(observe::level::warning, "resource could not be set OK again", cleared.error());
    }
  }
  log_.info(verdict.done ? "order done" : "order erred", {{"reference", reference_}});
  const base::result<std::string> after = waldur_.get_order_state(order_.uuid);
  if (after && *after == executing) {
    // The server closes "the" executing order of a resource; with two of them it may close none.
    log_.warning("Waldur took the report but still shows the order as executing");
  }
  return finished();
}

order_step order_run::later(const base::error& why) {
  if (react_to(why) == reaction::stopped && env_.stop.stop_requested()) {
    return order_step::waiting;
  }
  const std::chrono::milliseconds pause = book_.postpone(order_.uuid, why);
  log_.failure(
      observe::level::warning,
      "order stays as it is and is tried again",
      why,
      {{"retry_in_s",
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(pause).count())},
       {"reference", reference_}}
  );
  return order_step::waiting;
}

order_step order_run::finished() {
  book_.forget(order_.uuid);
  return order_step::finished;
}

bool order_run::is_overdue(host::operation op) const {
  return memory_->first_attempt &&
         env_.clock.steady() - *memory_->first_attempt >= cloud_.deadline_of(op);
}

order_step
order_run::later_or_erred(const base::error& why, host::operation op, bool clear_resource) {
  // Refused credentials and a full cloud are nobody's deadline.
  if (why.code == base::error_code::auth) {
    memory_->first_attempt.reset();
    return later(why);
  }
  if (why.code == base::error_code::no_capacity || !is_overdue(op)) {
    return later(why);
  }
  base::error late = why;
  late.code = base::error_code::deadline;
  late.message = "not finished within its time: " + why.message;
  return erred(late, clear_resource);
}

} // namespace siteagent::agent
