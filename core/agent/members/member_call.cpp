// SPDX-License-Identifier: MIT
// Calls about the users of a resource.
#include "core/agent/members/member_call.hpp"

#include "core/agent/resource_call.hpp"

namespace siteagent::agent {

namespace {

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
  const resource_answer answer =
      call_about(offering, env, cloud, op, resource, base::json::object({{"users", users}}));
  if (!answer.rows) {
    return answer.rows.error();
  }
  return read_answers(users, *answer.rows);
}

} // namespace siteagent::agent
