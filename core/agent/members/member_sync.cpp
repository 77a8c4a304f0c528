// SPDX-License-Identifier: MIT
// The users of one resource.
#include "core/agent/members/member_sync.hpp"

#include "core/agent/order_run.hpp"
#include "core/agent/verdict.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

using base::json;

// A single event may work with users that were read for the one before.
constexpr std::chrono::minutes users_age{1};
// The plugin's words may name what is none of the customer's business; the log has them.
constexpr const char* failed_text = "not applied at the provider's side yet";

json names_only(const std::vector<std::string>& usernames) {
  json users = json::array();
  for (const std::string& name : usernames) {
    users.push_back(json::object({{"username", name}}));
  }
  return users;
}

std::size_t count_of(const member_answers& answers, member_outcome wanted) {
  return static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), [&](const auto& a) {
    return a.second.outcome == wanted;
  }));
}

bool is_done(const member_answers& answers, const std::string& name) {
  const auto found = answers.find(name);
  return found != answers.end() && found->second.outcome == member_outcome::done;
}

// The users of the row with what was done to them.
json row_after(const json& row, const member_answers& added, const member_answers& removed) {
  json users = json::array();
  for (const std::string& name : usernames_in(row)) {
    if (!added.contains(name) && !is_done(removed, name)) {
      users.push_back(json::object({{"username", name}}));
    }
  }
  for (const auto& [name, answer] : added) {
    if (answer.outcome == member_outcome::done) {
      users.push_back(json::object({{"username", name}}));
    }
  }
  return json::object({{"users", std::move(users)}});
}

// What was refused for good must not be posted again and again.
bool is_settled(const base::result<void>& answer) {
  return answer || react_to(answer.error()) == reaction::fail ||
         react_to(answer.error()) == reaction::not_there;
}

std::string text_of(const std::vector<waldur::member_status>& statuses) {
  std::string text;
  for (const waldur::member_status& s : statuses) {
    text += s.login + "\n" + s.role + "\n" + s.state + "\n";
  }
  return text;
}

} // namespace

member_sync::member_sync(offering_context& offering, people& waldur, environment& env)
    : offering_(offering), waldur_(waldur), env_(env), users_(env.clock) {}

std::unique_ptr<member_view> member_sync::begin(bool all, bool reports) {
  {
    const std::lock_guard lock(mutex_);
    reports_ = reports;
  }
  return std::make_unique<member_view>(
      waldur_, users_, all ? std::chrono::milliseconds(0) : std::chrono::milliseconds(users_age)
  );
}

std::optional<bool> member_sync::keeps_users() const {
  const std::lock_guard lock(mutex_);
  return keeps_users_;
}

void member_sync::note(const json& row) {
  if (row["presence"].string_or("") != "present") {
    return;
  }
  const bool has_users = agent::keeps_users(row);
  const std::lock_guard lock(mutex_);
  keeps_users_ = has_users || keeps_users_.value_or(false);
}

base::result<member_work>
member_sync::look(member_view& view, const waldur::resource& resource, const json& row) {
  member_work work;
  if (!agent::keeps_users(row)) {
    return work;
  }
  const wanted_members nobody;
  // Restricted: nobody at all, accounts of services and courses included.
  if (!resource.raw["restrict_member_access"].boolean().value_or(false)) {
    base::result<std::shared_ptr<const project_members>> members =
        view.members_of(resource, row["users_shared"].boolean().value_or(false));
    if (!members) {
      return std::move(members).error();
    }
    work.team = *std::move(members);
    if (has_user_limits(row)) {
      base::result<member_limits> limits = view.limits_of(resource.uuid);
      if (!limits) {
        return std::move(limits).error();
      }
      work.limits = *std::move(limits);
    }
  }
  work.changes = compare_members(
      work.team ? work.team->members : nobody,
      row,
      work.limits,
      !work.team || work.team->is_complete
  );
  const std::lock_guard lock(mutex_);
  memory& known = memories_[resource.uuid];
  leave_out_declined(known, work.changes);
  work.report = reports_ && known.reported != text_of(statuses(row, work, known.failed));
  return work;
}

// What is no longer in question is forgotten: should it come back, the plugin is asked again.
void member_sync::leave_out_declined(memory& known, member_changes& changes) {
  std::set<std::string> adds;
  for (const wanted_member& m : changes.add) {
    adds.insert(m.username);
  }
  const std::set<std::string> removals(changes.remove.begin(), changes.remove.end());
  std::erase_if(known.declined_adds, [&](const std::string& n) { return !adds.contains(n); });
  std::erase_if(known.declined_removals, [&](const std::string& n) {
    return !removals.contains(n);
  });
  std::erase_if(known.failed, [&](const std::string& n) {
    return !adds.contains(n) && !removals.contains(n);
  });
  std::erase_if(changes.add, [&](const wanted_member& m) {
    return known.declined_adds.contains(m.username);
  });
  std::erase_if(changes.remove, [&](const std::string& n) {
    return known.declined_removals.contains(n);
  });
}

bool member_sync::apply(
    backend& cloud, const waldur::resource& resource, const json& row, const member_work& work
) {
  bool fine = true;
  member_answers added;
  member_answers removed;
  if (!work.changes.remove.empty()) { // first: access that is over ends before other work can fail
    fine &= change(
        cloud, host::operation::remove_members, resource, names_only(work.changes.remove), removed
    );
  }
  if (!work.changes.add.empty()) {
    json users = json::array();
    for (const wanted_member& m : work.changes.add) {
      users.push_back(to_json(m, work.limits));
    }
    fine &= change(cloud, host::operation::add_members, resource, users, added);
  }
  const std::size_t additions = count_of(added, member_outcome::done);
  const std::size_t removals = count_of(removed, member_outcome::done);
  if (additions + removals > 0) {
    offering_.log().info(
        "users of a resource changed",
        {{"resource", resource.uuid.hex()},
         {"added", std::to_string(additions)},
         {"removed", std::to_string(removals)}}
    );
  }
  const json now = row_after(row, added, removed);
  std::vector<waldur::member_status> told;
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const memory& known = memories_[resource.uuid];
    told = statuses(now, work, known.failed);
    text = text_of(told);
    if (!reports_ || known.reported == text) {
      return fine;
    }
  }
  return report(resource, told, text) && fine;
}

// One call for all of `users`; what became of each goes to `out`. false: some of it is owed.
bool member_sync::change(
    backend& cloud,
    host::operation op,
    const waldur::resource& resource,
    const json& users,
    member_answers& out
) {
  base::result<member_answers> answers =
      call_for_members(offering_, env_, cloud, op, resource, users);
  if (answers) {
    out = *std::move(answers);
    say_failed(resource, op, out);
  } else {
    // A backend that shows users but cannot change them has nothing to do for anybody.
    const bool cannot = answers.error().code == base::error_code::unsupported;
    for (const json& user : users.items()) {
      out[user["username"].string_or("")].outcome =
          cannot ? member_outcome::declined : member_outcome::failed;
    }
    if (!env_.stop.stop_requested() && (!cannot || offering_.first_time("users: unsupported"))) {
      offering_.log().failure(
          observe::level::warning,
          "users of a resource not changed",
          answers.error(),
          {{"resource", resource.uuid.hex()}, {"action", std::string(host::name_of(op))}}
      );
    }
  }
  remember(resource.uuid, op, out);
  return count_of(out, member_outcome::failed) == 0;
}

// When it begins, not every pass.
void member_sync::say_failed(
    const waldur::resource& resource, host::operation op, const member_answers& answers
) {
  const std::lock_guard lock(mutex_);
  const std::set<std::string>& known = memories_[resource.uuid].failed;
  for (const auto& [name, answer] : answers) {
    if (answer.outcome == member_outcome::failed && !known.contains(name)) {
      offering_.log().warning(
          "user of a resource not changed, tried again later",
          {{"resource", resource.uuid.hex()},
           {"action", std::string(host::name_of(op))},
           {"username", name},
           {"error", answer.error}}
      );
    }
  }
}

void member_sync::remember(
    const base::uuid& resource, host::operation op, const member_answers& answers
) {
  const std::lock_guard lock(mutex_);
  memory& known = memories_[resource];
  const bool adds = op == host::operation::add_members;
  for (const auto& [name, answer] : answers) {
    known.failed.erase(name);
    if (answer.outcome == member_outcome::declined) {
      (adds ? known.declined_adds : known.declined_removals).insert(name);
    } else if (answer.outcome == member_outcome::failed) {
      known.failed.insert(name);
    }
  }
}

// A complete report: those who are in, those who failed; of the others nothing is known.
std::vector<waldur::member_status> member_sync::statuses(
    const json& row, const member_work& work, const std::set<std::string>& failed
) const {
  std::vector<waldur::member_status> all;
  if (!work.team) {
    return all;
  }
  const std::vector<std::string> names = usernames_in(row);
  const std::set<std::string> present(names.begin(), names.end());
  for (const auto& [name, member] : work.team->members) {
    if (member.login.empty()) {
      continue;
    }
    if (failed.contains(name)) {
      all.push_back({member.login, member.role, "error", failed_text});
    } else if (present.contains(name)) {
      all.push_back({member.login, member.role, "synced", ""});
    }
  }
  return all;
}

bool member_sync::report(
    const waldur::resource& resource,
    const std::vector<waldur::member_status>& statuses,
    const std::string& text
) {
  const base::result<void> answer =
      repeat_write(env_, [&] { return waldur_.report_members(resource.uuid, statuses); });
  if (!answer && (!is_settled(answer) || offering_.first_time("members: not reported"))) {
    offering_.log().failure(
        observe::level::warning,
        "membership not reported to Waldur",
        answer.error(),
        {{"resource", resource.uuid.hex()}}
    );
  }
  if (is_settled(answer)) {
    const std::lock_guard lock(mutex_);
    memories_[resource.uuid].reported = text;
  }
  return is_settled(answer);
}

void member_sync::forget_declined() {
  const std::lock_guard lock(mutex_);
  for (auto& [resource, known] : memories_) {
    known.declined_adds.clear();
    known.declined_removals.clear();
  }
}

void member_sync::keep_only(const std::set<base::uuid>& resources) {
  const std::lock_guard lock(mutex_);
  std::erase_if(memories_, [&](const auto& m) { return !resources.contains(m.first); });
}

} // namespace siteagent::agent
