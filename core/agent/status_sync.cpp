// SPDX-License-Identifier: MIT
// One pass of status synchronisation.
#include "core/agent/status_sync.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/order_run.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"
#include "core/net/retry.hpp"

#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};
constexpr unsigned passes_to_believe = 2;
constexpr net::backoff start_pace{std::chrono::minutes(10), std::chrono::hours(1)};
constexpr const char* failed_text = "the provider's system reports this machine as failed";
constexpr const char* running = "running";
constexpr const char* deallocated = "deallocated";

bool is_marked(const base::json& metadata) {
  return metadata[stopped_marker].boolean().value_or(false);
}

// Paused and standing: it is ours to start again, whoever stopped it (also the Python agent).
bool is_ours_to_start(const waldur::resource& r, bool was_marked, const std::string& power) {
  if (!r.power_flags_known) {
    return was_marked;
  }
  return r.paused || r.downscaled ? was_marked || power == deallocated
                                  : was_marked && power != running;
}

// Is the machine in another power state than Waldur wants, and is it ours to change that?
bool is_power_owed(const waldur::resource& r, const std::string& power) {
  if (!r.power_flags_known || power.empty()) {
    return false;
  }
  return r.paused || r.downscaled ? power != deallocated
                                  : is_marked(r.backend_metadata) && power != running;
}

// Waldur's own member is no news of the plugin's.
base::json without_marker(base::json metadata) {
  metadata.erase(stopped_marker);
  return metadata;
}

} // namespace

status_sync::status_sync(offering_context& offering, portal& waldur, environment& env)
    : offering_(offering), waldur_(waldur), env_(env) {}

base::result<void> status_sync::run() {
  base::result<std::shared_ptr<backend>> cloud =
      offering_.backend_for(offering_.config().membership_sync_backend);
  if (!cloud) {
    return std::move(cloud).error();
  }
  base::result<std::vector<waldur::resource>> resources = waldur_.list_resources({"OK", "Erred"});
  if (!resources) {
    return base::with_context(std::move(resources).error(), "list resources");
  }
  std::erase_if(*resources, [](const waldur::resource& r) {
    return base::trim(r.backend_id).empty();
  });
  std::set<base::uuid> known;
  for (const waldur::resource& r : *resources) {
    known.insert(r.uuid);
  }
  std::erase_if(histories_, [&](const auto& h) { return !known.contains(h.first); });
  if (resources->empty()) {
    return {};
  }
  if (base::result<void> admitted = offering_.admit(**cloud); !admitted) {
    return admitted;
  }
  const base::result<rows> seen = pull(**cloud, *resources);
  if (!seen) {
    return seen.error();
  }
  task_group group;
  static const base::json unknown = base::json::object({{"presence", "unknown"}});
  for (const waldur::resource& r : *resources) {
    const auto row = seen->find(r.uuid);
    const base::json& what = row == seen->end() ? unknown : row->second;
    history& past = histories_[r.uuid]; // map nodes stay where they are
    env_.pool.submit(group, [this, &cloud, &r, &what, &past] {
      if (!env_.stop.stop_requested()) {
        sync_one(**cloud, r, what, past);
      }
    });
  }
  group.wait();
  return {};
}

base::result<status_sync::rows>
status_sync::pull(backend& cloud, const std::vector<waldur::resource>& resources) {
  progress_board::activity activity = env_.progress.begin(
      "status of " + offering_.config().name,
      cloud.deadline_of(host::operation::pull_resources) + call_grace
  );
  const base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return info.error();
  }
  host::call_request request;
  request.body.set("resources", resource_refs(resources));
  request.body.set("tags", offering_tags(offering_.config().uuid));
  request.body.set("uuid_tag", tag_resource);
  request.body.set("components", (*info)->components_body);
  host::call_options options;
  options.stop = env_.stop;
  options.checkpoint =
      make_checkpoint(env_, activity, nullptr, offering_.log(), std::string("status"));
  base::result<std::vector<base::json>> answer =
      cloud.call(host::operation::pull_resources, request, options);
  if (!answer) {
    if (react_to(answer.error()) == reaction::hold_offering) {
      offering_.hold(answer.error());
    }
    return std::move(answer).error();
  }
  return rows_by_uuid(*std::move(answer));
}

void status_sync::sync_one(
    backend& cloud, const waldur::resource& listed, const base::json& row, history& past
) {
  const std::string presence = row["presence"].string_or("unknown");
  const std::string state = row["state"].string_or("");
  // A start or stop that failed leaves a machine "failed" that the next one sets right.
  const bool owed = presence == "present" && state == "failed" &&
                    is_power_owed(listed, row["power"].string_or(""));
  const bool failed = presence == "present" && state == "failed" && !owed;
  past.absent = presence == "absent" ? past.absent + 1 : 0;
  past.failed = failed ? past.failed + 1 : 0;
  const bool healthy = presence == "present" && (state == "ok" || owed);
  const bool trouble = past.absent >= passes_to_believe || past.failed >= passes_to_believe;
  if (!healthy && !trouble) {
    return;
  }
  const std::optional<resource_locks::guard> lock = env_.locks.try_lock(listed.uuid);
  if (!lock) {
    return; // an order works on it
  }
  // The list may be minutes old, and an order may have ended since.
  const base::result<waldur::resource> fresh = waldur_.get_resource(listed.uuid);
  if (!fresh || fresh->backend_id != listed.backend_id ||
      (fresh->state != "OK" && fresh->state != "Erred")) {
    return;
  }
  if (trouble) {
    report_trouble(*fresh, row, past.absent > 0 ? "missing on backend" : failed_text);
    return;
  }
  const bool was_marked = is_marked(fresh->backend_metadata);
  const std::string power = row["power"].string_or("");
  if (owed && !is_power_owed(*fresh, power)) {
    return; // it is failed after all, which the next pass tells
  }
  const base::result<base::json> changed = set_power(cloud, *fresh, power, was_marked, past);
  if (!changed) {
    return;
  }
  const base::json& metadata =
      (*changed)["metadata"].size() > 0 ? (*changed)["metadata"] : row["metadata"];
  const bool marked = is_ours_to_start(*fresh, was_marked, (*changed)["power"].string_or(power));
  record(*fresh, metadata, marked, row["limits"]);
}

// What Waldur shows of a healthy machine.
void status_sync::record(
    const waldur::resource& resource,
    const base::json& metadata,
    bool marked,
    const base::json& limits
) {
  bool complete = post_metadata(resource, metadata, marked);
  waldur::limits figures;
  for (const auto& [type, amount] : limits.members()) {
    if (const auto text = amount.number_text()) {
      figures.emplace(type, std::string(*text));
    }
  }
  if (!figures.empty() && !same_limits(figures, resource.limits)) {
    complete &= write(resource, "limits", [&] {
                  return waldur_.set_limits(resource.uuid, figures);
                }).has_value();
  }
  if (complete) {
    (void)write(resource, "last sync", [&] { return waldur_.refresh_last_sync(resource.uuid); });
  }
  if (resource.state == "Erred" &&
      write(resource, "state OK", [&] { return waldur_.set_resource_ok(resource.uuid); })) {
    offering_.log().info("resource is OK again", {{"resource", resource.uuid.hex()}});
  }
}

// The plugin's words go to the log only: they may name what is none of the customer's business.
void status_sync::report_trouble(
    const waldur::resource& resource, const base::json& row, std::string_view message
) {
  if (resource.state == "Erred") {
    return;
  }
  offering_.log().error(
      "machine is missing or failed",
      {{"resource", resource.uuid.hex()},
       {"backend_id", resource.backend_id},
       {"error", row["error"].string_or(message)}}
  );
  (void)write(resource, "state Erred", [&] {
    return waldur_.set_resource_erred(resource.uuid, message);
  });
}

base::result<base::json> status_sync::set_power(
    backend& cloud,
    const waldur::resource& resource,
    const std::string& power,
    bool marked,
    history& past
) {
  if (!resource.power_flags_known) {
    return base::json();
  }
  if (resource.paused || resource.downscaled) {
    if (power == deallocated) {
      return base::json();
    }
    if (!marked) {
      // Before the stop: a marker too many starts nothing, a missing one would leave it standing.
      (void)post_metadata(resource, without_marker(resource.backend_metadata), true);
    }
    return change_power(
        cloud, resource.paused ? host::operation::pause : host::operation::downscale, resource
    );
  }
  if (!marked || power == running) {
    past.start_failures = 0;
    return base::json();
  }
  if (past.start_failures > 0 && env_.clock.steady() < past.start_not_before) {
    return base::error{.code = base::error_code::no_capacity, .message = "waiting to start again"};
  }
  base::result<base::json> answer = change_power(cloud, host::operation::restore, resource);
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

// Posts only what differs. false: it could not be posted.
bool status_sync::post_metadata(
    const waldur::resource& resource, base::json metadata, bool marked
) {
  if (metadata.size() == 0) {
    metadata = without_marker(resource.backend_metadata);
  }
  if (marked) {
    metadata.set(stopped_marker, true);
  }
  const bool both_empty = metadata.size() == 0 && resource.backend_metadata.size() == 0;
  if (both_empty || metadata == resource.backend_metadata) {
    return true;
  }
  return write(
             resource,
             "metadata",
             [&] { return waldur_.set_backend_metadata(resource.uuid, metadata); }
  ).has_value();
}

base::result<void> status_sync::write(
    const waldur::resource& resource,
    const char* what,
    const std::function<base::result<void>()>& request
) {
  base::result<void> answer = repeat_write(env_, request);
  // A missing permission is said once, not every five minutes.
  if (!answer && (answer.error().http_status != 403 ||
                  offering_.first_time(std::string("forbidden: ") + what))) {
    offering_.log().failure(
        observe::level::warning,
        "not recorded in Waldur",
        answer.error(),
        {{"resource", resource.uuid.hex()}, {"what", what}}
    );
  }
  return answer;
}

} // namespace siteagent::agent
