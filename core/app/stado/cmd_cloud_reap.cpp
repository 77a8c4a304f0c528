// SPDX-License-Identifier: MIT
// stado cloud host reap
#include "core/app/stado/cloud_command.hpp"
#include "core/fleet/cloud_host/reap.hpp"
#include "core/fleet/money.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

using fleet::cloud_host::context;
using fleet::cloud_host::reaped_host;

constexpr const char* about =
    R"(Measures and admits the fleet's addresses as create does, then shows each host:
  busy      a managed run stands, a cargo or rustc process runs, the first boot is not finished, or
            its create is not
  idle      since its run area last changed, or since it was created if no run ever came
  reapable  idle for longer than its minutes
  unread    with the cause; such a host is never judged idle
With --apply, each reapable host is deleted as delete deletes it: reaped, or reap_failed with the cause.
A build started by hand is seen only while it runs; stado host kompilator leaves its trace.
A host that is unread, or busy by kept runs alone, shows since when and what it has cost since.
Exit status 1 when an address could not be measured or admitted, or a host not deleted.)";

std::string minutes_of(const std::optional<std::int64_t>& seconds) {
  return seconds ? std::to_string(*seconds / 60) : "";
}

// Causes and costs are longer than a cell.
void print_remarks(std::ostream& out, const reaped_host& h) {
  if (!h.cause.empty()) {
    out << h.name << ": " << h.state << ": " << fleet::printable(h.cause, 1000) << '\n';
  }
  if (h.standing_hours) {
    out << h.name << ": " << h.state << " since " << h.standing_since << ", " << *h.standing_hours
        << " h";
    if (h.standing_usd) {
      out << ", " << fleet::format_money(*h.standing_usd) << " USD";
    }
    out << '\n';
  }
  for (const fleet::standing_run& run : h.runs) {
    out << h.name << ": run " << run.name << " is " << run.state << '\n';
  }
}

void print(const invocation& i, const fleet::cloud_host::reap_report& r) {
  if (!r.is_any_declared) {
    *i.out << "no cloud host is declared\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const reaped_host& h : r.hosts) {
    rows.push_back(
        {h.name,
         h.state,
         minutes_of(h.idle_seconds),
         h.idle_minutes > 0 ? std::to_string(h.idle_minutes) : "",
         h.since}
    );
  }
  if (!rows.empty()) {
    print_fitted_table(i, {"NAME", "STATE", "IDLE", "IDLE_MINUTES", "SINCE"}, rows, {{0, 16}});
  }
  for (const reaped_host& h : r.hosts) {
    print_remarks(*i.out, h);
  }
  i.out->flush();
}

int report(const invocation& i, const fleet::cloud_host::reap_report& r, bool json) {
  for (const fleet::egress_failure& f : r.egress_errors) {
    *i.err << "warning: addresses: " << f.host << ": " << fleet::printable(f.cause.message, 1000)
           << '\n';
  }
  if (r.admission_error) {
    *i.err << "warning: addresses: " << fleet::printable(r.admission_error->message, 1000) << '\n';
  }
  if (json) {
    print_json(i, to_json(r));
  } else {
    print(i, r);
  }
  if (r.was_cut_short) {
    const base::error e{.code = base::error_code::cancelled, .message = "interrupted"};
    *i.err << "Error: interrupted; the hosts that are left were not touched" << std::endl;
    return exit_code_of(e, i);
  }
  return r.is_clean() ? exit_success : exit_failure;
}

} // namespace

void add_cloud_reap(CLI::App& host, chosen_command& chosen) {
  struct options : cloud_options {
    bool apply = false;
  };

  const auto o = std::make_shared<options>();
  CLI::App* command = host.add_subcommand("reap", "Judge every host, and return the idle ones");
  command->footer(about);
  add_cloud_options(*command, *o);
  command->add_flag("--apply", o->apply, "Delete the hosts that are reapable");
  command->callback([o, &chosen] {
    chosen = [o](const invocation& i) {
      return with_provider(i, *o, [&](const context& c, progress& talk) {
        const auto pass = fleet::cloud_host::reap(c, o->apply);
        talk.finish();
        return pass ? report(i, *pass, o->json) : report_cloud_failure(i, pass.error(), o->json);
      });
    };
  });
}

} // namespace siteagent::app::stado
