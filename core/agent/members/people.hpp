// SPDX-License-Identifier: MIT
// What the agent asks of Waldur about the people of one offering: waldur::client behind an
// interface, as portal.hpp does it for machines.
#pragma once

#include "core/waldur/client.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

// Reads are retried below this line, writes are sent once. Errors as waldur::client documents them.
// Blocking. [any thread]
class people {
public:
  people() = default;
  people(const people&) = delete;
  people& operator=(const people&) = delete;
  virtual ~people() = default;

  // Users that are not restricted; no states: all. `attributes` as list_attributes names them.
  virtual base::result<std::vector<waldur::offering_user>> list_offering_users(
      const std::vector<std::string>& states, const std::vector<std::string>& attributes
  ) = 0;
  virtual base::result<std::vector<waldur::offering_user>>
  find_offering_users(const base::uuid& user) = 0;
  virtual base::result<waldur::offering_user> get_offering_user(const base::uuid& user) = 0;
  virtual base::result<std::vector<std::string>> list_attributes() = 0;

  virtual base::result<void> begin_creating(const base::uuid& user) = 0;
  virtual base::result<void> set_username(const base::uuid& user, std::string_view username) = 0;
  virtual base::result<void> set_error_creating(const base::uuid& user) = 0;
  virtual base::result<void> set_pending_account_linking(
      const base::uuid& user, std::string_view comment, std::string_view comment_url
  ) = 0;
  virtual base::result<void> set_pending_additional_validation(
      const base::uuid& user, std::string_view comment, std::string_view comment_url
  ) = 0;
  virtual base::result<void> set_validation_complete(const base::uuid& user) = 0;
  virtual base::result<void> set_deleting(const base::uuid& user) = 0;
  virtual base::result<void> set_deleted(const base::uuid& user) = 0;
  virtual base::result<void> set_error_deleting(const base::uuid& user) = 0;

  virtual base::result<std::vector<waldur::team_member>>
  list_team(const base::uuid& resource, bool consenting) = 0;
  virtual base::result<std::vector<waldur::project_account>> list_accounts(waldur::account_kind kind
  ) = 0;
  virtual base::result<std::vector<waldur::user_limit>> list_user_limits() = 0;
  // Resources in OK and Erred.
  virtual base::result<std::vector<waldur::resource>>
  list_project_resources(const base::uuid& project) = 0;
  // Replaces what was reported about that resource.
  virtual base::result<void> report_members(
      const base::uuid& resource, const std::vector<waldur::member_status>& statuses
  ) = 0;
};

// The real one. `client` must outlive it.
std::unique_ptr<people> make_people(waldur::client& client, base::uuid offering);

} // namespace siteagent::agent
