// SPDX-License-Identifier: MIT
// add_members and remove_members of the plugin, with what became of each user.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace siteagent::agent {

enum class member_outcome : std::uint8_t { done, declined, failed };

struct member_answer {
  member_outcome outcome = member_outcome::failed;
  std::string error; // the plugin's words, for the log
};

using member_answers = std::map<std::string, member_answer>; // by username

// One call for all of `users` ([{"username",...}]); a user the plugin says nothing about has
// failed. An error is the call's own; refused credentials open the offering's circuit. Blocks as
// long as the operation may take.
base::result<member_answers> call_for_members(
    offering_context& offering,
    environment& env,
    backend& cloud,
    host::operation op,
    const waldur::resource& resource,
    const base::json& users
);

} // namespace siteagent::agent
