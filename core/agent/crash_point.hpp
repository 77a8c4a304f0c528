// SPDX-License-Identifier: MIT
// Crash injection behind writes to Waldur, as core/host has it behind writes to the cloud:
// SITEAGENT_CRASH_AT=after:post:set_backend_id:1 kills the process (SIGKILL) behind the first such
// write. Compiled in with SITEAGENT_TEST_HOOKS only; otherwise the function does nothing.
#pragma once

#include <string_view>

namespace siteagent::agent {

// [any thread]
void crash_point(std::string_view phase, std::string_view verb, std::string_view kind);

} // namespace siteagent::agent
