// SPDX-License-Identifier: MIT
// The people of an offering over waldur::client.
#include "core/agent/members/people.hpp"

namespace siteagent::agent {

namespace {

using base::result;
using base::uuid;

class client_people final : public people {
public:
  client_people(waldur::client& client, uuid offering) : client_(client), offering_(offering) {}

  result<std::vector<waldur::offering_user>> list_offering_users(
      const std::vector<std::string>& states, const std::vector<std::string>& attributes
  ) override {
    return client_.list_offering_users(offering_, states, attributes);
  }

  result<std::vector<waldur::offering_user>> find_offering_users(const uuid& user) override {
    return client_.find_offering_users(offering_, user);
  }

  result<waldur::offering_user> get_offering_user(const uuid& user) override {
    return client_.get_offering_user(user);
  }

  result<std::vector<std::string>> list_attributes() override {
    return client_.list_user_attributes(offering_);
  }

  result<void> begin_creating(const uuid& user) override { return change(user, "begin_creating"); }

  result<void> set_username(const uuid& user, std::string_view username) override {
    return client_.set_offering_username(user, username);
  }

  result<void> set_error_creating(const uuid& user) override {
    return change(user, "set_error_creating");
  }

  result<void> set_pending_account_linking(
      const uuid& user, std::string_view comment, std::string_view comment_url
  ) override {
    return wait_for_user(user, "set_pending_account_linking", comment, comment_url);
  }

  result<void> set_pending_additional_validation(
      const uuid& user, std::string_view comment, std::string_view comment_url
  ) override {
    return wait_for_user(user, "set_pending_additional_validation", comment, comment_url);
  }

  result<void> set_validation_complete(const uuid& user) override {
    return change(user, "set_validation_complete");
  }

  result<void> set_deleting(const uuid& user) override { return change(user, "set_deleting"); }

  result<void> set_deleted(const uuid& user) override { return change(user, "set_deleted"); }

  result<void> set_error_deleting(const uuid& user) override {
    return change(user, "set_error_deleting");
  }

  result<std::vector<waldur::team_member>>
  list_team(const uuid& resource, bool consenting) override {
    return client_.list_team(resource, consenting);
  }

  result<std::vector<waldur::project_account>> list_accounts(waldur::account_kind kind) override {
    return client_.list_accounts(offering_, kind);
  }

  result<std::vector<waldur::user_limit>> list_user_limits() override {
    return client_.list_user_limits(offering_);
  }

  result<std::vector<waldur::resource>> list_project_resources(const uuid& project) override {
    return client_.list_resources(offering_, {"OK", "Erred"}, project);
  }

  result<void> report_members(
      const uuid& resource, const std::vector<waldur::member_status>& statuses
  ) override {
    return client_.set_membership_statuses(resource, statuses);
  }

private:
  result<void> change(const uuid& user, std::string_view action) {
    return client_.change_offering_user(user, action, nullptr);
  }

  result<void> wait_for_user(
      const uuid& user,
      std::string_view action,
      std::string_view comment,
      std::string_view comment_url
  ) {
    const base::json body =
        base::json::object({{"comment", comment}, {"comment_url", comment_url}});
    return client_.change_offering_user(user, action, &body);
  }

  waldur::client& client_;
  const uuid offering_;
};

} // namespace

std::unique_ptr<people> make_people(waldur::client& client, base::uuid offering) {
  return std::make_unique<client_people>(client, offering);
}

} // namespace siteagent::agent
