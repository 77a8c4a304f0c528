// SPDX-License-Identifier: MIT
// What every machine of the agent shares: the clock, a wait that ends with the process, the pool,
// the locks, the progress board.
#pragma once

#include "core/agent/heartbeat.hpp"
#include "core/agent/resource_locks.hpp"
#include "core/agent/worker_pool.hpp"
#include "core/base/clock.hpp"

#include <chrono>
#include <stop_token>

namespace siteagent::agent {

// Waits that a stop ends at once. Tests replace it by one that moves a manual clock.
class waiter {
public:
  waiter() = default;
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  virtual ~waiter() = default;
  // true after the full time, false when `stop` came first. [any thread]
  virtual bool wait_for(std::chrono::milliseconds time, const std::stop_token& stop) = 0;
};

// Real time; stateless. Never destroyed.
waiter& real_waiter();

// References; the owner (agent, or a test) keeps them alive.
struct environment {
  const base::clock& clock;
  waiter& waits;
  std::stop_token stop; // the process is asked to end
  progress_board& progress;
  resource_locks& locks;
  worker_pool& pool;

  bool pause(std::chrono::milliseconds time) const { return waits.wait_for(time, stop); }
};

} // namespace siteagent::agent
