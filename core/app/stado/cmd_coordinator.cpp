// SPDX-License-Identifier: MIT
// stado coordinator
#include "core/app/stado/cloud_command.hpp"
#include "core/fleet/cloud_host/coordinator.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

constexpr const char* about =
    R"(Runs the applied reap pass on every tick for each provider that the profile enables and that a
declared host names, and logs each host it reaped, failed to reap or could not read:
  [tick] cloud-host reaper: reaped b1 (idle 31 min, limit 30 min)
How often is said by interval_seconds (at least 15) of its entry in the registry's coordinators:
  stado registry set --path coordinators --value '[{"name":"home","interval_seconds":60}]'
This build has no other passes. A pass that takes longer than cloud_host.limits.reap_pass goes on at the
next tick; one that finds a create, delete or reap at work is left out. The machine it runs on must be
named in cloud_hosts.admit_from: else it cannot read a cloud host and logs that on each tick.)";

struct options {
  bool once = false;
  std::string name;
};

// A service's log has no steps.
class tick_narrator final : public fleet::cloud_host::narrator {
public:
  explicit tick_narrator(fleet::cloud_host::log_function log) : log_(std::move(log)) {}

  void say(std::string_view line) override { log_(std::string(line)); }

  void step(std::string_view /*what*/) override {}

  void waiting(std::string_view /*what*/) override {}

  void warn(std::string_view line) override { log_("warning: " + std::string(line)); }

private:
  fleet::cloud_host::log_function log_;
};

int coordinate(
    const invocation& i, const options& o, fleet::cloud_host::workplace w, progress& talk
) {
  talk.finish();
  const auto log = [&](const std::string& line) {
    *i.err << "[tick] " << fleet::printable(line, 2000) << std::endl;
  };
  tick_narrator quiet(log);
  w.talk = &quiet;
  if (o.once) {
    fleet::cloud_host::tick(w, log);
    return exit_success;
  }
  const auto registry = w.registry->read();
  if (!registry) {
    return report_failure(i, registry.error(), false);
  }
  const auto entry = fleet::cloud_host::find_coordinator(registry->document, o.name);
  if (!entry) {
    return report_failure(i, entry.error(), false);
  }
  fleet::cloud_host::tick_forever(w, entry->interval, log);
  return exit_success;
}

} // namespace

void add_coordinator_command(CLI::App& app, chosen_command& chosen) {
  const auto o = std::make_shared<options>();
  CLI::App* command = app.add_subcommand("coordinator", "Return idle hosts, tick by tick");
  command->footer(about);
  command->add_flag("--once", o->once, "One tick; needs no entry in the registry");
  command
      ->add_option(
          "--name",
          o->name,
          "The entry of the registry's coordinators (default: the single active one)"
      )
      ->type_name("NAME");
  command->callback([o, &chosen] {
    chosen = [o](const invocation& i) {
      return with_workplace(i, false, [&](const fleet::cloud_host::workplace& w, progress& talk) {
        return coordinate(i, *o, w, talk);
      });
    };
  });
}

} // namespace siteagent::app::stado
