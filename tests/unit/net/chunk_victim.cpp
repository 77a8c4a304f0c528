// SPDX-License-Identifier: MIT
// One GET of the URL given, in a process of its own, because some answers end the process.
// Exit: 0 an answer, 3 an error, 2 usage; or whatever the answer made of it.
#include "core/net/transport.hpp"

#include <sys/resource.h>

#include <cstdio>

int main(int argc, char** argv) {
  using namespace siteagent::net;
  if (argc != 2) {
    return 2;
  }
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  initialise_process();
  const auto made = make_transport({});
  request r;
  r.url = argv[1];
  const auto got = (*made)->perform(r);
  if (!got) {
    std::fprintf(stderr, "%s\n", got.error().message.c_str());
    return 3;
  }
  return 0;
}
