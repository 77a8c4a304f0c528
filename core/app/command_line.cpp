// SPDX-License-Identifier: MIT
// CLI11 lives here. Words that are nearly right get a suggestion before CLI11 sees them, because
// its own messages hide the typo.
#include "core/app/command_line.hpp"

#include "core/base/text.hpp"

#include <sagent/plugin.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

namespace siteagent::app {

namespace {

const std::vector<std::string_view> commands = {
    "validate",
    "diagnose",
    "offering-options",
    "plan",
    "rehearse",
    "orphans",
    "load-components",
    "sync-resource-limits",
    "sync-offering-users",
    "create-homedirs",
    "healthz",
    "load-historical-usage",
    "plugin",
    "status"};
const std::vector<std::string_view> plugin_commands = {"list", "inspect"};
const std::vector<std::string_view> options = {
    "--mode",
    "--config-file",
    "--once",
    "--workers",
    "--plugin-dir",
    "--json",
    "--offering",
    "--role",
    "--delete",
    "--dry-run",
    "--max-age",
    "--liveness-only",
    "--heartbeat-path",
    "--config",
    "--offering-uuid",
    "--user-token",
    "--start-date",
    "--end-date",
    "--skip-user-usage",
    "--no-staff-check",
    "--reconcile-stale",
    "--resource-backend-id",
    "--help",
    "--version",
    "--lease",
    "--status-file"};
const std::vector<std::string_view> modes = {
    "order_process", "report", "membership_sync", "event_process", "all"};

bool takes_value(std::string_view word) {
  constexpr std::array<std::string_view, 10> of_history{
      "-o",
      "-t",
      "-s",
      "-e",
      "--config",
      "--offering-uuid",
      "--user-token",
      "--start-date",
      "--end-date",
      "--resource-backend-id"};
  return std::find(of_history.begin(), of_history.end(), word) != of_history.end() ||
         word == "-m" || word == "-c" || word == "--mode" || word == "--config-file" ||
         word == "--workers" || word == "--plugin-dir" || word == "--offering" ||
         word == "--max-age" || word == "--heartbeat-path" || word == "--lease" ||
         word == "--status-file";
}

bool is_one_of(std::string_view word, const std::vector<std::string_view>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& words) {
  const std::string_view near = base::nearest(word, words);
  return near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?";
}

// The first word that is no command and no option.
std::optional<std::string> find_typo(int argc, const char* const* argv) {
  const std::vector<std::string_view>* expected = &commands;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      return std::nullopt;
    }
    if (word.starts_with("--")) {
      const std::string_view name = word.substr(0, word.find('='));
      if (!is_one_of(name, options)) {
        return "unknown option " + std::string(name) + suggestion(name, options);
      }
    }
    if (takes_value(word)) {
      ++i;
      if ((word == "-m" || word == "--mode") && i < argc && !is_one_of(argv[i], modes)) {
        return "unknown mode '" + std::string(argv[i]) + "'" + suggestion(argv[i], modes);
      }
    } else if (!word.starts_with("-") && expected != nullptr) {
      if (!is_one_of(word, *expected)) {
        return "unknown command '" + std::string(word) + "'" + suggestion(word, *expected);
      }
      expected = word == "plugin" ? &plugin_commands : nullptr;
    }
  }
  return std::nullopt;
}

void add_config(CLI::App& app, command_line& made) {
  app.add_option("-c,--config-file", made.config_file, "The YAML file")->capture_default_str();
}

void add_offering(CLI::App& app, command_line& made) {
  app.add_option("--offering", made.offering, "Only the offering with this UUID")
      ->type_name("UUID");
}

void add_json(CLI::App& app, command_line& made) {
  app.add_flag("--json", made.json, "One JSON document instead of lines");
}

void add_status_file(CLI::App& app, command_line& made) {
  app.add_option("--status-file", made.status_file, "Where the agent's status lies")
      ->type_name("FILE");
}

void add_plugin_directories(CLI::App& app, command_line& made) {
  app.add_option(
         "--plugin-dir",
         made.plugin_directories,
         "Load plugins from here instead of the system's folders; may be repeated"
  )
      ->expected(1)
      ->allow_extra_args(false) // else it takes what stands behind its value, "--" too
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("DIR");
}

void describe(CLI::App& app, command_line& made) {
  app.name("waldur-site-agent");
  app.set_version_flag(
      "--version",
      "waldur-site-agent " SITEAGENT_VERSION ", plugin ABI " + std::to_string(SAGENT_ABI_MAJOR) +
          "." + std::to_string(SAGENT_ABI_MINOR)
  );
  app.add_option("-m,--mode", made.mode, "What to do")
      ->check(CLI::IsMember(std::vector<std::string>(modes.begin(), modes.end())))
      ->type_name("MODE")
      ->capture_default_str();
  add_config(app, made);
  app.add_flag("--once", made.once, "One pass of each selected mode, then exit");
  app.add_option("--workers", made.workers, "Orders carried out at the same time")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  add_plugin_directories(app, made);
  app.add_option(
         "--lease",
         made.lease_namespace,
         "Poll only offerings whose Kubernetes lease in this namespace is held"
  )
      ->type_name("NAMESPACE");
  add_status_file(app, made);
  app.footer("Modes: order_process, report, membership_sync, event_process, all.");
  app.require_subcommand(0, 1);
}

// Its file is where containers mount it, unless -c says otherwise.
void describe_healthz(CLI::App& app, command_line& made) {
  static constexpr const char* mounted = "/etc/waldur-site-agent/config.yaml";
  CLI::Option* file =
      app.add_option("-c,--config-file", made.config_file, "The YAML file")->default_str(mounted);
  app.add_option("--max-age", made.max_age_s, "Seconds that the heartbeat file may be old")
      ->check(CLI::Range(1, 604'800))
      ->type_name("S")
      ->capture_default_str();
  app.add_flag("--liveness-only", made.liveness_only, "Look at the heartbeat file only");
  app.add_option("--heartbeat-path", made.heartbeat_file, "The heartbeat file")->type_name("FILE");
  app.parse_complete_callback([&made, file] {
    if (file->count() == 0) {
      made.config_file = mounted;
    }
  });
}

// The flags of the Python agent's command.
void describe_history(CLI::App& app, command_line& made) {
  history_options& h = made.history;
  app.add_option("-c,--config,--config-file", made.config_file, "The YAML file")->required();
  app.add_option("-o,--offering-uuid,--offering", made.offering, "The offering")
      ->required()
      ->type_name("UUID");
  app.add_option(
         "-t,--user-token",
         h.user_token,
         "Token of a user of staff; better '${NAME}' or file:/path, which others do not see"
  )
      ->required()
      ->type_name("TOKEN");
  app.add_option("-s,--start-date", h.start_date, "A day of the first month, as 2026-01-31")
      ->required()
      ->type_name("DAY");
  app.add_option("-e,--end-date", h.end_date, "A day of the last month")
      ->required()
      ->type_name("DAY");
  app.add_flag("--skip-user-usage", h.skip_user_usage, "Only totals, no usage of single users");
  app.add_flag("--no-staff-check", h.no_staff_check, "Try also if the token's user is not staff");
  app.add_flag("--dry-run", made.dry_run, "Say what would be booked, and write nothing");
  app.add_flag(
      "--reconcile-stale",
      h.reconcile_stale,
      "Set to zero what Waldur has of a measured resource and the measurement lacks"
  );
  app.add_option("--resource-backend-id", h.backend_ids, "Only this resource; may be repeated")
      ->expected(1)
      ->allow_extra_args(false) // else it takes what stands behind its value, "--" too
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("ID");
}

void describe_commands(CLI::App& app, command_line& made) {
  using command = command_line::command;
  const auto add = [&](CLI::App& parent, const char* name, const char* text, command what) {
    CLI::App* sub = parent.add_subcommand(name, text);
    sub->callback([&made, what] { made.what = what; });
    add_plugin_directories(*sub, made);
    return sub;
  };

  // Those that read the file, by what else they take.
  struct reader {
    const char* name;
    const char* text;
    command what;
    bool takes_offering;
    bool takes_json;
  };

  constexpr std::array readers{
      reader{
          "validate",
          "Check the configuration and its plugins; no network",
          command::validate,
          false,
          false},
      reader{
          "diagnose",
          "Ask Waldur and every plugin whether they can be used",
          command::diagnose,
          true,
          true},
      reader{
          "offering-options",
          "Print the order form's options for Waldur: what can be ordered now",
          command::offering_options,
          true,
          true},
      reader{
          "plan",
          "Show what a start would change in Waldur and the cloud; writes nothing",
          command::plan,
          false,
          true},
      reader{
          "rehearse",
          "Play a machine's life with this file on emulators and show each call; loopback only",
          command::rehearse,
          true,
          true},
      reader{
          "orphans",
          "Show tagged objects with nothing live behind them, and resources without a machine",
          command::orphans,
          false,
          true},
      reader{
          "status",
          "Show what the agents on this file are doing; no network",
          command::status,
          false,
          true},
      reader{
          "load-components",
          "Create or update the file's components in Waldur",
          command::load_components,
          true,
          false},
      reader{
          "sync-resource-limits",
          "Set the limits of resources in Waldur to what the cloud gave them, once",
          command::sync_resource_limits,
          true,
          false},
      reader{
          "sync-offering-users",
          "Take on offering users that wait, once",
          command::sync_offering_users,
          true,
          false},
      reader{
          "create-homedirs",
          "Says why there is nothing to do for machines",
          command::create_homedirs,
          true,
          false},
  };
  for (const reader& r : readers) {
    CLI::App& sub = *add(app, r.name, r.text, r.what);
    add_config(sub, made);
    if (r.takes_offering) {
      add_offering(sub, made);
    }
    if (r.takes_json) {
      add_json(sub, made);
    }
  }
  app.get_subcommand("diagnose")
      ->add_flag(
          "--role",
          made.role,
          "Print the least rights the plugins' credentials need, and nothing else"
      );
  app.get_subcommand("orphans")->add_flag(
      "--delete", made.remove, "Delete those whose exact ids are then typed"
  );
  add_status_file(*app.get_subcommand("status"), made);
  for (const char* name : {"load-components", "sync-resource-limits"}) {
    app.get_subcommand(name)->add_flag(
        "--dry-run", made.dry_run, "Say what would be written, and write nothing"
    );
  }
  describe_healthz(*add(app, "healthz", "Probe: alive and ready?", command::healthz), made);
  describe_history(
      *add(
          app,
          "load-historical-usage",
          "Book the usage of past months, month by month",
          command::load_historical_usage
      ),
      made
  );
  CLI::App* plugin = app.add_subcommand("plugin", "Look at the installed plugins");
  plugin->require_subcommand(1);
  add(*plugin, "list", "Every plugin in the search path", command::plugin_list);
  add(*plugin, "inspect", "One plugin in detail", command::plugin_inspect)
      ->add_option("id", made.plugin, "The plugin's id: its file's name without .so")
      ->required();
}

} // namespace

std::variant<command_line, int> parse_command_line(int argc, const char* const* argv) {
  if (const std::optional<std::string> typo = find_typo(argc, argv)) {
    std::cerr << "waldur-site-agent: " << *typo << "\nTry 'waldur-site-agent --help'\n";
    return exit_usage;
  }
  command_line made;
  CLI::App app("Carries out the orders of Waldur offerings on the provider's cloud");
  describe(app, made);
  describe_commands(app, made);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << "waldur-site-agent: " << e.what() << "\nTry 'waldur-site-agent --help'\n";
    return exit_usage;
  }
  return made;
}

} // namespace siteagent::app
