// SPDX-License-Identifier: MIT
// The tree of stado's commands, and what a wrong command line gets.
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"
#include "core/base/text.hpp"

#include <sagent/plugin.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

constexpr const char* about =
    R"(Exit status:
  0    success
  1    it ran, and failed or refused
  2    the command line is wrong; nothing was read or changed
  69   it failed for a reason that a later retry can clear
  75   the registry moved while it was being changed; run the command again
  130, 143, 129   interrupted by SIGINT, SIGTERM, SIGHUP

Files:
  ~/.stado/config.json                     the profile (also $STADO_CONFIG, ./stado.config.json,
                                           ~/.config/stado/config.json)
  ~/.stado/local-storage/registry.json     the registry
  ~/.stado/credentials.json                the credential store

Every command explains itself with --help; the whole is in stado(1).)";

void describe(CLI::App& app, std::vector<std::string>& plugin_directories) {
  app.name("stado");
  app.description("Rents, lists, builds on and returns the build hosts of a fleet");
  app.formatter(std::make_shared<manual>());
  app.fallthrough(); // --plugin-dir may stand behind the command
  app.require_subcommand(1);
  app.footer(about);
  app.set_version_flag(
      "--version",
      "stado " SITEAGENT_VERSION ", plugin ABI " + std::to_string(SAGENT_ABI_MAJOR) + "." +
          std::to_string(SAGENT_ABI_MINOR)
  );
  app.add_option(
         "--plugin-dir",
         plugin_directories,
         "Load plugins from here instead of the system's folders; may be repeated, and stands with "
         "every command"
  )
      ->expected(1)
      ->allow_extra_args(false) // else it takes what stands behind its value, "--" too
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("DIR");
}

// Flags may be repeated by default; here every option is given once.
void refuse_repetition(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast) {
      option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    refuse_repetition(*sub);
  }
}

const CLI::App& deepest_of(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest_of(*chosen.back());
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

// What the word could have been: an option or a command of the place where it stands.
std::string suggestion(const CLI::App& here, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : here.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        known.push_back("--" + name);
      }
    }
  } else {
    known = commands_of(here);
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = base::nearest(word.substr(0, word.find('=')), views);
  return near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?";
}

std::string describe_mistake(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& here = deepest_of(app);
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty() && unknown.front() != "--") {
    const bool is_option = unknown.front().starts_with("-");
    const bool has_commands = !commands_of(here).empty();
    const std::string what = is_option      ? "unknown option"
                             : has_commands ? "unknown command"
                                            : "one word too many:";
    return what + " '" + unknown.front() + "'" + suggestion(here, unknown.front());
  }
  if (here.get_require_subcommand_min() > 0 && here.get_subcommands().empty() &&
      e.get_name() == "RequiredError") {
    return "a command is missing: " + base::join(commands_of(here), ", ");
  }
  // "--json: At Most 1 required but received 2"
  const std::string said = e.what();
  return e.get_name() == "ArgumentMismatch" && said.find("but received") != std::string::npos
             ? said.substr(0, said.find(':')) + " is given more than once"
             : said;
}

int report_usage(const invocation& i, const CLI::App& app, const CLI::ParseError& e, bool json) {
  const CLI::App& here = deepest_of(app);
  std::string message = path_of(here) + ": " + describe_mistake(app, e);
  std::replace(message.begin(), message.end(), '\n', ' ');
  *i.err << "Error: " << message << '\n'
         << manual().make_usage(&here, "") << "Try '" << path_of(here) << " --help'\n";
  if (json) {
    print_json(
        i,
        base::json::object(
            {{"status", "error"},
             {"error_code", "usage"},
             {"retryable", false},
             {"message", message}}
        )
    );
  }
  return exit_usage;
}

// Asked for before the first "--": what stands behind is another program's.
bool wants_json(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

} // namespace

int run(const std::vector<std::string>& arguments, const invocation& i) {
  std::vector<std::string> plugin_directories;
  chosen_command chosen;
  CLI::App app;
  describe(app, plugin_directories);
  add_config_commands(app, chosen);
  add_registry_commands(app, chosen);
  add_fleet_commands(app, chosen);
  add_host_commands(app, chosen);
  add_cloud_commands(app, chosen);
  add_coordinator_command(app, chosen);
  refuse_repetition(app);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::Success& e) {
    return app.exit(e, *i.out, *i.err);
  } catch (const CLI::ParseError& e) {
    return report_usage(i, app, e, wants_json(arguments));
  }
  if (i.where.home.empty()) {
    const auto home = fleet::folders::from(i.env);
    if (!home) {
      return report_failure(i, home.error(), wants_json(arguments));
    }
  }
  invocation mine = i;
  if (!plugin_directories.empty()) {
    mine.plugins = host::search_path(plugin_directories);
  }
  return chosen(mine);
}

} // namespace siteagent::app::stado
