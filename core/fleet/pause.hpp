// SPDX-License-Identifier: MIT
// A pause that a stop ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace siteagent::fleet {

// false: stopped before the time was over. [any thread]
inline bool pause_for(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

} // namespace siteagent::fleet
