// SPDX-License-Identifier: MIT
// stado host kompilator: a program run on a host of the fleet, in a directory of its own.
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"
#include "core/fleet/runs.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <mutex>
#include <ostream>

namespace siteagent::app::stado {

namespace {

constexpr const char* about =
    R"(Runs PROGRAM on HOST and ends with its status. Its output comes as it is written; with --json
standard output holds the document only and the program's goes to standard error.

Every run has a directory of its own, ~/.stado/work/runs/RUN on the host, and is a reason not to
return a cloud host until it ends. The directory goes with the run: on success, on failure, when it
is interrupted, and when this command or its connection dies.

--source is delivered without folders that hold a CACHEDIR.TAG (cargo's target is one). --revision
delivers what git archive gives of that commit, so its rust-toolchain.toml chooses the toolchain:
rustup's programs are the first on PATH. Downloads stay in the host's ~/.cargo, and cargo's target
folder of one source folder is lent from run to run (~/.stado/cache/target): dependencies are
compiled once, sources always.

--fetch brings REMOTE, relative to the source directory, back before the run's directory goes, when
PROGRAM ended with 0; LOCAL is where it is to be, or a folder to put it in.

--keep leaves the directory of a program that ended by itself. A kept run costs what its host
costs: a cloud host is not returned while it stands. --remove takes it away.

Examples:
  stado host kompilator b1 --source . -- cargo build --release
  stado host kompilator b1 --revision v1.4 --fetch target/release/app:out/ -- cargo build --release
  stado host kompilator b1 --remove 0f3a... )";

struct host_options {
  std::string host;
  std::string source;
  std::string revision;
  std::vector<std::string> fetches;
  bool keep = false;
  std::string remove;
  bool json = false;
  std::vector<std::string> words;
};

base::result<fleet::target> find_host(const substrate& s, const std::string& name) {
  const auto read = s.registry.read();
  if (!read) {
    return read.error();
  }
  auto host = fleet::find_target(read->document, name);
  if (!host) {
    return base::error{
        .code = base::error_code::not_found,
        .message = "the registry has no target '" + fleet::printable(name, 80) +
                   "'; stado registry show lists them"};
  }
  return *std::move(host);
}

fleet::kompilator_request request_of(const host_options& o) {
  fleet::kompilator_request r;
  r.words = o.words;
  r.source_directory = o.source;
  r.revision = o.revision;
  for (const std::string& fetch : o.fetches) {
    const std::size_t colon = fetch.find(':');
    r.fetches.emplace_back(
        fetch.substr(0, colon), colon == std::string::npos ? "" : fetch.substr(colon + 1)
    );
  }
  r.keep = o.keep;
  return r;
}

int run_program(const invocation& i, const host_options& o) {
  auto s = open_substrate(i);
  if (!s) {
    return report_failure(i, s.error(), o.json);
  }
  const auto host = find_host(*s, o.host);
  if (!host) {
    return report_failure(i, host.error(), o.json);
  }
  std::mutex streams; // the program's output and our own lines come on two threads
  const auto write_to = [&streams](std::ostream& stream) {
    return [&streams, &stream](std::string_view bytes) {
      const std::scoped_lock lock(streams);
      stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    };
  };
  fleet::kompilator_request r = request_of(o);
  r.on_output = write_to(o.json ? *i.err : *i.out);
  r.on_error_output = write_to(*i.err);
  r.progress = [&](const std::string& line) {
    const std::scoped_lock lock(streams);
    *i.err << "stado: " << line << std::endl;
  };
  const auto report = fleet::run_kompilator(*s->channel, *i.programs, *host, r, i.stop);
  if (!report) {
    return report_failure(i, report.error(), o.json);
  }
  if (report->kept) {
    r.progress(
        "run " + report->run + " is kept; stado host kompilator " + o.host + " --remove " +
        report->run + " takes it away"
    );
  }
  if (o.json) {
    base::json fetched = base::json::array();
    for (const std::string& place : report->fetched) {
      fetched.push_back(place);
    }
    print_json(
        i,
        base::json::object(
            {{"host", o.host},
             {"run", report->run},
             {"status", report->status},
             {"kept", report->kept},
             {"fetched", std::move(fetched)}}
        )
    );
  }
  return report->status;
}

int run_remove(const invocation& i, const host_options& o) {
  auto s = open_substrate(i);
  if (!s) {
    return report_failure(i, s.error(), o.json);
  }
  const auto host = find_host(*s, o.host);
  if (!host) {
    return report_failure(i, host.error(), o.json);
  }
  if (const auto removed = fleet::remove_run(*s->channel, *host, o.remove, i.stop); !removed) {
    return report_failure(i, removed.error(), o.json);
  }
  if (o.json) {
    print_json(i, base::json::object({{"host", o.host}, {"run", o.remove}, {"removed", true}}));
  } else {
    *i.out << "run " << o.remove << " removed from " << o.host << std::endl;
  }
  return exit_success;
}

// What the grammar says and options alone cannot.
void check(const host_options& o) {
  if (o.remove.empty() && o.words.empty()) {
    throw CLI::RequiredError("-- PROGRAM");
  }
  if (!o.remove.empty() && !o.words.empty()) {
    throw CLI::ExcludesError("--remove", "PROGRAM");
  }
}

} // namespace

void add_host_commands(CLI::App& app, chosen_command& chosen) {
  CLI::App& host = *app.add_subcommand("host", "Work on a host of the fleet");
  host.require_subcommand(1);
  CLI::App& sub = *host.add_subcommand("kompilator", "Run a program on a host");
  sub.footer(about);
  const auto o = std::make_shared<host_options>();
  sub.add_option("HOST", o->host, "A target of the registry")->required();
  sub.add_option("--source", o->source, "A folder to deliver; PROGRAM runs in its copy")
      ->type_name("DIR");
  sub.add_option(
         "--revision", o->revision, "Deliver this commit of the git repository at --source, or here"
  )
      ->type_name("REV");
  sub.add_option("--fetch", o->fetches, "Bring a file or folder back; may be repeated")
      ->expected(1)
      ->allow_extra_args(false) // else it takes what stands behind its value, "--" too
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("REMOTE[:LOCAL]");
  CLI::Option* keep = sub.add_flag("--keep", o->keep, "Leave the run's directory on the host");
  CLI::Option* remove =
      sub.add_option("--remove", o->remove, "Remove the directory of a kept run")->type_name("RUN");
  for (const char* name : {"--source", "--revision", "--fetch"}) {
    remove->excludes(sub.get_option(name));
  }
  remove->excludes(keep);
  add_json_flag(sub, o->json);
  sub.add_option("PROGRAM", o->words, "The program and its words, behind --")->type_name("ARG");
  sub.callback([&chosen, o] {
    check(*o);
    chosen = [o](const invocation& i) {
      return o->remove.empty() ? run_program(i, *o) : run_remove(i, *o);
    };
  });
}

} // namespace siteagent::app::stado
