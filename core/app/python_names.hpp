// SPDX-License-Identifier: MIT
// The command names of the Python agent. The program is installed under each of them as a link and
// behaves as that command did: same flags, same exit codes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::app {

struct python_command {
  std::string_view name;               // "waldur_site_healthz"
  std::string_view command;            // ours; "" = the agent itself
  std::vector<std::string_view> flags; // the long ones it knows
  // Why there is no such command here and what to use instead; "" = there is one.
  std::string_view refusal = {};
};

std::span<const python_command> python_commands();

// By the name a program was started with ("/usr/bin/waldur_site_healthz"); nullptr: none of them.
const python_command* find_python_command(std::string_view program);

// The words for our own command line. Long flags may be cut short as long as one fits ("--config"),
// and --mode, which those commands take and do not use, is dropped when it names a mode.
std::vector<std::string>
own_words(const python_command& as, const std::vector<std::string_view>& words);

} // namespace siteagent::app
