// SPDX-License-Identifier: MIT
// Mode membership_sync of one offering: its users, its resources, what messages and timers ask of
// them (Waldur contract section 4).
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/members/member_events.hpp"
#include "core/agent/members/offering_users.hpp"
#include "core/agent/members/usernames.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/status_sync.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace siteagent::agent {

// One object per offering. [any thread]
class membership final : public member_events {
public:
  // With the source the offering's username_management_backend names. References must outlive it.
  membership(offering_context& offering, portal& waldur, environment& env);
  membership(
      offering_context& offering,
      portal& waldur,
      environment& env,
      std::unique_ptr<username_source> source
  );

  // A whole pass: offering users, usernames once an hour where that is on, resources. An error:
  // the offering could not run.
  base::result<void> run();

  base::result<void> on_resource(const base::uuid& resource) override;
  base::result<void> on_role_change(const role_change& change) override;
  base::result<void> on_offering_user(const base::uuid& offering_user) override;
  base::result<void> on_account_change(const base::uuid& project) override;
  base::result<void> on_forced_sync() override;
  base::result<void> on_status_timer() override;
  base::result<void> on_users_timer() override;
  std::optional<base::steady_time> next_due() const override;
  base::result<void> retry_failed() override;

private:
  base::result<void> refresh_users(bool reconcile);
  bool is_reconciliation_due();
  base::result<void> sync_project(const base::uuid& project);
  base::result<void> sync_these(std::vector<waldur::resource> resources);

  bool may_have_users() const { return status_.keeps_users() != false; }

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  people* const people_; // null: nobody to ask
  status_sync status_;
  std::unique_ptr<offering_users> users_; // null without people
  std::mutex mutex_;
  std::optional<base::steady_time> reconciled_;
};

} // namespace siteagent::agent
