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

struct verdict {
  std::vector<config::finding> findings;
  std::size_t usable = 0; // offerings that could run
};

// Opens every plugin once per offering; what is wrong becomes a finding.
verdict check_plugins(const config::agent_config& config, const command_line& line) {
  verdict out;
  std::vector<config::finding>& all = out.findings;
  for (const config::offering& offering : config.offerings) {
    const std::size_t before = all.size();
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
    const bool is_usable = std::none_of(
        all.begin() + static_cast<std::ptrdiff_t>(before),
        all.end(),
        [](const config::finding& f) { return f.fatal; }
    );
    out.usable += is_usable ? 1 : 0;
  }
  return out;
}

} // namespace

int run_validate(const command_line& line) {
  base::result<config::agent_config> config = config::load(line.config_file);
  if (!config) {
    std::cout << config.error().message << '\n';
    return exit_failed;
  }
  std::vector<config::finding> findings = config->findings;
  verdict plugins = check_plugins(*config, line);
  for (config::finding& f : plugins.findings) {
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
  std::cout << line.config_file << ": " << plugins.usable << " usable offering(s), " << errors
            << " error(s), " << findings.size() - errors << " warning(s)\n";
  return errors == 0 ? exit_fine : exit_failed;
}

} // namespace siteagent::app
