// SPDX-License-Identifier: MIT
// A token bucket that hands out turns: every caller learns at once how long it must wait, in the
// order of asking. Not thread-safe: its owner locks.
#pragma once

#include "core/base/clock.hpp"

#include <chrono>

namespace siteagent::azure::arm {

struct bucket_size {
  double capacity = 0;   // calls at once
  double per_second = 0; // calls a second that come back
};

class token_bucket {
public:
  // Full at first.
  token_bucket(bucket_size size, base::steady_time now)
      : size_(size), level_(size.capacity), at_(now) {}

  // How long a call that asks now would wait. 0: go.
  std::chrono::milliseconds wait(base::steady_time now);
  // Takes a turn; the call may go after wait(), asked before.
  void take(base::steady_time now);
  // Gives a turn back that was not used.
  void give_back(base::steady_time now);
  // Nobody waits and nothing is missing: forgetting it changes nothing.
  bool is_full(base::steady_time now);

private:
  void refill(base::steady_time now);

  bucket_size size_;
  double level_; // below 0: turns already promised
  base::steady_time at_;
};

} // namespace siteagent::azure::arm
