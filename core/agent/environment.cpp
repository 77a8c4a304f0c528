// SPDX-License-Identifier: MIT
// The real waiter.
#include "core/agent/environment.hpp"

#include <condition_variable>
#include <mutex>

namespace siteagent::agent {

namespace {

class condition_waiter final : public waiter {
public:
  bool wait_for(std::chrono::milliseconds time, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  }
};

} // namespace

waiter& real_waiter() {
  static auto* const instance = new condition_waiter;
  return *instance;
}

} // namespace siteagent::agent
