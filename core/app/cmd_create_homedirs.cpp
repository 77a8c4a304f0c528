// SPDX-License-Identifier: MIT
// create-homedirs: a job of account providers. For machines there is nothing to do, which is what
// the Python agent finds for such offerings, too.
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"

#include <iostream>

namespace siteagent::app {

int run_create_homedirs(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  for (const config::offering& offering : config->offerings) {
    std::cout << offering.name << " (" << offering.uuid.hex()
              << "): nothing to do: home directories lie inside the machines, where the agent "
                 "never logs in; use the order's user_data\n";
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
