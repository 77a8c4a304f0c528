// SPDX-License-Identifier: MIT
#include "core/app/on_demand.hpp"

#include <iostream>
#include <utility>

namespace siteagent::app {

namespace {

constexpr unsigned most_workers = 16;

agent::agent_settings settings_of(const config::agent_config& config) {
  agent::agent_settings s;
  s.timezone = config.timezone;
  s.reporting_periods = config.reporting_periods;
  s.expose_backend_error_details = config.expose_backend_error_details;
  return s;
}

} // namespace

std::optional<config::agent_config> load_for_command(const command_line& line, bool& fine) {
  base::result<config::agent_config> config = config::load(line.config_file);
  if (!config) {
    std::cerr << config.error().message << '\n';
    return std::nullopt;
  }
  for (const config::finding& f : config->findings) {
    std::cerr << f.text() << '\n';
  }
  fine = fine && !config->has_errors();
  if (!line.offering.empty()) {
    const auto wanted = base::uuid::parse(line.offering);
    std::erase_if(config->offerings, [&](const config::offering& o) { return o.uuid != wanted; });
    if (config->offerings.empty()) {
      std::cerr << line.config_file << ": no usable offering with waldur_offering_uuid "
                << line.offering << "; check --offering\n";
      return std::nullopt;
    }
  }
  return *std::move(config);
}

bool for_each_offering(
    const config::agent_config& config,
    const command_line& line,
    const backend_wrapper& wrap,
    const offering_work& work
) {
  const std::stop_source stop;
  agent::progress_board progress(base::real_clock());
  agent::resource_locks locks;
  agent::worker_pool pool(most_workers);
  agent::environment env{
      base::real_clock(), agent::real_waiter(), stop.get_token(), progress, locks, pool};
  const agent::portal_factory portals = make_portals(stop.get_token());
  const agent::backend_factory open =
      [&wrap, inner = make_backends(config, line.plugin_directories)](
          const config::offering& offering, const std::string& plugin
      ) -> base::result<std::shared_ptr<agent::backend>> {
    base::result<std::shared_ptr<agent::backend>> opened = inner(offering, plugin);
    if (!opened || !wrap) {
      return opened;
    }
    return wrap(*std::move(opened));
  };
  bool fine = true;
  for (const config::offering& offering : config.offerings) {
    base::result<std::unique_ptr<agent::portal>> waldur =
        portals(offering, agent::mode::order_process);
    if (!waldur) {
      std::cerr << "offering '" << offering.name << "': " << waldur.error().message << '\n';
      fine = false;
      continue;
    }
    agent::offering_context context(offering, settings_of(config), open, env);
    fine = work(context, **waldur, env) && fine;
  }
  return fine;
}

} // namespace siteagent::app
