// SPDX-License-Identifier: MIT
#include "core/app/stado/signals.hpp"

#include "core/fleet/keys.hpp"

#include <pthread.h>
#include <unistd.h>

namespace siteagent::app::stado {

signal_watch::signal_watch() {
  sigemptyset(&set_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&set_, number);
  }
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  thread_ = std::thread([this] { watch(); });
}

signal_watch::~signal_watch() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM); // wakes the wait
  thread_.join();
}

void signal_watch::watch() {
  constexpr int signal_base = 128;
  for (int count = 0;;) {
    int number = 0;
    if (sigwait(&set_, &number) != 0) {
      continue;
    }
    if (over_) {
      return;
    }
    if (++count == 1) {
      came_ = number;
      stop_.request_stop();
    } else if (count == 2) {
      give_up_.request_stop();
    } else {
      fleet::remove_transient_files();
      _exit(signal_base + number);
    }
  }
}

} // namespace siteagent::app::stado
