// SPDX-License-Identifier: MIT
// The subcommands; each returns the program's exit code. Texts for people go to stdout and stderr.
#pragma once

#include "core/app/command_line.hpp"

namespace siteagent::app {

int run_agent(const command_line& line);
int run_validate(const command_line& line);
int run_diagnose(const command_line& line);
int run_offering_options(const command_line& line);
int run_plan(const command_line& line);
int run_rehearse(const command_line& line);
int run_orphans(const command_line& line);
int run_load_components(const command_line& line);
int run_sync_resource_limits(const command_line& line);
int run_sync_offering_users(const command_line& line);
int run_create_homedirs(const command_line& line);
int run_healthz(const command_line& line);
int run_load_historical_usage(const command_line& line);
int run_status(const command_line& line);
int run_plugin_list(const command_line& line);
int run_plugin_inspect(const command_line& line);

} // namespace siteagent::app
