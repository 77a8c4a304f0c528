// SPDX-License-Identifier: MIT
// One look at one order: evaluation, approval, dispatch.
#include "core/agent/order_run.hpp"

#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <utility>

namespace siteagent::agent {

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

} // namespace siteagent::agent
