// SPDX-License-Identifier: MIT
// Brings the users of one resource to those Waldur wants (Waldur contract 4.2 rows 3, 4 and
// 9, 4.4): compares first, asks the plugin for the difference only, and reports to Waldur what came
// of it where the offering wants that. What fails for one user harms neither the others nor the
// resource.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/members/member_call.hpp"
#include "core/agent/members/member_view.hpp"
#include "core/agent/offering_context.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace siteagent::agent {

// What one look found.
struct member_work {
  member_changes changes;
  member_limits limits;
  std::shared_ptr<const project_members> team; // shared with the pass; null = nobody is wanted
  bool report = false;

  bool empty() const { return changes.empty() && !report; }
};

// [any thread]; one resource by one task at a time.
class member_sync {
public:
  // References must outlive it.
  member_sync(offering_context& offering, people& waldur, environment& env);

  // The people of one pass; it must not outlive this. `all`: a pass over every resource, which
  // wants fresh users. `reports`: the offering has enable_membership_sync_status.
  std::unique_ptr<member_view> begin(bool all, bool reports);

  // Does a resource of the offering have users? nullopt: no row was seen yet.
  std::optional<bool> keeps_users() const;
  // A row as pull_resources gave it, for the question above.
  void note(const base::json& row);

  // What is to be done. An error: the people could not be read, so leave the members alone.
  base::result<member_work>
  look(member_view& view, const waldur::resource& resource, const base::json& row);
  // Does it. false: some of it is owed.
  bool apply(
      backend& cloud,
      const waldur::resource& resource,
      const base::json& row,
      const member_work& work
  );

  // Asks again for what a plugin had nothing to do for.
  void forget_declined();
  // Forgets resources that are gone.
  void keep_only(const std::set<base::uuid>& resources);

private:
  // What the plugin and Waldur were last told of a resource.
  struct memory {
    std::set<std::string> declined_adds; // users it has nothing to do for
    std::set<std::string> declined_removals;
    std::set<std::string> failed;
    std::optional<std::string> reported; // what Waldur was told; nullopt = not by this process
  };

  static void leave_out_declined(memory& known, member_changes& changes);

  bool change(
      backend& cloud,
      host::operation op,
      const waldur::resource& resource,
      const base::json& users,
      member_answers& out
  );
  void
  say_failed(const waldur::resource& resource, host::operation op, const member_answers& answers);
  void remember(const base::uuid& resource, host::operation op, const member_answers& answers);
  std::vector<waldur::member_status> statuses(
      const base::json& row, const member_work& work, const std::set<std::string>& failed
  ) const;
  bool report(
      const waldur::resource& resource,
      const std::vector<waldur::member_status>& statuses,
      const std::string& text
  );

  offering_context& offering_;
  people& waldur_;
  environment& env_;
  offering_users_cache users_;
  mutable std::mutex mutex_;
  std::map<base::uuid, memory> memories_;
  bool reports_ = false;
  std::optional<bool> keeps_users_;
};

} // namespace siteagent::agent
