// SPDX-License-Identifier: MIT
// Crash points of test builds: SITEAGENT_CRASH_AT=phase:verb:kind:n kills the process by SIGKILL at
// the n-th checkpoint (from 1, over the whole process) of that description; "*" matches anything.
// Example: after:put:virtual-machine:1. Product builds ignore the variable.
#pragma once

#include "core/base/json.hpp"

namespace siteagent::host {

void reach_crash_point(const base::json& checkpoint);

} // namespace siteagent::host
