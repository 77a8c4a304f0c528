// SPDX-License-Identifier: MIT
// People in memory, machines with users.
#include "members_world.hpp"

#include <algorithm>

namespace siteagent::agent::test {

using base::json;
using base::result;
using base::uuid;

waldur::offering_user&
fake_people::add_user(unsigned n, const std::string& state, const std::string& name) {
  waldur::offering_user u;
  u.uuid = uuid_of(n);
  u.user = uuid_of(n + 1000);
  u.state = state;
  u.username = name;
  const std::lock_guard lock(mutex_);
  return users_[u.uuid] = u;
}

waldur::team_member& fake_people::add_member(unsigned user, const std::string& name) {
  waldur::team_member m;
  m.user = uuid_of(user);
  m.login = "login-" + name;
  m.role = "PROJECT.MEMBER";
  m.username = name;
  m.state = "OK";
  return team.emplace_back(m);
}

void fake_people::fail(const std::string& call, const base::error& e, unsigned times) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < times; ++i) {
    failures_[call].push_back(e);
  }
}

std::vector<std::string> fake_people::writes() {
  const std::lock_guard lock(mutex_);
  return writes_;
}

unsigned fake_people::calls(const std::string& call) {
  const std::lock_guard lock(mutex_);
  return counts_[call];
}

std::string fake_people::state_of(unsigned n) {
  const std::lock_guard lock(mutex_);
  return users_.at(uuid_of(n)).state;
}

std::optional<base::error> fake_people::enter(const std::string& call) {
  const std::lock_guard lock(mutex_);
  ++counts_[call];
  std::deque<base::error>& next = failures_[call];
  if (next.empty()) {
    return std::nullopt;
  }
  base::error e = next.front();
  next.pop_front();
  return e;
}

result<std::vector<waldur::offering_user>> fake_people::list_offering_users(
    const std::vector<std::string>& states, const std::vector<std::string>& attributes
) {
  if (auto e = enter("list_offering_users")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  asked_attributes = attributes;
  std::vector<waldur::offering_user> some;
  for (const auto& [id, u] : users_) {
    if (states.empty() || std::find(states.begin(), states.end(), u.state) != states.end()) {
      some.push_back(u);
    }
  }
  return some;
}

result<std::vector<waldur::offering_user>> fake_people::find_offering_users(const uuid& user) {
  if (auto e = enter("find_offering_users")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  std::vector<waldur::offering_user> some;
  for (const auto& [id, u] : users_) {
    if (u.user == user) {
      some.push_back(u);
    }
  }
  return some;
}

result<waldur::offering_user> fake_people::get_offering_user(const uuid& user) {
  if (auto e = enter("get_offering_user")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  const auto found = users_.find(user);
  return found == users_.end() ? result<waldur::offering_user>(http_failure(404)) : found->second;
}

result<std::vector<std::string>> fake_people::list_attributes() {
  if (auto e = enter("list_attributes")) {
    return *e;
  }
  return std::vector<std::string>{"username", "affiliations"};
}

result<void> fake_people::move_user(
    const std::string& call,
    const uuid& user,
    const std::vector<std::string>& from,
    const std::string& to,
    const std::string& argument
) {
  {
    const std::lock_guard lock(mutex_);
    writes_.push_back(call + " " + user.hex() + (argument.empty() ? "" : " " + argument));
  }
  if (auto e = enter(call)) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  const auto found = users_.find(user);
  if (found == users_.end()) {
    return http_failure(404);
  }
  if (std::find(from.begin(), from.end(), found->second.state) == from.end()) {
    return http_failure(409);
  }
  found->second.state = to;
  return {};
}

result<void> fake_people::begin_creating(const uuid& user) {
  return move_user("begin_creating", user, {"Requested", "Error creating"}, "Creating");
}

result<void> fake_people::set_username(const uuid& user, std::string_view username) {
  const std::string name(username);
  auto moved = move_user(
      "set_username",
      user,
      {"Requested",
       "Creating",
       "Error creating",
       "Pending account linking",
       "Pending additional validation",
       "OK"},
      "OK",
      name
  );
  if (moved) {
    const std::lock_guard lock(mutex_);
    users_.at(user).username = name;
  }
  return moved;
}

result<void> fake_people::set_error_creating(const uuid& user) {
  return move_user(
      "set_error_creating",
      user,
      {"Requested", "Creating", "Pending account linking", "Pending additional validation"},
      "Error creating"
  );
}

result<void> fake_people::set_pending_account_linking(
    const uuid& user, std::string_view comment, std::string_view comment_url
) {
  return move_user(
      "set_pending_account_linking",
      user,
      {"Creating", "Error creating", "Pending additional validation"},
      "Pending account linking",
      std::string(comment) + " " + std::string(comment_url)
  );
}

result<void> fake_people::set_pending_additional_validation(
    const uuid& user, std::string_view comment, std::string_view comment_url
) {
  return move_user(
      "set_pending_additional_validation",
      user,
      {"Creating", "Error creating", "Pending account linking"},
      "Pending additional validation",
      std::string(comment) + " " + std::string(comment_url)
  );
}

result<void> fake_people::set_validation_complete(const uuid& user) {
  return move_user(
      "set_validation_complete",
      user,
      {"Pending account linking", "Pending additional validation"},
      "OK"
  );
}

result<void> fake_people::set_deleting(const uuid& user) {
  return move_user("set_deleting", user, {"Requested deletion", "Error deleting"}, "Deleting");
}

result<void> fake_people::set_deleted(const uuid& user) {
  return move_user("set_deleted", user, {"Requested", "Deleting"}, "Deleted");
}

result<void> fake_people::set_error_deleting(const uuid& user) {
  return move_user(
      "set_error_deleting", user, {"Requested deletion", "Deleting"}, "Error deleting"
  );
}

result<std::vector<waldur::team_member>>
fake_people::list_team(const uuid& resource, bool consenting) {
  if (auto e = enter("list_team")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  consents.push_back(consenting);
  const auto own = teams.find(resource);
  return own == teams.end() ? team : own->second;
}

result<std::vector<waldur::project_account>> fake_people::list_accounts(waldur::account_kind kind) {
  const bool service = kind == waldur::account_kind::service;
  if (auto e = enter(service ? "list_services" : "list_courses")) {
    return *e;
  }
  return service ? services : courses;
}

result<std::vector<waldur::user_limit>> fake_people::list_user_limits() {
  if (auto e = enter("list_user_limits")) {
    return *e;
  }
  return limits;
}

result<std::vector<waldur::resource>> fake_people::list_project_resources(const uuid& project) {
  if (auto e = enter("list_project_resources")) {
    return *e;
  }
  auto all = portal_.list_resources({"OK", "Erred"});
  std::erase_if(*all, [&](const waldur::resource& r) { return r.project_uuid != project.hex(); });
  return all;
}

result<void> fake_people::report_members(
    const uuid& resource, const std::vector<waldur::member_status>& statuses
) {
  {
    const std::lock_guard lock(mutex_);
    std::string line = "report_members " + resource.hex();
    for (const waldur::member_status& s : statuses) {
      line += " " + s.login + "=" + s.state;
    }
    writes_.push_back(line);
  }
  if (auto e = enter("report_members")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  reports[resource] = statuses;
  return {};
}

members_world::members_world() {
  waldur.members = &persons;
  cloud->on(host::operation::pull_resources, [this](const host::call_request& r, const auto&) {
    return pull(r);
  });
  cloud->on(host::operation::add_members, [this](const host::call_request& r, const auto&) {
    return change(r, true);
  });
  cloud->on(host::operation::remove_members, [this](const host::call_request& r, const auto&) {
    return change(r, false);
  });
}

waldur::resource& members_world::make(unsigned n, unsigned project) {
  waldur::resource& r = waldur.add_resource(n, "OK");
  r.backend_id = "/vm/" + std::to_string(n);
  r.backend_metadata = json::object({{"size", "small"}});
  r.project_uuid = uuid_of(project).hex();
  r.raw = json::object({{"last_sync", base::to_rfc3339(clock.wall())}});
  rows[r.uuid.hex()] = json::object(
      {{"uuid", r.uuid.hex()},
       {"presence", "present"},
       {"state", "ok"},
       {"power", "running"},
       {"metadata", json::object({{"size", "small"}})}}
  );
  return r;
}

void members_world::keep_users(unsigned n, std::vector<std::string> usernames) {
  users[uuid_of(n).hex()] = std::move(usernames);
}

std::vector<std::string> members_world::users_of(unsigned n) {
  const std::lock_guard lock(cloud_mutex);
  return users[uuid_of(n).hex()];
}

std::vector<std::string> members_world::writes() {
  std::vector<std::string> all = waldur.writes();
  std::erase_if(all, [](const std::string& w) { return w.starts_with("refresh_last_sync"); });
  const std::vector<std::string> more = persons.writes();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void members_world::own_usernames() {
  waldur.offering.plugin_options = json::object(
      {{"username_generation_policy", "service_provider"},
       {"service_provider_can_create_offering_user", true}}
  );
}

fake_cloud::emitted members_world::pull(const host::call_request& request) {
  const std::lock_guard lock(cloud_mutex);
  std::vector<json> out;
  for (const json& wanted : request.body["resources"].items()) {
    const std::string hex = wanted["uuid"].string_or("");
    const auto known = rows.find(hex);
    json row =
        known == rows.end() ? json::object({{"uuid", hex}, {"presence", "absent"}}) : known->second;
    if (const auto with = users.find(hex); with != users.end() && row["users"].is_null()) {
      json list = json::array();
      for (const std::string& name : with->second) {
        list.push_back(json::object({{"username", name}}));
      }
      row.set("users", std::move(list));
    }
    out.push_back(std::move(row));
  }
  return out;
}

fake_cloud::emitted members_world::change(const host::call_request& request, bool add) {
  const std::lock_guard lock(cloud_mutex);
  std::vector<std::string>& present = users[request.idempotency_key];
  json answers = json::array();
  for (const json& user : request.body["users"].items()) {
    const std::string name = user["username"].string_or("");
    json answer = json::object({{"username", name}, {"done", false}});
    if (broken.contains(name)) {
      answer.set("error", "scripted");
    } else if (!declined.contains(name)) {
      answer.set("done", true);
      std::erase(present, name);
      if (add) {
        present.push_back(name);
      }
    }
    answers.push_back(std::move(answer));
  }
  std::sort(present.begin(), present.end());
  return std::vector{json::object({{"users", answers}})};
}

} // namespace siteagent::agent::test
