// SPDX-License-Identifier: MIT
// diagnose: can Waldur and every plugin be used? Reads only; never prints a secret.
#include "core/agent/request_body.hpp"
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/base/secret.hpp"
#include "core/config/config.hpp"

#include <iostream>
#include <string_view>

namespace siteagent::app {

namespace {

bool say(bool fine, std::string_view what, std::string_view detail) {
  const std::string clean = base::global_redactor().scrub(detail);
  std::cout << (fine ? "  ok      " : "  FAILED  ") << what;
  if (!clean.empty()) {
    std::cout << ": " << clean;
  }
  std::cout << std::endl; // each check may take a while
  return fine;
}

bool diagnose_waldur(const config::offering& offering) {
  const base::result<std::unique_ptr<waldur::client>> client =
      make_client(offering, "diagnostics", nullptr, {});
  if (!client) {
    return say(false, "Waldur", client.error().message);
  }
  const base::result<base::json> user = (*client)->users_me();
  bool fine = user ? say(true, "Waldur user", (*user)["username"].string_or(""))
                   : say(false, "Waldur user", user.error().message);
  const base::result<waldur::offering> seen = (*client)->get_offering(offering.uuid);
  if (!seen) {
    return say(false, "offering in Waldur", seen.error().message);
  }
  say(true, "offering in Waldur", std::to_string(seen->components.size()) + " component(s)");
  for (const config::component& c : offering.components) {
    bool known = false;
    for (const waldur::offering_component& s : seen->components) {
      known |= s.type == c.type;
    }
    if (!known) {
      fine &= say(false, "component " + c.type, "not in Waldur; its usage would not be booked");
    }
  }
  const base::result<std::vector<waldur::order>> orders = (*client)->list_orders(offering.uuid);
  fine &= orders ? say(true, "open orders", std::to_string(orders->size()))
                 : say(false, "open orders", orders.error().message);
  return fine;
}

bool diagnose_plugin(
    const config::offering& offering, const std::string& id, const agent::backend_factory& open
) {
  const base::result<std::shared_ptr<agent::backend>> cloud = open(offering, id);
  if (!cloud) {
    return say(false, "plugin " + id, cloud.error().message);
  }
  const base::result<std::vector<base::json>> ping = (*cloud)->call(host::operation::ping, {}, {});
  bool fine = ping ? say(true, "plugin " + id + ", ping", "")
                   : say(false, "plugin " + id + ", ping", ping.error().message);
  host::call_request request;
  request.body.set("offering", agent::offering_to_json(offering));
  request.body.set("components", agent::components_to_json(offering.components));
  const base::result<std::vector<base::json>> checks =
      (*cloud)->call(host::operation::diagnostics, request, {});
  if (!checks) {
    return say(false, "plugin " + id + ", diagnostics", checks.error().message);
  }
  for (const base::json& check : *checks) {
    fine &=
        say(check["ok"].boolean().value_or(false),
            "plugin " + id + ", " + check["name"].string_or("check"),
            check["detail"].string_or(""));
  }
  return fine;
}

} // namespace

int run_diagnose(const command_line& line) {
  base::result<config::agent_config> config = config::load(line.config_file);
  if (!config) {
    std::cerr << config.error().message << '\n';
    return exit_failed;
  }
  for (const config::finding& f : config->findings) {
    std::cerr << f.text() << '\n';
  }
  bool fine = !config->has_errors();
  const agent::backend_factory open = make_backends(*config, line.plugin_directories);
  for (const config::offering& offering : config->offerings) {
    std::cout << offering.name << " (" << offering.uuid.hex() << ") at " << offering.waldur_api_url
              << '\n';
    fine &= diagnose_waldur(offering);
    for (const std::string& id : plugins_of(offering)) {
      fine &= diagnose_plugin(offering, id, open);
    }
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
