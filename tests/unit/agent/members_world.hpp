// SPDX-License-Identifier: MIT
// People and a cloud with users, for the tests of membership.
#pragma once

#include "world.hpp"

#include "core/agent/members/membership.hpp"
#include "core/agent/members/people.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace siteagent::agent::test {

// Waldur's people in memory, with the server's rules for offering users' states. Writes are
// journaled as "name uuid [argument]", also when they fail.
class fake_people final : public people {
public:
  explicit fake_people(fake_portal& portal) : portal_(portal) {}

  waldur::offering_user& add_user(unsigned n, const std::string& state, const std::string& name);
  // A member of the team of every resource that has none of its own.
  waldur::team_member& add_member(unsigned user, const std::string& name);
  void fail(const std::string& call, const base::error& e, unsigned times = 1);
  std::vector<std::string> writes();
  unsigned calls(const std::string& call);
  std::string state_of(unsigned n);

  std::vector<waldur::team_member> team;
  std::map<base::uuid, std::vector<waldur::team_member>> teams; // by resource, instead of `team`
  std::vector<waldur::project_account> services;
  std::vector<waldur::project_account> courses;
  std::vector<waldur::user_limit> limits;
  std::vector<std::string> asked_attributes;
  std::vector<bool> consents; // of the teams asked for
  std::map<base::uuid, std::vector<waldur::member_status>> reports;

  base::result<std::vector<waldur::offering_user>> list_offering_users(
      const std::vector<std::string>& states, const std::vector<std::string>& attributes
  ) override;
  base::result<std::vector<waldur::offering_user>> find_offering_users(const base::uuid& user
  ) override;
  base::result<waldur::offering_user> get_offering_user(const base::uuid& user) override;
  base::result<std::vector<std::string>> list_attributes() override;
  base::result<void> begin_creating(const base::uuid& user) override;
  base::result<void> set_username(const base::uuid& user, std::string_view username) override;
  base::result<void> set_error_creating(const base::uuid& user) override;
  base::result<void> set_pending_account_linking(
      const base::uuid& user, std::string_view comment, std::string_view comment_url
  ) override;
  base::result<void> set_pending_additional_validation(
      const base::uuid& user, std::string_view comment, std::string_view comment_url
  ) override;
  base::result<void> set_validation_complete(const base::uuid& user) override;
  base::result<void> set_deleting(const base::uuid& user) override;
  base::result<void> set_deleted(const base::uuid& user) override;
  base::result<void> set_error_deleting(const base::uuid& user) override;
  base::result<std::vector<waldur::team_member>>
  list_team(const base::uuid& resource, bool consenting) override;
  base::result<std::vector<waldur::project_account>> list_accounts(waldur::account_kind kind
  ) override;
  base::result<std::vector<waldur::user_limit>> list_user_limits() override;
  base::result<std::vector<waldur::resource>> list_project_resources(const base::uuid& project
  ) override;
  base::result<void> report_members(
      const base::uuid& resource, const std::vector<waldur::member_status>& statuses
  ) override;

private:
  std::optional<base::error> enter(const std::string& call);
  base::result<void> move_user(
      const std::string& call,
      const base::uuid& user,
      const std::vector<std::string>& from,
      const std::string& to,
      const std::string& argument = ""
  );

  fake_portal& portal_;
  std::mutex mutex_;
  std::map<base::uuid, waldur::offering_user> users_;
  std::map<std::string, std::deque<base::error>> failures_;
  std::map<std::string, unsigned> counts_;
  std::vector<std::string> writes_;
};

// Usernames as a test wants them.
class scripted_usernames final : public username_source {
public:
  bool gives_names() const override { return true; }

  base::result<username_answer> get_or_create(const waldur::offering_user& user) override {
    ++asked;
    return answer(user);
  }

  std::function<base::result<username_answer>(const waldur::offering_user&)> answer;
  unsigned asked = 0;
};

// Machines 1 .. n, present and running, with users if so wanted.
class members_world : public world {
public:
  members_world();

  // Resource n in project p, and its machine.
  waldur::resource& make(unsigned n, unsigned project = 301);
  // The machine's users from now on; without a call the rows have none.
  void keep_users(unsigned n, std::vector<std::string> usernames = {});
  std::vector<std::string> users_of(unsigned n);

  unsigned called(host::operation op) { return static_cast<unsigned>(cloud->calls(op).size()); }

  // Every write to Waldur except last sync.
  std::vector<std::string> writes();
  // Policy and flags under which usernames are ours.
  void own_usernames();

  fake_people persons{waldur};
  std::map<std::string, base::json> rows;                // by resource, hex
  std::map<std::string, std::vector<std::string>> users; // by resource, hex
  std::set<std::string> declined;                        // "nothing to do" for these
  std::set<std::string> broken;                          // an error for these
  std::mutex cloud_mutex;

private:
  fake_cloud::emitted pull(const host::call_request& request);
  fake_cloud::emitted change(const host::call_request& request, bool add);
};

} // namespace siteagent::agent::test
