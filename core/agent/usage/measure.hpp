// SPDX-License-Identifier: MIT
// Asks a plugin for the usage of many resources in one period.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"

#include <chrono>
#include <map>
#include <vector>

namespace siteagent::agent {

// The rows of what was measured, by resource; the others have no data, which is not zero. One call
// of at most `deadline` (0: the operation's own). Refused credentials open the offering's circuit.
base::result<std::map<base::uuid, base::json>> measure_usage(
    offering_context& offering,
    backend& cloud,
    environment& env,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    base::month period,
    std::chrono::milliseconds deadline = {}
);

} // namespace siteagent::agent
