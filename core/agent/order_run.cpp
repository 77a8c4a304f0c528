// SPDX-License-Identifier: MIT
// One look at one order: approval, dispatch, and the report to Waldur.
#include "core/agent/order_run.hpp"

#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr const char* executing = "executing";
constexpr unsigned write_attempts = 3;
constexpr std::chrono::seconds write_pause{1};
constexpr std::chrono::seconds longest_write_pause{30};
// A call that outlives its deadline by this much withholds the heartbeat.
constexpr std::chrono::minutes call_grace{5};

bool is_state_conflict(const base::error& e) {
  return e.http_status == 409 || e.http_status == 400;
}

} // namespace

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

order_run::order_run(
    offering_context& offering,
    portal& waldur,
    backend& cloud,
    environment& env,
    order_book& book,
    const order_inputs& inputs,
    waldur::order listed
)
    : offering_(offering), waldur_(waldur), cloud_(cloud), env_(env), book_(book), inputs_(inputs),
      order_(std::move(listed)), memory_(book.memory_of(order_.uuid)),
      log_(offering.log()
               .with("order", order_.uuid.hex())
               .with("order_type", order_.type)
               .with("resource", order_.resource ? order_.resource->hex() : std::string("none"))),
      reference_(base::uuid::random().hex()) {}

order_step order_run::go() {
  if (memory_->pending) {
    return report();
  }
  if (!order_.resource) {
    log_.info("order has no resource yet, left for the next pass");
    return order_step::waiting;
  }
  base::result<waldur::order> fresh = waldur_.get_order(order_.uuid);
  if (!fresh) {
    return later(base::with_context(std::move(fresh).error(), "read order"));
  }
  order_ = *std::move(fresh);
  if (!order_.resource) {
    return order_step::waiting;
  }
  if (order_.state == "pending-provider") {
    return decide();
  }
  if (order_.state == executing) {
    return dispatch();
  }
  log_.info("order needs nothing from the agent", {{"state", order_.state}});
  return finished();
}

order_step order_run::decide() {
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    return later(resource.error());
  }
  base::result<base::json> request = body(*resource);
  if (!request) {
    return later(request.error());
  }
  const std::string target(base::trim(resource->backend_id));
  const emitted answer =
      call(host::operation::evaluate_order, target, *std::move(request), nullptr);
  if (!answer) {
    if (react_to(answer.error()) == reaction::fail) {
      const bool told = !answer.error().public_message.empty();
      log_.failure(observe::level::warning, "order refused", answer.error());
      return reject(
          told ? safe_text(answer.error().public_message)
               : customer_text(
                     answer.error(), reference_, offering_.settings().expose_backend_error_details
                 )
      );
    }
    return later(answer.error());
  }
  const base::json& decision = answer->empty() ? base::json() : answer->front();
  const std::string word = decision["decision"].string_or("");
  if (word == "accept") {
    return approve();
  }
  if (word == "reject") {
    return reject(safe_text(decision["reason"].string_or("The provider refused this order")));
  }
  if (word == "wait") {
    log_.info("the plugin lets the order wait", {{"reason", decision["reason"].string_or("")}});
    return order_step::waiting;
  }
  return later(base::error{
      .code = base::error_code::plugin_bug,
      .message = "plugin " + cloud_.plugin_id() + ": evaluate_order emitted no decision"});
}

order_step order_run::reject(std::string_view comment) {
  const base::result<void> answer = waldur_.reject(order_.uuid, comment);
  if (!answer && !is_state_conflict(answer.error())) {
    return later(base::with_context(answer.error(), "reject order"));
  }
  log_.info("order rejected", {{"comment", std::string(comment)}});
  return finished();
}

order_step order_run::approve() {
  if (env_.stop.stop_requested()) {
    return order_step::waiting;
  }
  const base::result<void> answer = waldur_.approve(order_.uuid);
  if (!answer && !is_state_conflict(answer.error()) &&
      answer.error().code != base::error_code::outcome_unknown) {
    return later(base::with_context(answer.error(), "approve order"));
  }
  // Somebody else may have approved it, and an approval may lead to other states than executing.
  base::result<waldur::order> fresh = waldur_.get_order(order_.uuid);
  if (!fresh) {
    return later(base::with_context(std::move(fresh).error(), "read order after approval"));
  }
  order_ = *std::move(fresh);
  if (order_.state == executing) {
    log_.info("order approved");
    return dispatch();
  }
  log_.info("order is not executing after approval, left as it is", {{"state", order_.state}});
  if (order_.state == "pending-provider") {
    return answer ? order_step::waiting
                  : later(base::with_context(answer.error(), "approve order"));
  }
  return finished();
}

order_step order_run::dispatch() {
  if (env_.stop.stop_requested()) {
    return order_step::waiting;
  }
  if (order_.type == "Create") {
    return create();
  }
  if (order_.type == "Update") {
    return update();
  }
  if (order_.type == "Terminate") {
    return terminate();
  }
  if (order_.type == "Restore") {
    return restore();
  }
  if (offering_.first_time("order type " + order_.type)) {
    log_.warning("orders of this type are not known to this agent and stay as they are");
  }
  return order_step::waiting;
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
  const std::chrono::milliseconds pause = book_.postpone(order_.uuid, why.retry_after);
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

base::result<waldur::resource> order_run::read_resource() {
  base::result<waldur::resource> read = waldur_.get_resource(*order_.resource);
  if (!read) {
    return base::with_context(std::move(read).error(), "read resource " + order_.resource->hex());
  }
  return read;
}

base::result<waldur::limits> order_run::quotas_of(const std::optional<base::uuid>& plan) {
  if (!plan) {
    return waldur::limits{};
  }
  base::result<waldur::plan> read = waldur_.get_plan(*plan);
  if (!read) {
    return base::with_context(std::move(read).error(), "read plan " + plan->hex());
  }
  return std::move(read->quotas);
}

base::result<void> order_run::add_plans(base::json& order, const waldur::resource& resource) {
  const std::optional<base::uuid> new_plan = order_.plan ? order_.plan : resource.plan;
  base::result<waldur::limits> quotas = quotas_of(new_plan);
  if (order_.type != "Update") {
    // Only an Update turns on them; elsewhere an unreadable plan must not stop the order.
    if (quotas) {
      order.set("plan_quotas", limits_to_json(*quotas));
    } else if (react_to(quotas.error()) == reaction::retry) {
      return quotas.error();
    } else {
      log_.failure(observe::level::warning, "going on without the plan's quotas", quotas.error());
    }
    return {};
  }
  if (!quotas) {
    return quotas.error();
  }
  order.set("plan_quotas", limits_to_json(*quotas));
  const std::optional<base::uuid> old_plan = resource.plan ? resource.plan : order_.old_plan;
  base::result<waldur::limits> old_quotas = old_plan == new_plan ? quotas : quotas_of(old_plan);
  if (!old_quotas) {
    return old_quotas.error();
  }
  order.set("old_plan_quotas", limits_to_json(*old_quotas));
  order.set("old_limits", limits_to_json(resource.limits));
  return {};
}

base::result<base::json> order_run::body(const waldur::resource& resource) {
  base::json order = order_to_json(order_);
  if (const base::result<void> plans = add_plans(order, resource); !plans) {
    return plans.error();
  }
  base::json request = base::json::object();
  request.set("order", std::move(order));
  request.set("resource", resource_to_json(resource));
  request.set("offering", offering_to_json(offering_.config()));
  const std::string& slug =
      resource.project_slug.empty() ? order_.project_slug : resource.project_slug;
  request.set("tags", resource_tags(offering_.config().uuid, resource.uuid, slug));
  request.set("uuid_tag", tag_resource);
  request.set("components", inputs_.info->components_body);
  if (inputs_.ssh_keys) {
    request.set("ssh_keys", keys_to_json(*inputs_.ssh_keys));
  }
  return request;
}

order_run::emitted order_run::call(
    host::operation op,
    const std::string& target,
    base::json request_body,
    order_watch* watch,
    std::chrono::milliseconds deadline
) {
  if (offering_.breaker().is_open()) {
    return base::error{
        .code = base::error_code::not_ready,
        .message = "the cloud refused the credentials of this offering; orders wait"};
  }
  const std::chrono::milliseconds allowed =
      deadline.count() > 0 ? deadline : cloud_.deadline_of(op);
  progress_board::activity activity = env_.progress.begin(
      std::string(host::name_of(op)) + " for order " + order_.uuid.hex(), allowed + call_grace
  );
  host::call_request request;
  request.target = target;
  request.body = std::move(request_body);
  request.idempotency_key = order_.resource->hex();
  host::call_options options;
  options.deadline = allowed;
  options.stop = env_.stop;
  options.trace_id = reference_;
  options.checkpoint = make_checkpoint(env_, activity, watch, log_, reference_);
  emitted answer = cloud_.call(op, request, options);
  if (!answer && react_to(answer.error()) == reaction::hold_offering) {
    offering_.hold(answer.error());
  }
  return answer;
}

} // namespace siteagent::agent
