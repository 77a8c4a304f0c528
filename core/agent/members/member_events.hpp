// SPDX-License-Identifier: MIT
// What messages and timers ask of the membership part of one offering. Messages are hints: every
// function reads the present state from Waldur and the cloud and acts on the difference, so loss,
// duplicates and any order are harmless, and "granted" or "revoked" in a message decides nothing.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/uuid.hpp"

#include <optional>

namespace siteagent::agent {

// A role was granted or revoked, or a resync is wanted.
struct role_change {
  std::optional<base::uuid> user;     // absent: every member
  std::optional<base::uuid> project;  // absent only together with a resource
  std::optional<base::uuid> resource; // given: this one only, else all of the project
};

// One object per offering; membership.hpp has the real one. All functions block: for a few reads of
// Waldur, one bulk read of the cloud, and for the changes that follow (20 minutes at most for a
// power change). A resource that an order works on is not waited for.
//
// Errors: something could not be read or done now. What is owed then is remembered and done by
// retry_failed(), so a message may be acknowledged whatever the answer was; an error is for the
// log. Nothing is ever created again, and nothing is erred for an error of Waldur or of one user.
// [any thread]
class member_events {
public:
  member_events() = default;
  member_events(const member_events&) = delete;
  member_events& operator=(const member_events&) = delete;
  virtual ~member_events() = default;

  // `resource`: flags, limits or state changed. All steps for this resource.
  virtual base::result<void> on_resource(const base::uuid& resource) = 0;
  // `user_role`
  virtual base::result<void> on_role_change(const role_change& change) = 0;
  // `offering_user`, every action: the username if it is ours to give, the tearing down of one to
  // be deleted, else its membership of the resources.
  virtual base::result<void> on_offering_user(const base::uuid& offering_user) = 0;
  // `service_account` and `course_account`, every action.
  virtual base::result<void> on_account_change(const base::uuid& project) = 0;
  // `offering_resources_sync`: a full pass that forgets pauses and what a plugin declined. The pass
  // over the orders is the caller's.
  virtual base::result<void> on_forced_sync() = 0;

  // Timers. Resource status (60 min): all steps for every resource.
  virtual base::result<void> on_status_timer() = 0;
  // Offering users that wait for us, and usernames pulled anew if that is on (60 min).
  virtual base::result<void> on_users_timer() = 0;

  // When retry_failed() makes sense; nullopt: nothing is owed.
  virtual std::optional<base::steady_time> next_due() const = 0;
  virtual base::result<void> retry_failed() = 0;
};

} // namespace siteagent::agent
