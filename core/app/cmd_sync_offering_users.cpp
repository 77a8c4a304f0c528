// SPDX-License-Identifier: MIT
// sync-offering-users: offering users that wait for the provider, once.
#include "core/agent/members/membership.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"
#include "core/base/secret.hpp"

#include <iostream>

namespace siteagent::app {

namespace {

bool sync(agent::offering_context& offering, agent::portal& waldur, agent::environment& env) {
  const config::offering& config = offering.config();
  std::cout << config.name << " (" << config.uuid.hex() << "): " << std::flush;
  if (config.username_management_backend.empty()) {
    std::cout << "nothing to do: username_management_backend is off\n";
    return true;
  }
  agent::membership members(offering, waldur, env);
  const base::result<void> answer = members.on_users_timer();
  if (!answer) {
    std::cout << "FAILED: " << base::global_redactor().scrub(answer.error().message) << '\n';
    return false;
  }
  std::cout << "done: whoever waited was taken on or let go; the backend '"
            << config.username_management_backend << "' makes no usernames of its own\n";
  return true;
}

} // namespace

int run_sync_offering_users(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  fine = for_each_offering(*config, line, {}, sync) && fine;
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
