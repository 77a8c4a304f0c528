// SPDX-License-Identifier: MIT
// Create orders: provision or adopt, record the machine in Waldur, clean up what failed.
#include "core/agent/order_run.hpp"

#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

std::vector<waldur::endpoint> endpoints_of(const base::json& list) {
  std::vector<waldur::endpoint> endpoints;
  for (const base::json& item : list.items()) {
    waldur::endpoint e{item["name"].string_or(""), item["url"].string_or("")};
    if (!e.name.empty() && !e.url.empty()) {
      endpoints.push_back(std::move(e));
    }
  }
  return endpoints;
}

waldur::limits limits_of(const base::json& object) {
  waldur::limits l;
  for (const auto& [type, amount] : object.members()) {
    if (const auto text = amount.number_text()) {
      l.emplace(type, std::string(*text));
    }
  }
  return l;
}

std::string names_of(const base::json& list) {
  std::vector<std::string> names;
  for (const base::json& item : list.items()) {
    names.push_back(item.is_string() ? item.string_or("") : item["id"].string_or(""));
  }
  return base::join(names, ", ");
}

} // namespace

order_step order_run::create() {
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    return later(resource.error());
  }
  if (memory_->created) {
    return record_machine(*resource);
  }
  if (!base::trim(resource->backend_id).empty()) {
    memory_->failure.reset();
    return adopt(*resource);
  }
  return memory_->failure ? clean_up() : provision(*resource);
}

order_step order_run::provision(const waldur::resource& resource) {
  base::result<base::json> request = body(resource);
  if (!request) {
    return later(request.error());
  }
  if (!memory_->first_attempt) {
    memory_->first_attempt = env_.clock.steady();
  }
  const auto used = std::chrono::duration_cast<std::chrono::milliseconds>(
      env_.clock.steady() - *memory_->first_attempt
  );
  const std::chrono::milliseconds left =
      cloud_.deadline_of(host::operation::create_resource) - used;
  if (left.count() <= 0) {
    return provision_failed(
        resource,
        {.code = base::error_code::deadline, .message = "not finished within its time"},
        true
    );
  }
  order_watch watch(waldur_, env_.clock, order_.uuid, order_.state);
  emitted answer = call(host::operation::create_resource, "", *std::move(request), &watch, left);
  if (!answer) {
    if (watch.gone()) {
      return abandon(watch.state());
    }
    return provision_failed(
        resource, std::move(answer).error(), is_overdue(host::operation::create_resource)
    );
  }
  const base::json& machine = answer->empty() ? base::json() : answer->front();
  if (base::trim(machine["backend_id"].string_or("")).empty()) {
    return later_or_erred(
        {.code = base::error_code::plugin_bug,
         .message = "plugin " + cloud_.plugin_id() + ": create_resource emitted no backend_id"},
        host::operation::create_resource
    );
  }
  log_.info(
      machine["adopted"].boolean().value_or(false) ? "machine found and adopted"
                                                   : "machine created",
      {{"backend_id", machine["backend_id"].string_or("")}}
  );
  memory_->created = machine;
  return record_machine(resource);
}

order_step
order_run::provision_failed(const waldur::resource& resource, base::error why, bool overdue) {
  const reaction what = react_to(why);
  if (env_.stop.stop_requested()) {
    return order_step::waiting;
  }
  if (what == reaction::hold_offering) {
    memory_->first_attempt.reset(); // nobody's deadline
    return later(why);
  }
  if (what != reaction::fail && !overdue) {
    return later(why);
  }
  if (what != reaction::fail) {
    why.code = base::error_code::deadline;
  }
  log_.failure(
      observe::level::warning,
      "create failed, removing what it made",
      why,
      {{"name", resource.name}, {"reference", reference_}}
  );
  memory_->failure = std::move(why);
  memory_->cleaning_since = env_.clock.steady();
  return clean_up();
}

// The machine exists. From here on nothing may err the order; only set_backend_id must succeed.
order_step order_run::record_machine(const waldur::resource& resource) {
  const base::json machine = *memory_->created;
  const std::string backend_id = machine["backend_id"].string_or("");
  if (resource.backend_id != backend_id) {
    const base::result<std::string> state = waldur_.get_order_state(order_.uuid);
    if (state && *state != "executing") {
      return abandon(*state);
    }
    const base::result<void> recorded =
        repeat_write(env_, [&] { return waldur_.set_backend_id(resource.uuid, backend_id); });
    if (!recorded) {
      return later(base::with_context(recorded.error(), "record the machine in Waldur"));
    }
  }
  const waldur::limits own = limits_of(machine["limits"]);
  post_facts(resource, machine, own.empty() ? order_.limits : own);
  const base::result<std::string> state = waldur_.get_order_state(order_.uuid);
  if (state && *state == "canceled") {
    // Cancelled while the machine was being recorded: nobody would ever use or delete it.
    return abandon(*state);
  }
  return done();
}

// Bookkeeping that never decides over an order.
void order_run::post_facts(
    const waldur::resource& resource, const base::json& facts, const waldur::limits& limits
) {
  const auto attempt = [&](const char* what, const std::function<base::result<void>()>& write) {
    const base::result<void> answer = repeat_write(env_, write);
    if (!answer) {
      log_.failure(
          observe::level::warning, "not recorded in Waldur", answer.error(), {{"what", what}}
      );
    }
  };
  if (!limits.empty()) {
    attempt("limits", [&] { return waldur_.set_limits(resource.uuid, limits); });
  }
  const base::json& metadata = facts["metadata"];
  if (metadata.size() > 0 && !(metadata == resource.backend_metadata)) {
    attempt("metadata", [&] { return waldur_.set_backend_metadata(resource.uuid, metadata); });
  }
  const std::vector<waldur::endpoint> endpoints = endpoints_of(facts["endpoints"]);
  if (!endpoints.empty()) {
    attempt("endpoints", [&] { return waldur_.set_endpoints(resource.uuid, endpoints); });
  }
}

// Waldur already knows a machine: an earlier run made it and only the end is missing.
order_step order_run::adopt(const waldur::resource& resource) {
  if (!memory_->first_attempt) {
    memory_->first_attempt = env_.clock.steady();
  }
  const base::result<base::json> row = look(resource);
  if (!row) {
    return later(row.error());
  }
  if ((*row)["presence"].string_or("") == "absent") {
    return erred(
        {.code = base::error_code::not_found,
         .message = "the machine " + resource.backend_id +
                    " that Waldur holds for this resource does not exist; it is not created again, "
                    "because a new one would have another id",
         .public_message = "The machine recorded for this resource no longer exists"}
    );
  }
  log_.info("machine of an earlier run found", {{"backend_id", resource.backend_id}});
  const waldur::limits own = limits_of((*row)["limits"]);
  const waldur::limits& wanted = own.empty() ? order_.limits : own;
  post_facts(resource, *row, same_limits(wanted, resource.limits) ? waldur::limits{} : wanted);
  return done();
}

// Deletes what carries the resource's tag. Runs until it is finished or its own deadline passed.
order_step order_run::clean_up() {
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    return later(resource.error());
  }
  if (!base::trim(resource->backend_id).empty()) {
    memory_->failure.reset();
    memory_->first_attempt.reset();
    return later(
        {.code = base::error_code::transient,
         .message = "another agent recorded a machine for this resource, taking it over"}
    );
  }
  base::result<base::json> request = body(*resource);
  if (!request) {
    return later(request.error());
  }
  request->set("keep_working_machine", true);
  return cleaned(call(host::operation::delete_resource, "", *std::move(request), nullptr));
}

order_step order_run::cleaned(const emitted& answer) {
  const base::error failure = *memory_->failure;
  if (answer) {
    const std::string rest =
        answer->empty() ? std::string() : names_of(answer->front()["remaining"]);
    if (!rest.empty()) {
      log_.warning("clean-up left objects that are not ours to delete", {{"objects", rest}});
    }
    return erred(failure);
  }
  const base::error& why = answer.error();
  if (react_to(why) == reaction::not_there) {
    return erred(failure);
  }
  if (why.code == base::error_code::conflict) {
    memory_->failure.reset();
    memory_->first_attempt.reset();
    return later(base::with_context(why, "the machine works after all and will be adopted"));
  }
  if (react_to(why) == reaction::stopped || why.code == base::error_code::auth) {
    return later(why);
  }
  const auto time = env_.clock.steady() - *memory_->cleaning_since;
  if (time < cloud_.deadline_of(host::operation::delete_resource)) {
    return later(base::with_context(why, "clean up after a failed create"));
  }
  log_.failure(
      observe::level::error,
      "clean-up could not be finished in its time; remove the objects tagged with this resource",
      why,
      {{"detail", why.detail}, {"tag", std::string(tag_resource) + "=" + order_.resource->hex()}}
  );
  return erred(failure);
}

// The order was closed by somebody while we worked on it.
order_step order_run::abandon(const std::string& state) {
  log_.warning("order is no longer executing, stopped", {{"state", state}});
  const bool dead = state == "canceled" || state == "erred" || state == "rejected";
  const base::result<waldur::resource> resource = read_resource();
  if (!resource) {
    log_.failure(
        observe::level::warning, "leftovers, if any, are left to the sweep", resource.error()
    );
    return finished();
  }
  // A recorded machine belongs to its resource, except when we recorded it after the cancellation.
  const bool recorded = !base::trim(resource->backend_id).empty();
  const bool ours = !recorded || (state == "canceled" && memory_->created.has_value());
  if (!dead || !ours) {
    return finished();
  }
  base::result<base::json> request = body(*resource);
  if (!request) {
    log_.failure(
        observe::level::warning, "leftovers, if any, are left to the sweep", request.error()
    );
    return finished();
  }
  const emitted answer = call(host::operation::delete_resource, "", *std::move(request), nullptr);
  if (answer || react_to(answer.error()) == reaction::not_there) {
    log_.info("everything made for the closed order is removed");
  } else {
    log_.failure(
        observe::level::warning,
        "not everything made for the closed order is removed; the sweep tries again",
        answer.error()
    );
  }
  return finished();
}

} // namespace siteagent::agent
