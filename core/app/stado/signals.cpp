// SPDX-License-Identifier: MIT
#include "core/app/stado/signals.hpp"

#include "core/fleet/keys.hpp"

#include <pthread.h>
#include <unistd.h>

#include <string_view>

namespace siteagent::app::stado {

namespace {

[[noreturn]] void end_process(int number) {
  constexpr int signal_base = 128;
  constexpr std::string_view last_words = "Error: interrupted\n";
  fleet::remove_transient_files();
  [[maybe_unused]] const auto written = write(STDERR_FILENO, last_words.data(), last_words.size());
  _exit(signal_base + number);
}

} // namespace

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

void signal_watch::end_at_once() {
  at_once_ = true;
  if (came_ != 0) {
    end_process(came_);
  }
}

void signal_watch::watch() {
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
      if (at_once_) {
        end_process(number);
      }
      stop_.request_stop();
    } else if (count == 2) {
      give_up_.request_stop();
    } else {
      end_process(number);
    }
  }
}

} // namespace siteagent::app::stado
