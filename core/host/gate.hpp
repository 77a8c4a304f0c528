// SPDX-License-Identifier: MIT
// A lock that can be waited for with a deadline and a stop request, as std mutexes cannot.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace siteagent::host {

class gate {
public:
  // Holds the gate until it goes.
  class pass {
  public:
    pass() = default;

    explicit pass(gate* g) : gate_(g) {}

    pass(pass&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }

    pass& operator=(pass&& other) noexcept;
    pass(const pass&) = delete;
    pass& operator=(const pass&) = delete;
    ~pass();

  private:
    gate* gate_ = nullptr;
  };

  // `transient` when it stayed taken until the deadline, `cancelled` when told to stop.
  base::result<pass> enter(base::steady_time deadline, std::stop_token stop);
  // Waits as long as it takes.
  pass enter();

private:
  void leave();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool taken_ = false;
};

} // namespace siteagent::host
