// SPDX-License-Identifier: MIT
// Names for new users, the end of those who leave.
#include "core/agent/members/offering_users.hpp"

#include "core/agent/members/member_call.hpp"
#include "core/agent/members/member_diff.hpp"
#include "core/agent/order_run.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace siteagent::agent {

namespace {

using base::json;

constexpr const char* requested = "Requested";
constexpr const char* creating = "Creating";
constexpr const char* error_creating = "Error creating";
constexpr const char* pending_linking = "Pending account linking";
constexpr const char* pending_validation = "Pending additional validation";
constexpr const char* in_use = "OK";
constexpr const char* requested_deletion = "Requested deletion";
constexpr const char* deleting = "Deleting";

bool is_pending(const std::string& state) {
  return state == pending_linking || state == pending_validation;
}

bool waits_for_name(const std::string& state) {
  return state == requested || state == creating || state == error_creating || is_pending(state);
}

// May the same thing work later?
bool is_passing(const base::error& e) {
  const reaction r = react_to(e);
  return r == reaction::retry || r == reaction::hold_offering || r == reaction::stopped;
}

std::vector<std::string>
common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> both;
  std::copy_if(a.begin(), a.end(), std::back_inserter(both), [&](const std::string& name) {
    return std::find(b.begin(), b.end(), name) != b.end();
  });
  return both;
}

// Keeps the first failure.
void add(base::result<void>& all, base::result<void> one) {
  if (all && !one) {
    all = std::move(one);
  }
}

} // namespace

offering_users::offering_users(
    offering_context& offering,
    portal& waldur,
    people& people_of_offering,
    environment& env,
    std::unique_ptr<username_source> source
)
    : offering_(offering), waldur_(waldur), people_(people_of_offering), env_(env),
      source_(std::move(source)) {}

// Is it this agent that gives names to this offering's users?
base::result<bool> offering_users::is_ours() {
  if (!source_) {
    return false;
  }
  const base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return info.error();
  }
  const json& options = (*info)->server.plugin_options;
  if (options["username_generation_policy"].string_or("") != "service_provider") {
    return false;
  }
  if (!options["service_provider_can_create_offering_user"].boolean().value_or(false)) {
    if (offering_.first_time("users: not ours")) {
      offering_.log().error(
          "the provider gives usernames (username_generation_policy: service_provider), but the "
          "offering does not let him: turn on service_provider_can_create_offering_user in Waldur, "
          "or set username_management_backend: \"\""
      );
    }
    return false;
  }
  return true;
}

base::result<void> offering_users::refresh() {
  const base::result<bool> ours = is_ours();
  if (!ours) {
    return ours.error();
  }
  if (!*ours) {
    return {};
  }
  std::vector<std::string> states = {requested, requested_deletion, deleting};
  if (source_->gives_names()) {
    states.insert(states.end(), {creating, error_creating, pending_linking, pending_validation});
  }
  const base::result<user_list> waiting = people_.list_offering_users(states, {});
  if (!waiting) {
    return base::with_context(waiting.error(), "list offering users that wait");
  }
  return handle_ours(*waiting);
}

base::result<void> offering_users::handle(const user_list& users) {
  const base::result<bool> ours = is_ours();
  if (!ours) {
    return ours.error();
  }
  return *ours ? handle_ours(users) : base::result<void>();
}

base::result<void> offering_users::handle_ours(const user_list& users) {
  base::result<void> all;
  user_list leaving;
  for (const waldur::offering_user& user : users) {
    if (env_.stop.stop_requested()) {
      return all;
    }
    if (user.state == requested_deletion || user.state == deleting) {
      leaving.push_back(user);
    } else if (waits_for_name(user.state)) {
      add(all, give_name(user));
    }
  }
  if (!leaving.empty()) {
    add(all, tear_down(leaving));
  }
  return all;
}

base::result<void> offering_users::give_name(const waldur::offering_user& listed) {
  waldur::offering_user user = listed;
  if (user.state == requested) {
    // Also when no name can be given here: it can be entered by hand from then on.
    base::result<void> begun =
        write("begin creating", user.uuid, [&] { return people_.begin_creating(user.uuid); });
    if (!begun) {
      return begun;
    }
    user.state = creating;
  }
  if (!source_->gives_names()) {
    return {};
  }
  base::result<username_answer> answer = source_->get_or_create(user);
  if (answer) {
    return take_answer(user, *answer);
  }
  if (is_passing(answer.error())) {
    return base::with_context(std::move(answer).error(), "username for " + user.uuid.hex());
  }
  offering_.log().failure(
      observe::level::warning,
      "no username for an offering user",
      answer.error(),
      {{"offering_user", user.uuid.hex()}}
  );
  return user.state == error_creating ? base::result<void>()
                                      : write("set error creating", user.uuid, [&] {
                                          return people_.set_error_creating(user.uuid);
                                        });
}

// Posts only what differs.
base::result<void>
offering_users::take_answer(const waldur::offering_user& user, const username_answer& answer) {
  using kind = username_answer::kind;
  switch (answer.is) {
  case kind::none:
    return {};
  case kind::linking:
    return user.state == pending_linking ? base::result<void>()
                                         : write("set pending account linking", user.uuid, [&] {
                                             return people_.set_pending_account_linking(
                                                 user.uuid, answer.comment, answer.comment_url
                                             );
                                           });
  case kind::validation:
    return user.state == pending_validation
               ? base::result<void>()
               : write("set pending additional validation", user.uuid, [&] {
                   return people_.set_pending_additional_validation(
                       user.uuid, answer.comment, answer.comment_url
                   );
                 });
  case kind::name:
    break;
  }
  if (answer.username.empty()) {
    return {};
  }
  if (answer.username != user.username) {
    // Waldur makes a user with a new name OK, whatever he waited for.
    return write("set username", user.uuid, [&] {
      return people_.set_username(user.uuid, answer.username);
    });
  }
  return is_pending(user.state) ? write(
                                      "set validation complete",
                                      user.uuid,
                                      [&] { return people_.set_validation_complete(user.uuid); }
                                  )
                                : base::result<void>();
}

base::result<void> offering_users::tear_down(const user_list& leaving) {
  base::result<void> all;
  std::vector<std::string> names;
  user_list claimed;
  for (const waldur::offering_user& user : leaving) {
    if (user.state == requested_deletion) {
      base::result<void> taken =
          write("set deleting", user.uuid, [&] { return people_.set_deleting(user.uuid); });
      if (!taken) {
        add(all, std::move(taken));
        continue;
      }
    }
    claimed.push_back(user);
    if (!user.username.empty()) {
      names.push_back(user.username);
    }
  }
  const base::result<void> gone = names.empty() ? base::result<void>() : remove_everywhere(names);
  if (!gone && is_passing(gone.error())) {
    return gone; // they stay Deleting and are taken up again
  }
  if (!gone) {
    offering_.log().failure(
        observe::level::error,
        "offering users could not be removed from their resources",
        gone.error()
    );
  }
  for (const waldur::offering_user& user : claimed) {
    add(all,
        gone || user.username.empty()
            ? write("set deleted", user.uuid, [&] { return people_.set_deleted(user.uuid); })
            : write("set error deleting", user.uuid, [&] {
                return people_.set_error_deleting(user.uuid);
              }));
  }
  return all;
}

// From every resource there may be. What cannot be seen ends it: an account that still opens a
// machine somewhere is not deleted.
base::result<void> offering_users::remove_everywhere(const std::vector<std::string>& usernames) {
  base::result<std::vector<waldur::resource>> resources =
      waldur_.list_resources({"Creating", "OK", "Erred", "Updating", "Terminating"});
  if (!resources) {
    return base::with_context(std::move(resources).error(), "list resources");
  }
  std::erase_if(*resources, [](const waldur::resource& r) {
    return base::trim(r.backend_id).empty();
  });
  const std::string& plugin = offering_.config().membership_sync_backend;
  if (resources->empty() || plugin.empty()) {
    return {};
  }
  const base::result<std::shared_ptr<backend>> cloud = offering_.backend_for(plugin);
  if (!cloud) {
    return cloud.error();
  }
  const base::result<std::map<base::uuid, json>> rows = pull(**cloud, *resources);
  if (!rows) {
    return rows.error();
  }
  for (const waldur::resource& r : *resources) {
    const auto row = rows->find(r.uuid);
    const std::string presence =
        row == rows->end() ? "unknown" : row->second["presence"].string_or("unknown");
    if (presence == "absent") {
      continue;
    }
    if (presence != "present") {
      return base::error{
          .code = base::error_code::transient,
          .message = "the users of resource " + r.uuid.hex() + " cannot be seen now"};
    }
    const std::vector<std::string> stale = common(usernames, usernames_in(row->second));
    if (stale.empty()) {
      continue;
    }
    if (base::result<void> removed = remove_from(**cloud, r, stale); !removed) {
      return removed;
    }
  }
  return {};
}

base::result<std::map<base::uuid, json>>
offering_users::pull(backend& cloud, const std::vector<waldur::resource>& resources) {
  if (base::result<void> admitted = offering_.admit(cloud); !admitted) {
    return std::move(admitted).error();
  }
  host::call_request request;
  request.body.set("resources", resource_refs(resources));
  request.body.set("tags", offering_tags(offering_.config().uuid));
  request.body.set("uuid_tag", tag_resource);
  host::call_options options;
  options.stop = env_.stop;
  base::result<std::vector<json>> answer =
      cloud.call(host::operation::pull_resources, request, options);
  if (!answer) {
    return std::move(answer).error();
  }
  return rows_by_uuid(*std::move(answer));
}

base::result<void> offering_users::remove_from(
    backend& cloud, const waldur::resource& resource, const std::vector<std::string>& usernames
) {
  const std::optional<resource_locks::guard> lock = env_.locks.try_lock(resource.uuid);
  if (!lock) {
    return base::error{
        .code = base::error_code::transient,
        .message = "resource " + resource.uuid.hex() + " is being worked on"};
  }
  json users = json::array();
  for (const std::string& name : usernames) {
    users.push_back(json::object({{"username", name}}));
  }
  const base::result<member_answers> answers =
      call_for_members(offering_, env_, cloud, host::operation::remove_members, resource, users);
  if (!answers) {
    return answers.error();
  }
  for (const auto& [name, answer] : *answers) {
    if (answer.outcome == member_outcome::failed) {
      return base::error{
          .code = base::error_code::permanent,
          .message = "user " + name + " of resource " + resource.uuid.hex() +
                     " was not removed: " + answer.error};
    }
  }
  return {};
}

base::result<void> offering_users::reconcile() {
  const base::result<bool> ours = is_ours();
  if (!ours) {
    return ours.error();
  }
  if (!*ours || !source_->gives_names()) {
    return {};
  }
  const base::result<user_list> users = people_.list_offering_users({in_use}, {});
  if (!users) {
    return base::with_context(users.error(), "list offering users");
  }
  base::result<void> all;
  for (const waldur::offering_user& user : *users) {
    if (env_.stop.stop_requested()) {
      break;
    }
    if (user.state != in_use) {
      continue; // an older server does not filter
    }
    const base::result<username_answer> answer = source_->get_or_create(user);
    if (!answer) {
      add(all, base::with_context(answer.error(), "username for " + user.uuid.hex()));
    } else if (answer->is == username_answer::kind::name) {
      add(all, take_answer(user, *answer));
    }
  }
  return all;
}

// A conflict means that somebody else moved the user on, 404 that he is gone: no failures.
base::result<void> offering_users::write(
    const char* what, const base::uuid& user, const std::function<base::result<void>()>& call
) {
  base::result<void> answer = repeat_write(env_, call);
  if (answer || is_state_conflict(answer.error()) || answer.error().http_status == 404) {
    return {};
  }
  const bool forbidden = answer.error().http_status == 403;
  if (!forbidden || offering_.first_time(std::string("forbidden: ") + what)) {
    offering_.log().failure(
        observe::level::warning,
        "offering user not changed in Waldur",
        answer.error(),
        {{"offering_user", user.hex()}, {"what", what}}
    );
  }
  return answer;
}

} // namespace siteagent::agent
