// SPDX-License-Identifier: MIT
// How stado's commands are declared, and how --help looks: the exact grammar of a command, then its
// options, then its manual.
#pragma once

#include "core/app/stado/command.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace siteagent::app::stado {

class manual final : public CLI::Formatter {
public:
  manual();
  // "Usage: stado cloud host delete NAME --provider PROVIDER [--json]"
  std::string make_usage(const CLI::App* app, std::string name) const override;
  // Word for word, without the library's own remarks.
  std::string make_description(const CLI::App* app) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

// The flag of every command that prints a document.
void add_json_flag(CLI::App& app, bool& json);

// A command of files alone: nothing of it needs undoing, so the first signal ends it.
template <class Options>
CLI::App& add_local_command(
    CLI::App& parent,
    chosen_command& chosen,
    const char* name,
    const char* text,
    int (*work)(const invocation&, const Options&),
    const std::shared_ptr<Options>& options
) {
  CLI::App* sub = parent.add_subcommand(name, text);
  sub->callback([&chosen, work, options] {
    chosen = [work, options](const invocation& i) {
      if (i.nothing_to_undo) {
        i.nothing_to_undo();
      }
      return work(i, *options);
    };
  });
  return *sub;
}

// "stado cloud host"
std::string path_of(const CLI::App& app);

} // namespace siteagent::app::stado
