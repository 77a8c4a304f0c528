// SPDX-License-Identifier: MIT
// The agent's surroundings for a command that looks at every offering once and ends.
#pragma once

#include "core/agent/offering_context.hpp"
#include "core/app/assemble.hpp"
#include "core/app/command_line.hpp"

#include <functional>
#include <optional>
#include <string>

namespace siteagent::app {

// nullopt: the file cannot be used; findings are on stderr. A file with some bad offerings is
// used for the others; `fine` turns false. With --offering only that one is left.
std::optional<config::agent_config> load_for_command(const command_line& line, bool& fine);

// Wraps the plugins of an offering, for example to keep them from writing.
using backend_wrapper =
    std::function<std::shared_ptr<agent::backend>(std::shared_ptr<agent::backend>)>;

// Calls `work` for each offering, in the file's order. An offering without a client for Waldur
// is reported on stderr and makes the result false, as does a `work` that returns false.
using offering_work =
    std::function<bool(agent::offering_context&, agent::portal&, agent::environment&)>;
bool for_each_offering(
    const config::agent_config& config,
    const command_line& line,
    const backend_wrapper& wrap,
    const offering_work& work
);

} // namespace siteagent::app
