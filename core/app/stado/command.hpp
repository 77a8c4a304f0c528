// SPDX-License-Identifier: MIT
// What every subcommand of stado gets, and how each ends: exit code, error line, JSON document.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/channel.hpp"
#include "core/fleet/credentials.hpp"
#include "core/fleet/keys.hpp"
#include "core/fleet/profile.hpp"
#include "core/fleet/registry.hpp"
#include "core/fleet/runner.hpp"
#include "core/fleet/surroundings.hpp"
#include "core/host/plugin.hpp"

#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace siteagent::app::stado {

// Exit codes of every command.
inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_retry_may_help = 69;
inline constexpr int exit_lost_race = 75;

// One run of the program. Everything is borrowed from main (or from a test).
struct invocation {
  fleet::environment env;
  fleet::folders where;
  const base::clock* clock = nullptr;
  fleet::runner* programs = nullptr;
  std::ostream* out = nullptr; // results
  std::ostream* err = nullptr; // progress, warnings, errors
  bool err_is_terminal = false;
  std::stop_token stop;                     // SIGINT, SIGTERM, SIGHUP: the first one
  std::stop_token give_up;                  // the second one: stop rolling back, too
  const std::atomic<int>* signal = nullptr; // which one came; may be null
  int stop_signal() const;                  // 0, or which one came
  // Called by commands that leave nothing half done: from then on a signal ends the process at
  // once. May be empty.
  std::function<void()> nothing_to_undo;
  std::string local_hostname;
  std::vector<host::plugin_directory> plugins;
};

// What most commands open first. Errors as those of the parts.
struct substrate {
  fleet::profile profile;
  fleet::registry_store registry;
  fleet::credential_store credentials;
  std::unique_ptr<fleet::fleet_keys> keys;
  std::unique_ptr<fleet::channel> channel;
};

base::result<substrate> open_substrate(const invocation& i);

// transient classes, an unknown outcome, an HTTP status of 408, 429 or 5xx, and a lock that another
// process holds (code conflict and detail {"held_by":...}): 69; a lost conditional write (code
// conflict and detail {"lost_race":true}): 75; cancelled: 128 + the signal; else 1.
int exit_code_of(const base::error& e, const invocation& i);

// "Error: <one line>" on err; with `json` also
// {"status":"error","error_code","retryable","message"} and the members of `more` on out. Returns
// the exit code.
int report_failure(
    const invocation& i, const base::error& e, bool json, const base::json& more = {}
);
// One document and a line feed.
void print_json(const invocation& i, const base::json& document);
// Blank line, header, rows; left-aligned, two spaces between, no trailing blanks. Cells are
// printable.
void print_table(
    const invocation& i,
    const std::vector<std::string>& header,
    const std::vector<std::vector<std::string>>& rows
);

// The chosen subcommand, run after the whole command line was understood.
using chosen_command = std::function<int(const invocation&)>;

// Each adds its commands to `parent` and sets `chosen` in the callback. Every option may be given
// once; a repeated or unknown one, or a positional too many, is a usage error (exit 2).
void add_config_commands(CLI::App& app, chosen_command& chosen);
void add_registry_commands(CLI::App& app, chosen_command& chosen);
void add_fleet_commands(CLI::App& app, chosen_command& chosen); // key ..., enroll
void add_fleet_enroll_command(CLI::App& fleet, chosen_command& chosen);
void add_fleet_key_check_command(CLI::App& key, chosen_command& chosen);
void add_host_commands(CLI::App& app, chosen_command& chosen);  // host kompilator
void add_cloud_commands(CLI::App& app, chosen_command& chosen); // cloud host ..., cloud check
void add_coordinator_command(CLI::App& app, chosen_command& chosen);

// Parses and runs. `arguments` without the program's name.
int run(const std::vector<std::string>& arguments, const invocation& i);

} // namespace siteagent::app::stado
