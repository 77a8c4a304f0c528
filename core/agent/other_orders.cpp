// SPDX-License-Identifier: MIT
// Update, Terminate and Restore orders, and the look at a recorded machine.
#include "core/agent/order_run.hpp"

#include "core/agent/request_body.hpp"
#include "core/agent/usage_report.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

// Between the two looks that make an absence believable.
constexpr std::chrono::seconds second_look{5};

} // namespace

order_step order_run::update() {
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    return later(resource.error());
  }
  base::result<base::json> request = body(*resource);
  if (!request) {
    return later(request.error());
  }
  const base::json& order = (*request)["order"];
  const bool same_amounts = order_.limits.empty() || same_limits(order_.limits, resource->limits);
  const bool same_quotas = order["plan_quotas"] == order["old_plan_quotas"];
  if (same_amounts && same_quotas) {
    return done();
  }
  if (!memory_->first_attempt) {
    memory_->first_attempt = env_.clock.steady();
  }
  const std::string target(base::trim(resource->backend_id));
  const emitted answer =
      call(host::operation::set_resource_limits, target, *std::move(request), nullptr);
  if (answer) {
    return done();
  }
  if (react_to(answer.error()) != reaction::fail) {
    return later_or_erred(answer.error(), host::operation::set_resource_limits, true);
  }
  base::error why = answer.error();
  if (why.code == base::error_code::unsupported && why.public_message.empty()) {
    why.public_message = "Resizing is not carried out by this offering";
  }
  return erred(why, true);
}

order_step order_run::terminate() {
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    return later(resource.error());
  }
  base::result<base::json> request = body(*resource);
  if (!request) {
    return later(request.error());
  }
  if (!memory_->first_attempt) {
    memory_->first_attempt = env_.clock.steady();
  }
  // Without an id everything tagged for the resource goes, which may be nothing.
  const std::string target(base::trim(resource->backend_id));
  order_watch watch(waldur_, env_.clock, order_.uuid, order_.state);
  // Once: what is deleted in part says nothing about the month any more.
  if (!memory_->is_finally_metered && !offering_.breaker().is_open()) {
    memory_->is_finally_metered = true;
    usage_report(offering_, waldur_, env_).run_final(*resource);
  }
  const emitted answer =
      call(host::operation::delete_resource, target, *std::move(request), &watch);
  if (!answer) {
    if (watch.gone()) {
      log_.warning("order is no longer executing, stopped", {{"state", watch.state()}});
      return finished();
    }
    switch (react_to(answer.error())) {
    case reaction::not_there:
      break;
    case reaction::fail:
      return erred(answer.error());
    case reaction::stopped:
      return later(answer.error());
    default:
      return later_or_erred(answer.error(), host::operation::delete_resource);
    }
  } else {
    for (const base::json& report : *answer) {
      for (const base::json& item : report["remaining"].items()) {
        log_.warning(
            "an object stays behind",
            {{"id", item["id"].string_or("")}, {"reason", item["reason"].string_or("")}}
        );
      }
    }
  }
  return done();
}

order_step order_run::restore() {
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    return later(resource.error());
  }
  if (!memory_->first_attempt) {
    memory_->first_attempt = env_.clock.steady();
  }
  if (base::trim(resource->backend_id).empty()) {
    return erred(
        {.code = base::error_code::not_found,
         .message = "no machine is recorded for this resource, so there is nothing to restore",
         .public_message = "No machine is recorded for this resource; please order a new one"}
    );
  }
  const base::result<base::json> row = look(*resource);
  if (!row) {
    return later(row.error());
  }
  if ((*row)["presence"].string_or("") == "absent") {
    return erred(
        {.code = base::error_code::not_found,
         .message = "machine " + resource->backend_id +
                    " does not exist; it cannot be re-created under its old id",
         .public_message = "The machine no longer exists and cannot be re-created; please order a "
                           "new one"}
    );
  }
  return restore_present(*resource);
}

order_step order_run::restore_present(const waldur::resource& resource) {
  const std::string target(base::trim(resource.backend_id));
  base::json request = base::json::object({{"resource", resource_to_json(resource)}});
  order_watch watch(waldur_, env_.clock, order_.uuid, order_.state);
  const emitted answer = call(host::operation::restore, target, std::move(request), &watch);
  if (answer) {
    if (!answer->empty()) {
      post_facts(resource, answer->front(), {});
    }
    return done();
  }
  if (watch.gone()) {
    log_.warning("order is no longer executing, stopped", {{"state", watch.state()}});
    return finished();
  }
  switch (react_to(answer.error())) {
  case reaction::fail:
    return erred(answer.error());
  case reaction::stopped:
  case reaction::not_there: // the next look decides whether it is gone
    return later(answer.error());
  default:
    return later_or_erred(answer.error(), host::operation::restore);
  }
}

base::result<base::json> order_run::look_once(const waldur::resource& resource) {
  const std::string id(base::trim(resource.backend_id));
  base::json request = base::json::object();
  base::json wanted = base::json::object({{"uuid", resource.uuid.hex()}, {"backend_id", id}});
  request.set("resources", base::json::array({std::move(wanted)}));
  request.set("tags", offering_tags(offering_.config().uuid));
  request.set("uuid_tag", tag_resource);
  request.set("components", inputs_.info->components_body);
  emitted answer = call(host::operation::pull_resources, "", std::move(request), nullptr);
  if (!answer) {
    return std::move(answer).error();
  }
  for (base::json& row : *answer) {
    const auto uuid = base::uuid::parse(row["uuid"].string_or(""));
    if (uuid != resource.uuid) {
      continue;
    }
    const std::string presence = row["presence"].string_or("unknown");
    if (presence == "absent" ||
        (presence == "present" && row["state"].string_or("") != "deleting")) {
      return std::move(row);
    }
    return base::error{
        .code = base::error_code::transient,
        .message = "the state of " + id + " is not known: " + row["error"].string_or(presence)};
  }
  return base::error{
      .code = base::error_code::transient,
      .message = "the plugin said nothing about " + id + ", which proves nothing"};
}

base::result<base::json> order_run::look(const waldur::resource& resource) {
  base::result<base::json> first = look_once(resource);
  if (!first || (*first)["presence"].string_or("") != "absent") {
    return first;
  }
  if (!env_.pause(second_look)) {
    return base::error{.code = base::error_code::cancelled, .message = "the agent is stopping"};
  }
  return look_once(resource);
}

} // namespace siteagent::agent
