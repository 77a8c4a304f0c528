// SPDX-License-Identifier: MIT
// Keeps Waldur and the cloud in step for machines that exist (Waldur contract 4.2, 4.3): users,
// paused and downscaled, metadata, limits, erred and OK again. One bulk read per pass and side;
// both are compared first, so a pass with nothing to do writes nothing and reads no resource alone;
// unknown changes nothing.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/members/member_sync.hpp"
#include "core/agent/members/owed_work.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/status_need.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace siteagent::agent {

// [any thread]
class status_sync {
public:
  // References must outlive it. Users are left alone when the portal knows no people.
  status_sync(offering_context& offering, portal& waldur, environment& env);
  ~status_sync(); // waits for helpers that came too late
  status_sync(const status_sync&) = delete;
  status_sync& operator=(const status_sync&) = delete;

  // One pass over all resources; returns when its work has ended. An error: nothing could be done.
  base::result<void> run();
  // The same for resources that were read just now; those in another state than OK and Erred, or
  // without a backend id, are left out.
  base::result<void> run_some(std::vector<waldur::resource> resources);

  // Pauses between attempts and what a plugin declined are forgotten: the next pass asks again.
  void forget_pauses();

  // What the passes could not finish. A pass over everything that failed is its caller's to owe.
  owed_work& owed() { return owed_; }

  const owed_work& owed() const { return owed_; }

  // Does any resource have users? nullopt: not known yet.
  std::optional<bool> keeps_users() const;

private:
  // What earlier passes saw of a resource.
  struct history {
    unsigned absent = 0; // consecutive passes
    unsigned failed = 0;
    unsigned start_failures = 0;
    base::steady_time start_not_before{};
    std::string last_sync; // Waldur's time of the last sync, and since when it shows that one
    base::steady_time last_sync_seen{};
    std::optional<base::steady_time> refreshed; // by us
  };

  enum class health { unknown, healthy, missing, failed };

  using rows = std::map<base::uuid, base::json>;

  // What a pass does for one resource.
  struct task {
    const waldur::resource* resource;
    const base::json* row;
    health state;
    status_need need;
    bool waits = false; // to be started, but not now
  };

  // What the tasks of a pass share.
  struct pass_state {
    backend& cloud;
    member_view* people; // null: leave the users alone
    std::mutex mutex;
    std::optional<base::error> unreadable; // the first of them
    unsigned left_alone = 0;               // resources whose users could not be looked at
  };

  base::result<void> pass(const std::vector<waldur::resource>& resources, bool all);
  base::result<rows>
  pull(backend& cloud, const offering_info& info, const std::vector<waldur::resource>& resources);
  health judge(const waldur::resource& resource, const base::json& row);
  std::optional<task> find_task(const waldur::resource& resource, const base::json& row);
  // true: nothing is owed.
  bool sync_one(pass_state& pass, const task& t);
  bool sync_locked(pass_state& pass, const task& t, bool with_users);
  bool sync_members(
      backend& cloud, member_view& people, const waldur::resource& resource, const base::json& row
  );
  bool sync_status(backend& cloud, waldur::resource resource, const base::json& row);
  bool record(
      const waldur::resource& resource,
      const base::json& metadata,
      bool marked,
      const base::json& limits
  );
  bool report_trouble(const waldur::resource& resource, const base::json& row, health state);

  // The plugin's answer to a change of power; an error: skip the rest of this resource's pass.
  base::result<base::json>
  set_power(backend& cloud, waldur::resource& resource, power_change change);
  bool is_waiting_to_start(const base::uuid& resource);
  base::result<base::json>
  change_power(backend& cloud, host::operation op, const waldur::resource& resource);

  bool is_last_sync_due(const waldur::resource& resource);
  bool refresh_last_sync(const waldur::resource& resource);
  base::result<void> write(
      const waldur::resource& resource,
      const char* what,
      const std::function<base::result<void>()>& request
  );
  bool is_forbidden(const char* what);

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  std::unique_ptr<member_sync> members_; // null: nobody to ask about people
  owed_work owed_;
  task_group helpers_;

  mutable std::mutex mutex_; // guards what follows
  std::map<base::uuid, history> histories_;
  std::map<std::string, base::steady_time> forbidden_; // what Waldur lets us not do, until then
};

} // namespace siteagent::agent
