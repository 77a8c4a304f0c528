// SPDX-License-Identifier: MIT
// sync-offering-users and create-homedirs: jobs of account providers. For machines there is nothing
// to do, which is what the Python agent finds for such offerings, too.
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"

#include <functional>
#include <iostream>

namespace siteagent::app {

namespace {

// One line for each offering; 1 when the file has errors.
int say_for_each(
    const command_line& line, const std::function<std::string(const config::offering&)>& why
) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  for (const config::offering& offering : config->offerings) {
    std::cout << offering.name << " (" << offering.uuid.hex() << "): " << why(offering) << '\n';
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace

int run_sync_offering_users(const command_line& line) {
  return say_for_each(line, [](const config::offering& offering) {
    return "nothing to do: username_management_backend is " +
           (offering.username_management_backend.empty()
                ? std::string("off")
                : offering.username_management_backend + ", which generates no usernames");
  });
}

int run_create_homedirs(const command_line& line) {
  return say_for_each(line, [](const config::offering&) {
    return std::string("nothing to do: home directories lie inside the machines, where the agent "
                       "never logs in; use the order's user_data");
  });
}

} // namespace siteagent::app
