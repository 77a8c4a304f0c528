// SPDX-License-Identifier: MIT
// validate: the file, the plugins it names and their settings. No network.
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/base/text.hpp"
#include "core/config/config.hpp"

#include <algorithm>
#include <iostream>

namespace siteagent::app {

namespace {

// Opens every plugin once per offering; what is wrong becomes a finding.
std::vector<config::finding>
check_plugins(const config::agent_config& config, const command_line& line) {
  std::vector<config::finding> all;
  for (const config::offering& offering : config.offerings) {
    for (const std::string& id : plugins_of(offering)) {
      std::vector<config::finding> own;
      const agent::backend_factory open = make_backends(config, line.plugin_directories, &own);
      const base::result<std::shared_ptr<agent::backend>> opened = open(offering, id);
      const bool said =
          std::any_of(own.begin(), own.end(), [](const config::finding& f) { return f.fatal; });
      all.insert(all.end(), own.begin(), own.end());
      if (!opened && !said) {
        all.push_back(
            {.fatal = true,
             .file = config.file,
             .at = offering.at,
             .key = "offering '" + offering.name + "'",
             .why = opened.error().message}
        );
      }
    }
  }
  return all;
}

} // namespace

int run_validate(const command_line& line) {
  base::result<config::agent_config> config = config::load(line.config_file);
  if (!config) {
    std::cout << config.error().message << '\n';
    return exit_failed;
  }
  std::vector<config::finding> findings = config->findings;
  for (config::finding& f : check_plugins(*config, line)) {
    findings.push_back(std::move(f));
  }
  std::stable_sort(
      findings.begin(),
      findings.end(),
      [](const config::finding& a, const config::finding& b) {
        return a.at.line != b.at.line ? a.at.line < b.at.line : a.at.column < b.at.column;
      }
  );
  std::size_t errors = 0;
  for (const config::finding& f : findings) {
    errors += f.fatal ? 1 : 0;
    std::cout << f.text() << '\n';
  }
  std::cout << line.config_file << ": " << config->offerings.size() << " usable offering(s), "
            << errors << " error(s), " << findings.size() - errors << " warning(s)\n";
  return errors == 0 ? exit_fine : exit_failed;
}

} // namespace siteagent::app
