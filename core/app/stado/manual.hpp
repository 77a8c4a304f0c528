// SPDX-License-Identifier: MIT
// How stado's --help looks: the exact grammar of a command, then its options, then its manual.
#pragma once

#include <CLI/CLI.hpp>

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

// "stado cloud host"
std::string path_of(const CLI::App& app);

} // namespace siteagent::app::stado
