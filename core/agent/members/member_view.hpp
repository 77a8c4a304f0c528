// SPDX-License-Identifier: MIT
// What Waldur says about people during one pass: each team, account list and user list is read
// once, when first asked for, whoever asks; a failed read stays failed for the pass.
#pragma once

#include "core/agent/members/member_diff.hpp"
#include "core/agent/members/people.hpp"
#include "core/base/clock.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace siteagent::agent {

// By Waldur's user.
using offering_users_list = std::shared_ptr<const std::map<base::uuid, waldur::offering_user>>;

// The offering's users beyond one pass: single events must not read thousands of users each. [any
// thread]
class offering_users_cache {
public:
  explicit offering_users_cache(const base::clock& clock) : clock_(clock) {}

  // At most `oldest` old; a failure is not kept.
  base::result<offering_users_list> get(people& waldur, std::chrono::milliseconds oldest);

private:
  const base::clock& clock_;
  std::mutex mutex_;
  offering_users_list users_;
  base::steady_time users_read_{};
  std::vector<std::string> attributes_; // whose values are asked for
  std::optional<base::steady_time> attributes_read_;
};

// Holds one value that is read when first wanted. [any thread]
template <class T>
class read_once {
public:
  template <class Read>
  base::result<T> get(Read&& read) {
    const std::lock_guard lock(mutex_);
    if (!value_) {
      value_.emplace(std::forward<Read>(read)());
    }
    return *value_;
  }

private:
  std::mutex mutex_;
  std::optional<base::result<T>> value_;
};

// Everybody who should be a user of a project's resources.
struct project_members {
  wanted_members members;
  bool is_complete = true; // false: accounts could not be read, so nobody may be removed
};

// [any thread]
class member_view {
public:
  // `oldest`: how old the offering's users may be, whose attributes and states matter. References
  // must outlive it.
  member_view(people& waldur, offering_users_cache& users, std::chrono::milliseconds oldest)
      : waldur_(waldur), users_cache_(users), oldest_(oldest) {}

  // `shared`: the consenting teams of all resources of the project together.
  base::result<std::shared_ptr<const project_members>>
  members_of(const waldur::resource& resource, bool shared);
  // Limits of users of that resource.
  base::result<member_limits> limits_of(const base::uuid& resource);

private:
  using members = std::shared_ptr<const project_members>;
  using accounts = std::shared_ptr<const std::vector<waldur::project_account>>;
  using limits_by_resource = std::shared_ptr<const std::map<base::uuid, member_limits>>;

  base::result<members> read_members(const waldur::resource& resource, bool shared);
  base::result<std::vector<waldur::team_member>>
  read_team(const waldur::resource& resource, bool shared);
  base::result<void> add_details(wanted_members& wanted, const std::vector<waldur::team_member>& t);
  bool add_accounts(wanted_members& wanted, const std::string& project);
  base::result<accounts> accounts_of(waldur::account_kind kind);
  base::result<offering_users_list> users();
  base::result<limits_by_resource> read_limits();

  people& waldur_;
  offering_users_cache& users_cache_;
  const std::chrono::milliseconds oldest_;
  read_once<offering_users_list> users_;
  read_once<accounts> service_accounts_;
  read_once<accounts> course_accounts_;
  read_once<limits_by_resource> limits_;
  std::mutex teams_mutex_;
  std::map<std::string, std::shared_ptr<read_once<members>>> teams_; // shared by those who wait
};

} // namespace siteagent::agent
