// SPDX-License-Identifier: MIT
// What an order's plugin calls are made of, and the call itself.
#include "core/agent/order_run.hpp"

#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

// A call that outlives its deadline by this much withholds the heartbeat.
constexpr std::chrono::minutes call_grace{5};

// "create_resource: put virtual-machine, 60 %"
std::string step_text(host::operation op, const base::json& what) {
  std::string text(host::name_of(op));
  const std::string verb = what["verb"].string_or("");
  const std::string kind = what["kind"].string_or("");
  if (!verb.empty() || !kind.empty()) {
    text += ": " + verb + (verb.empty() || kind.empty() ? "" : " ") + kind;
  }
  if (const auto percent = what["percent"].number_text()) {
    text += ", " + std::string(*percent) + " %";
  }
  return text;
}

} // namespace

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
  book_.note(order_.uuid, step_text(op, {}));
  options.checkpoint =
      [this, op, go_on = make_checkpoint(env_, offering_, activity, watch, log_, reference_)](
          const base::json& what
      ) {
        if (const auto wait = throttled_wait_of(what)) {
          book_.note_throttled(order_.uuid, wait->which, env_.clock.steady() + wait->time);
        } else {
          book_.note(order_.uuid, step_text(op, what));
        }
        return go_on(what);
      };
  emitted answer = cloud_.call(op, request, options);
  if (!answer && react_to(answer.error()) == reaction::hold_offering) {
    offering_.hold(answer.error());
  }
  return answer;
}

} // namespace siteagent::agent
