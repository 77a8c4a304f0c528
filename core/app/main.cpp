// SPDX-License-Identifier: MIT
// waldur-site-agent: the process of an operator of Waldur offerings.
#include "core/app/command_line.hpp"
#include "core/app/commands.hpp"
#include "core/app/python_names.hpp"
#include "core/host/plugin.hpp"
#include "core/net/transport.hpp"
#include "core/observe/log.hpp"

#include <exception>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

namespace {

using siteagent::app::command_line;

int dispatch(const command_line& line) {
  switch (line.what) {
  case command_line::command::run:
    return siteagent::app::run_agent(line);
  case command_line::command::validate:
    return siteagent::app::run_validate(line);
  case command_line::command::diagnose:
    return siteagent::app::run_diagnose(line);
  case command_line::command::plan:
    return siteagent::app::run_plan(line);
  case command_line::command::rehearse:
    return siteagent::app::run_rehearse(line);
  case command_line::command::orphans:
    return siteagent::app::run_orphans(line);
  case command_line::command::offering_options:
    return siteagent::app::run_offering_options(line);
  case command_line::command::load_components:
    return siteagent::app::run_load_components(line);
  case command_line::command::sync_resource_limits:
    return siteagent::app::run_sync_resource_limits(line);
  case command_line::command::sync_offering_users:
    return siteagent::app::run_sync_offering_users(line);
  case command_line::command::create_homedirs:
    return siteagent::app::run_create_homedirs(line);
  case command_line::command::healthz:
    return siteagent::app::run_healthz(line);
  case command_line::command::load_historical_usage:
    return siteagent::app::run_load_historical_usage(line);
  case command_line::command::status:
    return siteagent::app::run_status(line);
  case command_line::command::plugin_list:
    return siteagent::app::run_plugin_list(line);
  case command_line::command::plugin_inspect:
    return siteagent::app::run_plugin_inspect(line);
  }
  return siteagent::app::exit_usage;
}

// The command line, after the words of the Python agent's commands became ours.
std::variant<command_line, int> read_command_line(int argc, char** argv) {
  const siteagent::app::python_command* as =
      argc > 0 ? siteagent::app::find_python_command(argv[0]) : nullptr;
  if (as == nullptr) {
    return siteagent::app::parse_command_line(argc, argv);
  }
  if (!as->refusal.empty()) {
    std::cerr << as->name << ": not offered: " << as->refusal << '\n';
    return siteagent::app::exit_failed;
  }
  const std::vector<std::string> words = siteagent::app::own_words(*as, {argv + 1, argv + argc});
  std::vector<const char*> own{"waldur-site-agent"};
  for (const std::string& word : words) {
    own.push_back(word.c_str());
  }
  return siteagent::app::parse_command_line(static_cast<int>(own.size()), own.data());
}

} // namespace

int main(int argc, char** argv) {
  try {
    if (const int status = siteagent::host::run_inspection_child(argc, argv);
        status != siteagent::host::not_an_inspection_child) {
      return status;
    }
    const std::variant<command_line, int> parsed = read_command_line(argc, argv);
    if (const int* code = std::get_if<int>(&parsed)) {
      return *code;
    }
    siteagent::net::initialise_process();
    const command_line& line = std::get<command_line>(parsed);
    if (line.what != command_line::command::run) {
      // These talk to a person, or print what a program reads; only what is wrong is logged.
      siteagent::observe::set_up_logs(
          siteagent::observe::level::warning, siteagent::observe::log_to_stderr
      );
    }
    const int code = dispatch(line);
    // Somebody piped us into a reader that went away: no success.
    return std::cout.flush() ? code : siteagent::app::exit_failed;
  } catch (const std::exception& e) {
    std::cerr << "waldur-site-agent: internal error: " << e.what() << '\n';
    return siteagent::app::exit_failed;
  }
}
