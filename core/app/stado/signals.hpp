// SPDX-License-Identifier: MIT
// SIGINT, SIGTERM and SIGHUP as stop tokens: the first asks to stop and undo, the second to give
// up undoing, the third ends the process at once.
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace siteagent::app::stado {

// Blocks the signals in the constructing thread, so make it before any other thread.
class signal_watch {
public:
  signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  ~signal_watch();

  std::stop_token stop() const { return stop_.get_token(); }

  std::stop_token give_up() const { return give_up_.get_token(); }

  // From now on the first signal ends the process at once, as does one that came before.
  void end_at_once();

  // The first that came; 0: none.
  const std::atomic<int>& came() const { return came_; }

private:
  void watch();

  sigset_t set_{};
  std::stop_source stop_;
  std::stop_source give_up_;
  std::atomic<int> came_{0};
  std::atomic<bool> at_once_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

} // namespace siteagent::app::stado
