// SPDX-License-Identifier: MIT
// plugin list, plugin inspect: what is installed, and why a file is refused.
#include "core/app/commands.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/host/plugin.hpp"

#include <iostream>

namespace siteagent::app {

int run_plugin_list(const command_line& line) {
  const std::vector<host::plugin_directory> directories =
      host::search_path(line.plugin_directories);
  const std::vector<host::plugin_listing> found = host::list_plugins(directories);
  if (found.empty()) {
    std::cout << "no plugins; looked in";
    for (const host::plugin_directory& d : directories) {
      std::cout << ' ' << d.path;
    }
    std::cout << '\n';
    return exit_fine;
  }
  bool fine = true;
  for (const host::plugin_listing& p : found) {
    if (p.info) {
      std::cout << p.info->id << ' ' << p.info->version << "  "
                << base::join(p.info->extensions, " ") << "  " << p.path << '\n';
    } else {
      fine = false;
      std::cout << "refused  " << p.path << ": " << p.info.error().message << '\n';
    }
  }
  return fine ? exit_fine : exit_failed;
}

int run_plugin_inspect(const command_line& line) {
  const base::result<host::plugin_info> info =
      host::inspect_plugin(line.plugin, host::search_path(line.plugin_directories));
  if (!info) {
    std::cerr << "waldur-site-agent: " << info.error().message << '\n';
    return exit_failed;
  }
  std::cout << "id          " << info->id << "\nversion     " << info->version << "\nvendor      "
            << info->vendor << "\nfile        " << info->path << "\nABI minor   " << info->abi_minor
            << "\nthreads     " << info->threads << '\n';
  for (const std::string& extension : info->extensions) {
    std::cout << "extension   " << extension << '\n';
  }
  for (const auto& [extension, text] : info->settings_schemas) {
    const base::result<base::json> schema = base::json::parse(text);
    std::cout << "settings of " << extension << ' '
              << (schema ? schema->pretty() : std::string("schema unreadable")) << '\n';
  }
  if (!info->cloud_hosts.empty()) {
    const base::result<base::json> said = base::json::parse(info->cloud_hosts);
    std::cout << "cloud hosts " << (said ? said->pretty() : std::string("description unreadable"))
              << '\n';
  }
  return exit_fine;
}

} // namespace siteagent::app
