// SPDX-License-Identifier: MIT
// stado fleet key check: does the stored key open the host?
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

struct check_options {
  std::string target;
  bool json = false;
};

base::result<std::string>
ask_hostname(fleet::channel& c, const fleet::target& host, const std::stop_token& stop) {
  fleet::channel_options o;
  o.stop = stop;
  const auto answer = c.run_words(host, {"hostname"}, o);
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    return base::error{
        .code = base::error_code::permanent,
        .message = host.name + ": hostname ended with status " + std::to_string(answer->status) +
                   ": " + answer->last_error_line()};
  }
  return fleet::printable(base::trim(answer->output));
}

int run_check(const invocation& i, const check_options& o) {
  auto s = open_substrate(i);
  if (!s) {
    return report_failure(i, s.error(), o.json);
  }
  const auto read = s->registry.read();
  if (!read) {
    return report_failure(i, read.error(), o.json);
  }
  const auto host = fleet::find_target(read->document, o.target);
  if (!host) {
    const base::error unknown{
        .code = base::error_code::not_found,
        .message = "the registry has no target '" + fleet::printable(o.target, 80) +
                   "'; stado registry show lists them"};
    return report_failure(i, unknown, o.json);
  }
  const auto hostname = ask_hostname(*s->channel, *host, i.stop);
  if (!hostname) {
    return report_failure(i, hostname.error(), o.json);
  }
  const std::string where =
      fleet::is_this_machine(*host, i.local_hostname) ? "this machine" : host->ssh;
  if (o.json) {
    print_json(
        i,
        base::json::object({{"target", o.target}, {"destination", where}, {"hostname", *hostname}})
    );
  } else {
    *i.out << where << ": " << *hostname << std::endl;
  }
  return exit_success;
}

} // namespace

void add_fleet_key_check_command(CLI::App& key, chosen_command& chosen) {
  CLI::App& sub = *key.add_subcommand("check", "Open a host with its stored key");
  const auto o = std::make_shared<check_options>();
  sub.add_option("TARGET", o->target, "A target of the registry")->required();
  add_json_flag(sub, o->json);
  sub.callback([&chosen, o] { chosen = [o](const invocation& i) { return run_check(i, *o); }; });
}

} // namespace siteagent::app::stado
