// SPDX-License-Identifier: MIT
// The command line of waldur-site-agent as values. CLI11 is behind this header.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace siteagent::app {

// Exit codes of the program.
inline constexpr int exit_fine = 0;
inline constexpr int exit_failed = 1; // configuration wrong, an offering could not run, ...
inline constexpr int exit_usage = 2;

// Of load-historical-usage.
struct history_options {
  std::string start_date; // "2026-01-31"; the whole months of both days
  std::string end_date;
  std::string user_token; // a value, "${NAME}" or "file:/path"
  bool skip_user_usage = false;
  bool no_staff_check = false;
  bool reconcile_stale = false;
  std::vector<std::string> backend_ids; // only these resources; empty: all
};

struct command_line {
  enum class command : std::uint8_t {
    run,
    validate,
    diagnose,
    plan,
    rehearse,
    orphans,
    offering_options,
    plugin_list,
    plugin_inspect,
    load_components,
    sync_resource_limits,
    sync_offering_users,
    create_homedirs,
    healthz,
    load_historical_usage,
    status
  };

  command what = command::run;
  std::string mode = "order_process";
  std::string config_file = "waldur-site-agent-config.yaml";
  bool once = false;
  unsigned workers = 64;
  std::vector<std::string> plugin_directories; // --plugin-dir, in order
  std::string plugin;                          // of plugin inspect
  std::string offering;                        // --offering; empty: all of the file
  bool json = false;                           // --json: a document instead of lines
  bool remove = false;                         // orphans --delete
  bool role = false;                           // diagnose --role
  bool dry_run = false;                        // --dry-run: say what would be written
  std::string heartbeat_file;                  // healthz; empty: as the agent finds it
  int max_age_s = 300;                         // healthz: of the heartbeat file
  bool liveness_only = false;                  // healthz: leave Waldur alone
  std::string status_file;                     // empty: derived from the configuration's path
  std::string lease_namespace;                 // --lease; empty: no leases
  history_options history;
};

// The arguments, or the exit code after help, version or a usage error was printed.
std::variant<command_line, int> parse_command_line(int argc, const char* const* argv);

} // namespace siteagent::app
