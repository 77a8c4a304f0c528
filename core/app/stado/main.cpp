// SPDX-License-Identifier: MIT
// stado: the process of a fleet's owner.
#include "core/app/stado/command.hpp"
#include "core/app/stado/signals.hpp"
#include "core/observe/log.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <csignal>
#include <exception>
#include <iostream>

namespace {

namespace stado = siteagent::app::stado;

// Private keys and cloud secrets pass through this memory. A limit alone does not hold where cores
// are piped to a program. A program started from here is dumpable again after its exec, and may
// raise its soft limit.
void forbid_core_dumps() {
  rlimit none{};
  (void)getrlimit(RLIMIT_CORE, &none);
  none.rlim_cur = 0;
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

std::string local_hostname() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int run_stado(int argc, char** argv) {
  // A reader of our output that goes away must not end us between two writes to a cloud.
  (void)std::signal(SIGPIPE, SIG_IGN);
  stado::signal_watch signals;
  siteagent::observe::set_up_logs(
      siteagent::observe::level::warning, siteagent::observe::log_to_stderr
  );
  stado::invocation i;
  i.env = siteagent::fleet::process_environment();
  i.clock = &siteagent::base::real_clock();
  i.programs = &siteagent::fleet::system_runner();
  i.out = &std::cout;
  i.err = &std::cerr;
  i.err_is_terminal = isatty(STDERR_FILENO) == 1;
  i.stop = signals.stop();
  i.give_up = signals.give_up();
  i.signal = &signals.came();
  i.nothing_to_undo = [&signals] { signals.end_at_once(); };
  i.local_hostname = local_hostname();
  i.plugins = siteagent::host::search_path({});
  if (auto where = siteagent::fleet::folders::from(i.env)) {
    i.where = *std::move(where); // else empty: run() says so where a home is needed
  }
  const int code = stado::run({argv + 1, argv + argc}, i);
  siteagent::fleet::remove_transient_files();
  return std::cout.flush() ? code : stado::exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  try {
    if (const int status = siteagent::host::run_inspection_child(argc, argv);
        status != siteagent::host::not_an_inspection_child) {
      return status;
    }
    forbid_core_dumps();
    return run_stado(argc, argv);
  } catch (const std::exception& e) {
    siteagent::fleet::remove_transient_files();
    std::cerr << "Error: internal error: " << e.what() << '\n';
    return stado::exit_failure;
  }
}
