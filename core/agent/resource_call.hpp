// SPDX-License-Identifier: MIT
// A plugin call about one resource that no order asks for: power, users.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/observe/log.hpp"

#include <string>
#include <vector>

namespace siteagent::agent {

struct resource_answer {
  base::result<std::vector<base::json>> rows;
  observe::logger log;   // carries offering, resource and action
  std::string reference; // of the call, also in the cloud's records
};

// `body` is sent with the resource added. Refused credentials open the offering's circuit. Blocks
// as long as the operation may take; the process's stop ends it early.
resource_answer call_about(
    offering_context& offering,
    environment& env,
    backend& cloud,
    host::operation op,
    const waldur::resource& resource,
    base::json body = base::json::object()
);

} // namespace siteagent::agent
