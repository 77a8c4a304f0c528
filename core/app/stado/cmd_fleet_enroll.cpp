// SPDX-License-Identifier: MIT
// stado fleet enroll: a machine that answers over ssh becomes a target of the registry.
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"
#include "core/fleet/enroll.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

constexpr const char* about =
    R"(Connects to DEST with the key of NAME (stado fleet key generate NAME makes it; its public line
belongs into the host's authorized_keys), pins its host key, asks for hostname, uname -s and
uname -m, and adds the target when the platform is supported. Nothing is written before it has
answered, nor when the registry moved meanwhile.)";

struct enroll_options {
  std::string name;
  std::string ssh;
  std::string kind = "local";
  bool json = false;
};

int run_enroll(const invocation& i, const enroll_options& o) {
  auto s = open_substrate(i);
  if (!s) {
    return report_failure(i, s.error(), o.json);
  }
  const auto enrolled = fleet::enroll(s->registry, *s->channel, o.name, o.ssh, i.stop);
  if (!enrolled) {
    return report_failure(i, enrolled.error(), o.json);
  }
  if (o.json) {
    print_json(i, *enrolled);
  } else {
    const base::json& target = (*enrolled)["target"];
    *i.out << o.name << " enrolled: " << target["ssh"].string_or("") << ", "
           << target["release_platform"].string_or("") << std::endl;
  }
  return exit_success;
}

} // namespace

void add_fleet_enroll_command(CLI::App& fleet, chosen_command& chosen) {
  CLI::App& sub = *fleet.add_subcommand("enroll", "Register a host that answers over ssh");
  sub.footer(about);
  const auto o = std::make_shared<enroll_options>();
  sub.add_option("NAME", o->name, "The target's name: lower-case letters, digits, '.', '_', '-'")
      ->required();
  sub.add_option("--ssh", o->ssh, "Where it is: [user@]host or ssh://user@host:port")
      ->type_name("DEST")
      ->required();
  sub.add_option("--kind", o->kind, "Its kind; there is only local")
      ->type_name("KIND")
      ->check(CLI::IsMember({"local"}));
  add_json_flag(sub, o->json);
  sub.callback([&chosen, o] { chosen = [o](const invocation& i) { return run_enroll(i, *o); }; });
}

} // namespace siteagent::app::stado
