// SPDX-License-Identifier: MIT
// stado cloud host list
#include "core/app/stado/cloud_command.hpp"
#include "core/base/text.hpp"
#include "core/fleet/cloud_host/list.hpp"
#include "core/fleet/money.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

using fleet::cloud_host::context;
using fleet::cloud_host::listed_row;

constexpr const char* about =
    R"(States: the machine's power state in the cloud's words (running, deallocated, absent, ...), unread
with its cause, creating (a create that runs, here or on another machine), interrupted (one that was
killed: stado cloud host delete returns what it left), unregistered (a machine that carries the tag of
a cloud host and is in no registry of this fleet: another fleet's, or a forgotten one that bills).
The hourly burn is that of the registered hosts that are running; a machine that is stopped without
being deallocated bills, too. No SSH connection is opened and nothing is written.)";

std::vector<std::string> cells_of(const listed_row& h) {
  return {
      h.name,
      h.state == "unread" ? h.state : h.shown_state(),
      h.location,
      h.size,
      h.address,
      h.hourly ? fleet::format_money(*h.hourly) : "",
      h.idle_minutes ? std::to_string(*h.idle_minutes) : "",
      h.created_at};
}

void print(const invocation& i, const fleet::cloud_host::list_report& r) {
  std::vector<std::vector<std::string>> rows;
  bool is_any_declared = false;
  for (const listed_row& h : r.hosts) {
    rows.push_back(cells_of(h));
    is_any_declared = is_any_declared || h.is_registered;
  }
  if (!is_any_declared) {
    *i.out << "no cloud host is declared\n";
  }
  if (!rows.empty()) {
    // The day is enough of a time where there is no room; --json has it whole.
    print_fitted_table(
        i,
        {"NAME", "STATE", "LOCATION", "SIZE", "ADDRESS", "HOUR_USD", "IDLE_MINUTES", "CREATED"},
        rows,
        {{7, 11}, {1, 12}, {0, 16}, {3, 12}, {2, 9}, {0, 4}, {4, 15}, {5, 8}}
    );
    for (const listed_row& h : r.hosts) {
      if (h.state == "unread") {
        *i.out << h.name << ": " << h.shown_state() << '\n';
      } else if (h.state == "stopped") {
        *i.out << h.name << ": stopped without being deallocated, it still bills\n";
      }
    }
  }
  *i.out << "hourly burn of the running ones: " << fleet::format_money(r.burn) << " USD"
         << (r.without_hour.empty()
                 ? std::string()
                 : " (incomplete: no readable hour of " + base::join(r.without_hour, ", ") + ")")
         << std::endl;
}

} // namespace

void add_cloud_list(CLI::App& host, chosen_command& chosen) {
  const auto o = std::make_shared<cloud_options>();
  CLI::App* command = host.add_subcommand("list", "Show the declared hosts and what they cost");
  command->footer(about);
  add_cloud_options(*command, *o);
  command->callback([o, &chosen] {
    chosen = [o](const invocation& i) {
      end_at_first_signal(i);
      return with_provider(i, *o, [&](const context& c, progress& talk) {
        const auto report = fleet::cloud_host::list(c);
        talk.finish();
        if (!report) {
          return report_cloud_failure(i, report.error(), o->json);
        }
        if (o->json) {
          print_json(i, to_json(*report));
        } else {
          print(i, *report);
        }
        return exit_success;
      });
    };
  });
}

} // namespace siteagent::app::stado
