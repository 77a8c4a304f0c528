// SPDX-License-Identifier: MIT
// Template deployments: the requests of a template, made in the order of its dependencies.
#pragma once

#include "context.hpp"

#include <string>
#include <vector>

namespace siteagent::azure_emulator {

// rest: the segments behind ".../Microsoft.Resources/deployments".
reply route_deployments(context& c, const std::string& group, const std::vector<std::string>& rest);

// Goes on with every deployment as far as it can at this moment; before each request.
void run_deployments(world& w, base::wall_time now);

} // namespace siteagent::azure_emulator
