// SPDX-License-Identifier: MIT
// stado cloud host delete
#include "core/app/stado/cloud_command.hpp"
#include "core/fleet/cloud_host/remove.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

using fleet::cloud_host::context;

constexpr const char* about =
    R"(Deletes the machine with its system disk, the interface, the security group and the public address,
each followed to the end and confirmed gone, then the registry entry and the fleet key. What the cloud
still holds keeps the entry; deleting again retries from the start, and what is gone already counts as
released. It asks nothing, and does not look whether the host is busy.
NAME may also be that of an interrupted create (see list); what it left is returned.)";

void print_released(std::ostream& out, const std::vector<fleet::released_object>& released) {
  for (const fleet::released_object& o : released) {
    out << "  " << o.kind << ' ' << fleet::printable(o.id, 400) << ": "
        << (o.outcome == "already_gone" ? "was gone already" : o.outcome) << '\n';
  }
}

int report_held(const invocation& i, const base::error& e, bool json) {
  if (!json) {
    const base::json detail = fleet::cloud_host::detail_of(e);
    std::vector<fleet::released_object> released;
    for (const base::json& o : detail["released"].items()) {
      released.push_back(
          {.kind = o["kind"].string_or(""),
           .id = o["id"].string_or(""),
           .outcome = o["outcome"].string_or("")}
      );
    }
    print_released(*i.out, released);
    i.out->flush();
  }
  return report_cloud_failure(i, e, json);
}

} // namespace

void add_cloud_delete(CLI::App& host, chosen_command& chosen) {
  struct options : cloud_options {
    std::string name;
  };

  const auto o = std::make_shared<options>();
  CLI::App* command = host.add_subcommand("delete", "Return a host");
  command->footer(about);
  command->add_option("NAME", o->name, "The cloud host")->required();
  add_cloud_options(*command, *o);
  command->callback([o, &chosen] {
    chosen = [o](const invocation& i) {
      return with_provider(i, *o, [&](const context& c, progress& talk) {
        const auto report = fleet::cloud_host::remove(c, o->name);
        talk.finish();
        if (!report) {
          return report_held(i, report.error(), o->json);
        }
        if (o->json) {
          print_json(i, to_json(*report));
        } else {
          print_released(*i.out, report->released);
          *i.out << report->name << " is returned" << std::endl;
        }
        return exit_success;
      });
    };
  });
}

} // namespace siteagent::app::stado
