// SPDX-License-Identifier: MIT
// The table that packaging/bench prints.
#include "core/observe/log.hpp"
#include "tests/bench/rig.hpp"

#include <cstdio>
#include <cstring>
#include <exception>

int main(int argc, char** argv) {
  if (const int status = siteagent::host::run_inspection_child(argc, argv);
      status != siteagent::host::not_an_inspection_child) {
    return status;
  }
  siteagent::net::initialise_process();
  // The table is for reading; only trouble is logged beside it.
  siteagent::observe::set_up_logs(
      siteagent::observe::level::warning, siteagent::observe::log_to_stderr
  );
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    if (argc == 3 && std::strcmp(argv[1], "--child") == 0) {
      return siteagent::bench::run_list_child(argv[2]);
    }
    const bool lists = argc < 2 || std::strcmp(argv[1], "lists") == 0;
    const bool creates = argc < 2 || std::strcmp(argv[1], "creates") == 0;
    const bool members = argc < 2 || std::strcmp(argv[1], "members") == 0;
    if (!lists && !creates && !members) {
      std::fprintf(stderr, "usage: azure_bench [lists|creates|members]\n");
      return 2;
    }
    if (lists) {
      siteagent::bench::bench_lists();
    }
    if (creates) {
      siteagent::bench::bench_creates();
    }
    if (members) {
      siteagent::bench::bench_members();
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
