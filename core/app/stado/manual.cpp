// SPDX-License-Identifier: MIT
#include "core/app/stado/manual.hpp"

#include <algorithm>

namespace siteagent::app::stado {

namespace {

// "--disk-gb GIB", "[--json]", "[--plugin-dir DIR ...]", "NAME", "[ARG ...]"
std::string grammar_of(const CLI::Option& option) {
  std::string text = option.get_positional() ? option.get_name(true) : option.get_name();
  if (!option.get_positional() && option.get_expected_max() > 0) {
    text += " " + option.get_type_name();
  }
  if (option.get_items_expected_max() > 1) {
    text += " ...";
  }
  return option.get_required() ? text : "[" + text + "]";
}

// Global options, which every command takes, stay out of its line.
bool belongs_into_usage(const CLI::App& app, const CLI::Option& option) {
  return &option != app.get_help_ptr() && !option.get_group().empty();
}

} // namespace

std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

void add_json_flag(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "One JSON document on standard output, also for a failure");
}

manual::manual() {
  constexpr std::size_t column = 30;
  column_width(column);
  label("TYPE", "");
}

std::string manual::make_usage(const CLI::App* app, std::string /*name*/) const {
  std::string line = "Usage: " + path_of(*app);
  std::vector<const CLI::Option*> options = app->get_options();
  // Positionals first, then what must be given, then the rest: as the manual page has it.
  std::stable_sort(options.begin(), options.end(), [](const auto* a, const auto* b) {
    const auto rank = [](const CLI::Option& o) {
      return o.get_positional() ? 0 : o.get_required() ? 1 : 2;
    };
    return rank(*a) < rank(*b);
  });
  for (const CLI::Option* option : options) {
    if (belongs_into_usage(*app, *option)) {
      line += " " + grammar_of(*option);
    }
  }
  if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) {
    line += " COMMAND";
  }
  return line + "\n";
}

std::string manual::make_description(const CLI::App* app) const {
  return app->get_description().empty() ? "" : app->get_description() + "\n";
}

std::string manual::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_expected_max() > 0 && !option->get_positional()) {
    text = " " + option->get_type_name();
  }
  if (!option->get_default_str().empty()) {
    text += " (" + option->get_default_str() + ")";
  }
  return text;
}

} // namespace siteagent::app::stado
