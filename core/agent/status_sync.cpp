// SPDX-License-Identifier: MIT
// One pass of status synchronisation.
#include "core/agent/status_sync.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/order_run.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/spread.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};
constexpr unsigned passes_to_believe = 2;
// Waldur asks for a resync of what was not synced for an hour.
constexpr std::chrono::minutes last_sync_age{50};
// A permission may be granted while we run, but nobody waits for us to find out.
constexpr std::chrono::hours forbidden_pause{1};
constexpr const char* failed_text = "the provider's system reports this machine as failed";
constexpr const char* missing_text = "missing on backend";

// What Waldur forbids is not owed.
bool is_settled(const base::result<void>& answer) {
  return answer || answer.error().code == base::error_code::forbidden;
}

bool is_ours(const waldur::resource& r) {
  return (r.state == "OK" || r.state == "Erred") && !base::trim(r.backend_id).empty();
}

} // namespace

status_sync::status_sync(offering_context& offering, portal& waldur, environment& env)
    : offering_(offering), waldur_(waldur), env_(env), owed_(env.clock) {
  if (people* found = waldur.find_people(); found != nullptr) {
    members_ = std::make_unique<member_sync>(offering, *found, env);
  }
}

status_sync::~status_sync() {
  helpers_.wait();
}

std::optional<bool> status_sync::keeps_users() const {
  return members_ ? members_->keeps_users() : false;
}

void status_sync::forget_pauses() {
  if (members_) {
    members_->forget_declined();
  }
  const std::lock_guard lock(mutex_);
  for (auto& [resource, past] : histories_) {
    past.start_not_before = {};
  }
  forbidden_.clear();
}

base::result<void> status_sync::run() {
  base::result<std::vector<waldur::resource>> resources = waldur_.list_resources({"OK", "Erred"});
  if (!resources) {
    return base::with_context(std::move(resources).error(), "list resources");
  }
  std::set<base::uuid> known;
  for (const waldur::resource& r : *resources) {
    if (is_ours(r)) {
      known.insert(r.uuid);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(histories_, [&](const auto& h) { return !known.contains(h.first); });
  }
  owed_.keep_if([&](const base::uuid& resource) { return known.contains(resource); });
  if (members_) {
    members_->keep_only(known);
  }
  std::erase_if(*resources, [](const waldur::resource& r) { return !is_ours(r); });
  return pass(*resources, true);
}

base::result<void> status_sync::run_some(std::vector<waldur::resource> resources) {
  for (const waldur::resource& r : resources) {
    if (!is_ours(r)) {
      owed_.settle(r.uuid);
    }
  }
  std::erase_if(resources, [](const waldur::resource& r) { return !is_ours(r); });
  return pass(resources, false);
}

base::result<void> status_sync::pass(const std::vector<waldur::resource>& resources, bool all) {
  base::result<std::shared_ptr<backend>> cloud =
      offering_.backend_for(offering_.config().membership_sync_backend);
  if (!cloud) {
    return std::move(cloud).error();
  }
  if (resources.empty()) {
    return {};
  }
  if (base::result<void> admitted = offering_.admit(**cloud); !admitted) {
    return admitted;
  }
  const base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return info.error();
  }
  const base::result<rows> seen = pull(**cloud, **info, resources);
  if (!seen) {
    return seen.error();
  }
  std::unique_ptr<member_view> people;
  if (members_) {
    const base::json& options = (*info)->server.plugin_options;
    people =
        members_->begin(all, options["enable_membership_sync_status"].boolean().value_or(false));
  }
  const base::json unknown = base::json::object({{"presence", "unknown"}});
  std::vector<task> tasks;
  for (const waldur::resource& r : resources) {
    const auto row = seen->find(r.uuid);
    if (auto found = find_task(r, row == seen->end() ? unknown : row->second)) {
      tasks.push_back(*found);
    }
  }
  pass_state state{**cloud, people.get(), {}, {}, 0};
  spread(env_.pool, helpers_, tasks.size(), [&](std::size_t i) {
    if (env_.stop.stop_requested()) {
      return;
    }
    const base::uuid& resource = tasks[i].resource->uuid;
    if (sync_one(state, tasks[i])) {
      owed_.settle(resource);
    } else {
      owed_.owe(resource);
    }
  });
  if (state.unreadable && !env_.stop.stop_requested()) {
    offering_.log().failure(
        observe::level::warning,
        "users of resources left as they are",
        *state.unreadable,
        {{"resources", std::to_string(state.left_alone)}}
    );
  }
  return {};
}

base::result<status_sync::rows> status_sync::pull(
    backend& cloud, const offering_info& info, const std::vector<waldur::resource>& resources
) {
  progress_board::activity activity = env_.progress.begin(
      "status of " + offering_.config().name,
      cloud.deadline_of(host::operation::pull_resources) + call_grace
  );
  host::call_request request;
  request.body.set("resources", resource_refs(resources));
  request.body.set("tags", offering_tags(offering_.config().uuid));
  request.body.set("uuid_tag", tag_resource);
  request.body.set("components", info.components_body);
  host::call_options options;
  options.stop = env_.stop;
  options.checkpoint =
      make_checkpoint(env_, offering_, activity, nullptr, offering_.log(), std::string("status"));
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

// Counts what this look saw.
status_sync::health status_sync::judge(const waldur::resource& resource, const base::json& row) {
  const std::string presence = row["presence"].string_or("unknown");
  const std::string state = row["state"].string_or("");
  // A start or stop that failed leaves a machine "failed" that the next one sets right.
  const bool owed = presence == "present" && state == "failed" &&
                    is_power_owed(resource, row["power"].string_or(""));
  const bool failed = presence == "present" && state == "failed" && !owed;
  const std::lock_guard lock(mutex_);
  history& past = histories_[resource.uuid];
  past.absent = presence == "absent" ? past.absent + 1 : 0;
  past.failed = failed ? past.failed + 1 : 0;
  if (presence == "present" && (state == "ok" || owed)) {
    return health::healthy;
  }
  return past.absent >= passes_to_believe   ? health::missing
         : past.failed >= passes_to_believe ? health::failed
                                            : health::unknown;
}

// From memory alone: nothing is read or written here.
std::optional<status_sync::task>
status_sync::find_task(const waldur::resource& resource, const base::json& row) {
  const health state = judge(resource, row);
  if (members_) {
    members_->note(row);
  }
  if (state == health::unknown) {
    // Not known, on its way, or to be confirmed by a second look.
    owed_.owe(resource.uuid);
    return std::nullopt;
  }
  task found{&resource, &row, state, {}, false};
  if (state != health::healthy) {
    if (resource.state != "Erred" && !is_forbidden("state Erred")) {
      return found;
    }
    owed_.settle(resource.uuid);
    return std::nullopt;
  }
  found.need = need_of(resource, row);
  found.need.set_ok &= !is_forbidden("state OK");
  found.need.metadata &= !is_forbidden("metadata");
  found.need.limits &= !is_forbidden("limits");
  if (found.need.power == power_change::start && is_waiting_to_start(resource.uuid)) {
    found.need.power = power_change::none;
    found.waits = true;
  }
  const bool has_users = members_ && agent::keeps_users(row);
  if (has_users || !found.need.empty() || (!found.waits && is_last_sync_due(resource))) {
    return found;
  }
  if (found.waits) {
    return std::nullopt; // stays owed
  }
  owed_.settle(resource.uuid);
  return std::nullopt;
}

bool status_sync::sync_one(pass_state& pass, const task& t) {
  const waldur::resource& listed = *t.resource;
  const bool is_healthy = t.state == health::healthy;
  bool has_users = pass.people != nullptr && is_healthy && agent::keeps_users(*t.row);
  bool fine = !t.waits;
  bool users_differ = false;
  if (has_users) {
    const base::result<member_work> work = members_->look(*pass.people, listed, *t.row);
    users_differ = work && !work->empty();
    if (!work) {
      has_users = false;
      fine = false;
      const std::lock_guard lock(pass.mutex);
      pass.unreadable = pass.unreadable ? pass.unreadable : work.error();
      ++pass.left_alone;
    }
  }
  if (!is_healthy || !t.need.empty() || users_differ) {
    const std::optional<resource_locks::guard> lock = env_.locks.try_lock(listed.uuid);
    if (!lock) {
      return false; // an order works on it
    }
    fine &= sync_locked(pass, t, has_users);
  }
  // A pass that did only a part is not shown as done.
  if (fine && is_healthy && is_last_sync_due(listed)) {
    return refresh_last_sync(listed);
  }
  return fine;
}

bool status_sync::sync_locked(pass_state& pass, const task& t, bool with_users) {
  // The list may be minutes old, and an order may have ended since.
  base::result<waldur::resource> fresh = waldur_.get_resource(t.resource->uuid);
  if (!fresh || !is_ours(*fresh) || fresh->backend_id != t.resource->backend_id) {
    return false;
  }
  if (t.state != health::healthy) {
    return report_trouble(*fresh, *t.row, t.state);
  }
  if ((*t.row)["state"].string_or("") == "failed" &&
      !is_power_owed(*fresh, (*t.row)["power"].string_or(""))) {
    return false; // it is failed after all, which the next pass tells
  }
  const bool users_fine = !with_users || sync_members(pass.cloud, *pass.people, *fresh, *t.row);
  return sync_status(pass.cloud, *std::move(fresh), *t.row) && users_fine;
}

bool status_sync::sync_members(
    backend& cloud, member_view& people, const waldur::resource& resource, const base::json& row
) {
  const base::result<member_work> work = members_->look(people, resource, row);
  return work && (work->empty() || members_->apply(cloud, resource, row, *work));
}

bool status_sync::sync_status(backend& cloud, waldur::resource resource, const base::json& row) {
  const std::string power = row["power"].string_or("");
  const power_change change = power_change_of(resource, power);
  const bool waits = change == power_change::start && is_waiting_to_start(resource.uuid);
  base::json changed;
  if (change != power_change::none && !waits) {
    base::result<base::json> answer = set_power(cloud, resource, change);
    if (!answer) {
      return false;
    }
    changed = *std::move(answer);
  } else if (!waits) {
    const std::lock_guard lock(mutex_);
    histories_[resource.uuid].start_failures = 0;
  }
  const base::json& metadata =
      changed["metadata"].size() > 0 ? changed["metadata"] : row["metadata"];
  const bool marked = is_ours_to_start(resource, changed["power"].string_or(power));
  return record(resource, metadata, marked, row["limits"]) && !waits;
}

// What Waldur shows of a healthy machine.
bool status_sync::record(
    const waldur::resource& resource,
    const base::json& metadata,
    bool marked,
    const base::json& limits
) {
  bool complete = true;
  if (const std::optional<base::json> wanted = changed_metadata(resource, metadata, marked)) {
    complete &= is_settled(write(resource, "metadata", [&] {
      return waldur_.set_backend_metadata(resource.uuid, *wanted);
    }));
  }
  if (const std::optional<waldur::limits> wanted = changed_limits(resource, limits)) {
    complete &= is_settled(write(resource, "limits", [&] {
      return waldur_.set_limits(resource.uuid, *wanted);
    }));
  }
  if (resource.state == "Erred") {
    const base::result<void> cleared =
        write(resource, "state OK", [&] { return waldur_.set_resource_ok(resource.uuid); });
    if (cleared) {
      offering_.log().info("resource is OK again", {{"resource", resource.uuid.hex()}});
    }
    complete &= is_settled(cleared);
  }
  return complete;
}

// The plugin's words go to the log only: they may name what is none of the customer's business.
bool status_sync::report_trouble(
    const waldur::resource& resource, const base::json& row, health state
) {
  if (resource.state == "Erred") {
    return true;
  }
  const char* message = state == health::missing ? missing_text : failed_text;
  offering_.log().error(
      "machine is missing or failed",
      {{"resource", resource.uuid.hex()},
       {"backend_id", resource.backend_id},
       {"error", row["error"].string_or(message)}}
  );
  return is_settled(write(resource, "state Erred", [&] {
    return waldur_.set_resource_erred(resource.uuid, message);
  }));
}

// By Waldur's time, and by how long it has shown the same one: a clock that is wrong on either side
// must neither silence us nor make us write every pass.
bool status_sync::is_last_sync_due(const waldur::resource& resource) {
  if (is_forbidden("last sync")) {
    return false;
  }
  const std::string shown = resource.raw["last_sync"].string_or("");
  const auto at = base::parse_rfc3339(shown);
  const base::steady_time now = env_.clock.steady();
  const std::lock_guard lock(mutex_);
  history& past = histories_[resource.uuid];
  if (past.last_sync != shown) {
    past.last_sync = shown;
    past.last_sync_seen = now;
  }
  if (past.refreshed && now - *past.refreshed < last_sync_age) {
    return false;
  }
  const bool is_old = !at || env_.clock.wall() - *at >= last_sync_age;
  return is_old || now - past.last_sync_seen >= last_sync_age;
}

bool status_sync::refresh_last_sync(const waldur::resource& resource) {
  const base::result<void> answer =
      write(resource, "last sync", [&] { return waldur_.refresh_last_sync(resource.uuid); });
  if (!answer) {
    return is_settled(answer);
  }
  const std::lock_guard lock(mutex_);
  histories_[resource.uuid].refreshed = env_.clock.steady();
  return true;
}

bool status_sync::is_forbidden(const char* what) {
  const std::lock_guard lock(mutex_);
  const auto found = forbidden_.find(what);
  return found != forbidden_.end() && env_.clock.steady() < found->second;
}

base::result<void> status_sync::write(
    const waldur::resource& resource,
    const char* what,
    const std::function<base::result<void>()>& request
) {
  if (is_forbidden(what)) {
    return base::error{
        .code = base::error_code::forbidden,
        .message = std::string(what) + ": Waldur does not let this agent do it"};
  }
  base::result<void> answer = repeat_write(env_, request);
  const bool forbidden = !answer && answer.error().http_status == 403;
  if (forbidden) {
    const std::lock_guard lock(mutex_);
    forbidden_[what] = env_.clock.steady() + forbidden_pause;
  }
  // A missing permission is said once, not every five minutes.
  if (!answer && (!forbidden || offering_.first_time(std::string("forbidden: ") + what))) {
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
