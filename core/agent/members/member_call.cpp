// SPDX-License-Identifier: MIT
// Calls about the users of a resource.
#include "core/agent/members/member_call.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};

member_answers read_answers(const base::json& users, const std::vector<base::json>& emitted) {
  member_answers answers;
  for (const base::json& user : users.items()) {
    answers[user["username"].string_or("")].error = "the plugin said nothing about this user";
  }
  for (const base::json& part : emitted) {
    for (const base::json& row : part["users"].items()) {
      const auto asked = answers.find(row["username"].string_or(""));
      if (asked == answers.end()) {
        continue;
      }
      member_answer& answer = asked->second;
      answer.error = row["error"].string_or("");
      answer.outcome = !answer.error.empty()                   ? member_outcome::failed
                       : row["done"].boolean().value_or(false) ? member_outcome::done
                                                               : member_outcome::declined;
    }
  }
  return answers;
}

} // namespace

base::result<member_answers> call_for_members(
    offering_context& offering,
    environment& env,
    backend& cloud,
    host::operation op,
    const waldur::resource& resource,
    const base::json& users
) {
  const std::string reference = base::uuid::random().hex();
  const observe::logger log = offering.log()
                                  .with("resource", resource.uuid.hex())
                                  .with("action", std::string(host::name_of(op)));
  progress_board::activity activity = env.progress.begin(
      std::string(host::name_of(op)) + " of " + resource.uuid.hex(),
      cloud.deadline_of(op) + call_grace
  );
  host::call_request request;
  request.target = std::string(base::trim(resource.backend_id));
  request.idempotency_key = resource.uuid.hex();
  request.body.set("resource", resource_to_json(resource));
  request.body.set("users", users);
  host::call_options options;
  options.stop = env.stop;
  options.trace_id = reference;
  options.checkpoint = make_checkpoint(env, activity, nullptr, log, reference);
  base::result<std::vector<base::json>> emitted = cloud.call(op, request, options);
  if (!emitted) {
    if (react_to(emitted.error()) == reaction::hold_offering) {
      offering.hold(emitted.error());
    }
    return std::move(emitted).error();
  }
  return read_answers(users, *emitted);
}

} // namespace siteagent::agent
