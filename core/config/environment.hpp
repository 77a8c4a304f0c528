// SPDX-License-Identifier: MIT
// The agent's variables of the environment, judged. Internal to core/config.
#pragma once

#include "core/config/value.hpp"

#include <vector>

namespace siteagent::config {

// An error for each period that is none, a warning for each variable that does nothing here. An
// empty variable is an absent one.
std::vector<finding> judge_environment();

} // namespace siteagent::config
