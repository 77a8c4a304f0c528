// SPDX-License-Identifier: MIT
// A small agent for the exit tests: loads late-exit.so from the directory given and leaves in the
// way given. exit_probe normal|sigterm|configuration|create DIRECTORY
#include "core/host/instance.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>

namespace {

namespace host = siteagent::host;

host::instance_options options(const char* key) {
  host::instance_options o;
  o.settings.type = siteagent::config::value::kind::map;
  siteagent::config::value v;
  v.type = siteagent::config::value::kind::scalar;
  v.text = "x";
  o.settings.map.emplace_back(key, v);
  return o;
}

// SIGTERM as an agent takes it: waited for, then a normal end.
int wait_for_sigterm() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  raise(SIGTERM);
  int got = 0;
  return sigwait(&term, &got) == 0 && got == SIGTERM ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  auto loaded = host::load_plugin("late-exit", host::search_path({argv[2]}));
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 3;
  }
  if (std::strcmp(argv[1], "configuration") == 0) {
    return 1; // loaded, then something else in the file was wrong
  }
  if (std::strcmp(argv[1], "create") == 0) {
    return host::instance::open(*loaded, options("refuse")) ? 4 : 1;
  }
  auto opened = host::instance::open(*loaded, options("fine"));
  if (!opened || !(*opened)->call(host::operation::ping, {})) {
    return 5;
  }
  return std::strcmp(argv[1], "sigterm") == 0 ? wait_for_sigterm() : 0;
}
