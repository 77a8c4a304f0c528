// SPDX-License-Identifier: MIT
// stado cloud host create
#include "core/app/stado/cloud_command.hpp"
#include "core/fleet/cloud_host/create.hpp"
#include "core/fleet/money.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

using fleet::cloud_host::context;

constexpr const char* about =
    R"(Rents a build host and makes it a registry target like the others. Nine steps, in order; the first
that fails ends the command, and what was made is removed again:
  1  the name is free and well formed
  2  the size is priced at the highest on-demand hour any configured location quotes, and the
     credit gate takes one hour of all hosts from the balance
  3  each host of cloud_hosts.admit_from tells its public address
  4  exactly those addresses are admitted on SSH
  5  the host's fleet key is minted
  6  address, security group, interface and machine are made
  7  the host is enrolled
  8  the registry records it
  9  the first boot has finished; rustc, node and npm answer
The hour is the size's alone: disk, public address and traffic come on top. After a failure of step 9
the host stays registered, since its log is there.
SIGINT or SIGTERM removes what was made; a second one stops that, too, and prints what is left.)";

struct options : cloud_options {
  fleet::cloud_host::create_request request;
  bool dry_run = false;
};

void print(const invocation& i, const fleet::cloud_host::create_report& r) {
  *i.out << r.request.name << ": " << r.request.size << " in " << r.request.location << " at "
         << r.made.address << ", " << fleet::format_money(r.cost.price.hour)
         << " USD an hour, returned after " << r.request.idle_minutes << " idle minutes\n"
         << "toolchain: " << fleet::printable(r.boot.rustc) << "; node "
         << fleet::printable(r.boot.node) << "; npm " << fleet::printable(r.boot.npm) << '\n'
         << "build on it with: stado host kompilator " << r.request.name << " -- PROGRAM"
         << std::endl;
}

int create(const invocation& i, const options& o, const context& c, progress& talk) {
  const auto report = fleet::cloud_host::create(c, o.request);
  talk.finish();
  if (!report) {
    return report_cloud_failure(i, report.error(), o.json);
  }
  if (o.json) {
    print_json(i, to_json(*report));
  } else {
    print(i, *report);
  }
  return exit_success;
}

int rehearse(const invocation& i, const options& o, const context& c, progress& talk) {
  const auto report = fleet::cloud_host::rehearse_create(c, o.request);
  talk.finish();
  if (!report) {
    return report_cloud_failure(i, report.error(), o.json);
  }
  if (o.json) {
    print_json(i, to_json(*report, c.id()));
  } else {
    print_checks(i, report->checks);
    *i.out << (report->would_create() ? "nothing was written; create would go ahead"
                                      : "nothing was written; create would be refused")
           << std::endl;
  }
  return report->would_create() ? exit_success : exit_failure;
}

} // namespace

void add_cloud_create(CLI::App& host, chosen_command& chosen) {
  const auto o = std::make_shared<options>();
  CLI::App* command = host.add_subcommand("create", "Rent a build host");
  command->footer(about);
  command
      ->add_option("NAME", o->request.name, "The target's name; lower-case letters, digits, . _ -")
      ->required();
  command
      ->add_option("--location", o->request.location, "Where the host stands, in the cloud's words")
      ->required()
      ->type_name("LOCATION");
  command->add_option("--size", o->request.size, "The machine's size, in the cloud's words")
      ->required()
      ->type_name("SIZE");
  add_positive(*command, "--disk-gb", o->request.disk_gb, "The system disk, in GiB");
  add_positive(
      *command, "--idle-minutes", o->request.idle_minutes, "Returned once it stands idle for longer"
  );
  add_cloud_options(*command, *o);
  command->add_flag(
      "--dry-run",
      o->dry_run,
      "Ask price, credit, addresses, network, image, quota and rights; write nothing"
  );
  command->callback([o, &chosen] {
    chosen = [o](const invocation& i) {
      if (o->dry_run) {
        end_at_first_signal(i);
      }
      return with_provider(i, *o, [&](const context& c, progress& talk) {
        return o->dry_run ? rehearse(i, *o, c, talk) : create(i, *o, c, talk);
      });
    };
  });
}

} // namespace siteagent::app::stado
