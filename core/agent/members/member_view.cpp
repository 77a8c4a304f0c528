// SPDX-License-Identifier: MIT
// Teams, accounts, users and limits of one pass.
#include "core/agent/members/member_view.hpp"

#include <algorithm>
#include <set>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes attributes_age{5};

// What every server shows.
const std::vector<std::string>& common_attributes() {
  static const auto* const names = new std::vector<std::string>{"username", "full_name", "email"};
  return *names;
}

// The offering is there, but this server, or this offering, has no such list.
bool has_no_such_list(const base::error& e) {
  return e.http_status == 404 || e.http_status == 405 || e.http_status == 424;
}

} // namespace

base::result<offering_users_list>
offering_users_cache::get(people& waldur, std::chrono::milliseconds oldest) {
  const std::lock_guard lock(mutex_);
  const base::steady_time now = clock_.steady();
  if (users_ && now - users_read_ < oldest) {
    return users_;
  }
  if (!attributes_read_ || now - *attributes_read_ >= attributes_age) {
    base::result<std::vector<std::string>> names = waldur.list_attributes();
    attributes_ = names && !names->empty() ? *std::move(names) : common_attributes();
    attributes_read_ = now;
  }
  base::result<std::vector<waldur::offering_user>> read =
      waldur.list_offering_users({}, attributes_);
  if (!read) {
    return base::with_context(std::move(read).error(), "list offering users");
  }
  auto by_user = std::make_shared<std::map<base::uuid, waldur::offering_user>>();
  for (waldur::offering_user& u : *read) {
    if (u.user) {
      by_user->insert_or_assign(*u.user, std::move(u));
    }
  }
  users_ = std::move(by_user);
  users_read_ = now;
  return users_;
}

base::result<offering_users_list> member_view::users() {
  return users_.get([this] { return users_cache_.get(waldur_, oldest_); });
}

base::result<std::shared_ptr<const project_members>>
member_view::members_of(const waldur::resource& resource, bool shared) {
  const std::string& project = resource.project_uuid;
  std::string key = (shared ? "shared " : "") + (project.empty() ? resource.uuid.hex() : project);
  std::shared_ptr<read_once<members>> entry;
  {
    const std::lock_guard lock(teams_mutex_);
    std::shared_ptr<read_once<members>>& known = teams_[std::move(key)];
    if (!known) {
      known = std::make_shared<read_once<members>>();
    }
    entry = known;
  }
  return entry->get([&] { return read_members(resource, shared); });
}

base::result<member_view::members>
member_view::read_members(const waldur::resource& resource, bool shared) {
  const base::result<std::vector<waldur::team_member>> team = read_team(resource, shared);
  if (!team) {
    return base::with_context(team.error(), "read the team");
  }
  auto found = std::make_shared<project_members>();
  found->members = wanted_of_team(*team);
  if (const base::result<void> added = add_details(found->members, *team); !added) {
    return added.error();
  }
  found->is_complete = add_accounts(found->members, resource.project_uuid);
  return members(std::move(found));
}

base::result<std::vector<waldur::team_member>>
member_view::read_team(const waldur::resource& resource, bool shared) {
  if (!shared) {
    return waldur_.list_team(resource.uuid, false);
  }
  const auto project = base::uuid::parse(resource.project_uuid);
  if (!project) {
    return base::error{
        .code = base::error_code::transient,
        .message = "the project of resource " + resource.uuid.hex() + " is not shown"};
  }
  const auto resources = waldur_.list_project_resources(*project);
  if (!resources) {
    return resources.error();
  }
  std::vector<waldur::team_member> all;
  for (const waldur::resource& r : *resources) {
    auto team = waldur_.list_team(r.uuid, true);
    if (!team) {
      return team;
    }
    all.insert(
        all.end(), std::make_move_iterator(team->begin()), std::make_move_iterator(team->end())
    );
  }
  return all;
}

// Attributes and the present state, which the team may not show.
base::result<void>
member_view::add_details(wanted_members& wanted, const std::vector<waldur::team_member>& team) {
  if (wanted.empty()) {
    return {};
  }
  const base::result<offering_users_list> all = users();
  if (!all) {
    return all.error();
  }
  for (const waldur::team_member& m : team) {
    const auto at = wanted.find(m.username);
    const auto known = (*all)->find(m.user);
    if (at == wanted.end() || known == (*all)->end()) {
      continue;
    }
    at->second.attributes = known->second.attributes;
    at->second.state = known->second.state;
    if (is_leaving(known->second.state)) {
      wanted.erase(at);
    }
  }
  return {};
}

base::result<member_view::accounts> member_view::accounts_of(waldur::account_kind kind) {
  read_once<accounts>& once =
      kind == waldur::account_kind::service ? service_accounts_ : course_accounts_;
  return once.get([&]() -> base::result<accounts> {
    auto read = waldur_.list_accounts(kind);
    if (!read && !has_no_such_list(read.error())) {
      return std::move(read).error();
    }
    return std::make_shared<const std::vector<waldur::project_account>>(
        read ? *std::move(read) : std::vector<waldur::project_account>()
    );
  });
}

// false: not all of them are known.
bool member_view::add_accounts(wanted_members& wanted, const std::string& project) {
  const auto wanted_project = base::uuid::parse(project);
  bool is_complete = true;
  for (const waldur::account_kind kind :
       {waldur::account_kind::service, waldur::account_kind::course}) {
    const base::result<accounts> all = accounts_of(kind);
    if (!all) {
      is_complete = false;
      continue;
    }
    for (const waldur::project_account& a : **all) {
      if (a.state == "OK" && !a.username.empty() && a.project && a.project == wanted_project) {
        wanted_member account;
        account.username = a.username;
        wanted.emplace(a.username, std::move(account));
      }
    }
  }
  return is_complete;
}

base::result<member_view::limits_by_resource> member_view::read_limits() {
  auto read = waldur_.list_user_limits();
  if (!read && !has_no_such_list(read.error())) {
    return base::with_context(std::move(read).error(), "list the users' limits");
  }
  auto found = std::make_shared<std::map<base::uuid, member_limits>>();
  if (!read || read->empty()) {
    return limits_by_resource(std::move(found));
  }
  const base::result<offering_users_list> all = users();
  if (!all) {
    return all.error();
  }
  std::map<base::uuid, std::string> names;
  for (const auto& [user, account] : **all) {
    names.emplace(account.uuid, account.username);
  }
  for (const waldur::user_limit& l : *read) {
    const auto name = names.find(l.offering_user);
    if (name != names.end() && !name->second.empty()) {
      (*found)[l.resource][name->second].insert_or_assign(l.component, l.limit);
    }
  }
  return limits_by_resource(std::move(found));
}

base::result<member_limits> member_view::limits_of(const base::uuid& resource) {
  const base::result<limits_by_resource> all = limits_.get([this] { return read_limits(); });
  if (!all) {
    return all.error();
  }
  const auto found = (*all)->find(resource);
  return found == (*all)->end() ? member_limits() : found->second;
}

} // namespace siteagent::agent
