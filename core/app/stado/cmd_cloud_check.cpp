// SPDX-License-Identifier: MIT
// stado cloud check
#include "core/app/stado/cloud_command.hpp"
#include "core/fleet/cloud_host/check.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

constexpr const char* about =
    R"(Asks everything a create depends on and writes nothing: profile, ruling, registry, bindings,
credentials and their rights, the network of each location, the image, the credit balance.
  ok    as it should be
  FAIL  create would be refused
  note  create does without
Exit status 1 when something needed is not as it should be.)";

} // namespace

void add_cloud_check(CLI::App& cloud, chosen_command& chosen) {
  const auto o = std::make_shared<cloud_options>();
  CLI::App* command = cloud.add_subcommand("check", "Ask whether hosts can be rented at all");
  command->footer(about);
  add_cloud_options(*command, *o);
  command->callback([o, &chosen] {
    chosen = [o](const invocation& i) {
      end_at_first_signal(i);
      return with_workplace(i, o->json, [&](const fleet::cloud_host::workplace& w, progress& talk) {
        const auto report = fleet::cloud_host::check(w, o->provider);
        talk.finish();
        if (!report) {
          return report_cloud_failure(i, report.error(), o->json);
        }
        if (o->json) {
          print_json(i, to_json(*report));
        } else {
          print_checks(i, report->checks);
        }
        return report->is_ready() ? exit_success : exit_failure;
      });
    };
  });
}

} // namespace siteagent::app::stado
