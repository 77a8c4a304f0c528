// SPDX-License-Identifier: MIT
// diagnose: can Waldur and every plugin be used? Reads only; never prints a secret. With --role:
// the rights the plugins' credentials need, one JSON document a line.
#include "core/agent/request_body.hpp"
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"
#include "core/app/portal_checks.hpp"

#include <iostream>
#include <set>

namespace siteagent::app {

namespace {

using base::json;

// A default that cannot be ordered is the plugin's own check; the choices are the form's.
void check_form(
    agent::backend& cloud,
    const std::string& id,
    const config::offering& offering,
    const waldur::offering& seen,
    check_report& report
) {
  host::call_request request;
  request.body = describe_options(offering);
  request.body.set("choices", choices_of_form(seen.options));
  const base::result<std::vector<json>> options =
      cloud.call(host::operation::describe, request, {});
  if (options) {
    check_order_form(seen.options, *options, report);
  } else if (options.error().code != base::error_code::unsupported) {
    report.failed("plugin " + id + ", order options", options.error().message);
  }
}

void check_plugin(
    const config::offering& offering,
    const std::string& id,
    const agent::backend_factory& open,
    const std::optional<waldur::offering>& seen,
    check_report& report
) {
  const std::string plugin = "plugin " + id;
  const base::result<std::shared_ptr<agent::backend>> cloud = open(offering, id);
  if (!cloud) {
    report.failed(plugin, cloud.error().message);
    return;
  }
  const base::result<std::vector<json>> ping = (*cloud)->call(host::operation::ping, {}, {});
  report.add(ping.has_value(), plugin + ", ping", ping ? "" : ping.error().message);
  host::call_request request;
  request.body.set("offering", agent::offering_to_json(offering));
  request.body.set("components", agent::components_to_json(offering.components));
  const base::result<std::vector<json>> checks =
      (*cloud)->call(host::operation::diagnostics, request, {});
  if (!checks) {
    report.failed(plugin + ", diagnostics", checks.error().message);
  } else {
    for (const json& check : *checks) {
      report.add(
          check["ok"].boolean().value_or(false),
          plugin + ", " + check["name"].string_or("check"),
          check["detail"].string_or("")
      );
    }
  }
  if (seen && id == offering.order_processing_backend) {
    check_form(**cloud, id, offering, *seen, report);
  }
}

// Offerings that share credentials and settings need one role between them.
bool print_roles(
    const config::offering& offering,
    const std::string& id,
    const agent::backend_factory& open,
    std::set<std::string>& printed
) {
  const auto complain = [&](const std::string& why) {
    std::cerr << offering.name << ": plugin " << id << ": " << why << '\n';
    return false;
  };
  const base::result<std::shared_ptr<agent::backend>> cloud = open(offering, id);
  if (!cloud) {
    return complain(cloud.error().message);
  }
  host::call_request request;
  request.body.set("what", "role");
  request.body.set("components", agent::components_to_json(offering.components));
  const base::result<std::vector<json>> roles =
      (*cloud)->call(host::operation::describe, request, {});
  if (!roles && roles.error().code == base::error_code::unsupported) {
    return complain("it has no roles to describe; remove --role, or choose another --offering");
  }
  if (!roles) {
    return complain(roles.error().message);
  }
  for (const json& role : *roles) {
    if (const std::string text = role.dump(); printed.insert(text).second) {
      std::cout << text << '\n';
    }
  }
  return true;
}

} // namespace

int run_diagnose(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  const agent::backend_factory open = make_backends(*config, line.plugin_directories);
  std::set<std::string> printed;
  check_report report(line.json);
  for (const config::offering& offering : config->offerings) {
    if (line.role) {
      for (const std::string& id : plugins_of(offering)) {
        fine &= print_roles(offering, id, open, printed);
      }
      continue;
    }
    report.begin(offering);
    const std::optional<waldur::offering> seen = check_portal(offering, report);
    for (const std::string& id : plugins_of(offering)) {
      check_plugin(offering, id, open, seen, report);
    }
  }
  if (!line.role) {
    fine = report.finish(fine);
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
