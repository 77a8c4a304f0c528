// SPDX-License-Identifier: MIT
// A second reader of the log's lines, beside the output.
#pragma once

#include "core/base/json.hpp"
#include "core/observe/log.hpp"

#include <functional>

namespace siteagent::observe {

// One line that was written: its keys as log.hpp says, values scrubbed.
using log_tap = std::function<void(level at, const base::json& line)>;

// Replaces the one tap of the process; empty ends it. The tap is called from the threads that log,
// several at once, before log calls return: it must be quick and must not log. A call under way may
// outlast the replacement, so it must own what it uses. [any thread]
void set_log_tap(log_tap tap);

} // namespace siteagent::observe
