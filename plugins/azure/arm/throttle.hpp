// SPDX-License-Identifier: MIT
// Throttling is answered for a whole class of calls, not for the one that was refused: the pauses
// of one subscription, shared by all instances. [any thread]
#pragma once

#include "core/base/clock.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

class throttle {
public:
  // The class of a call: read, write or delete, times the provider in the URL.
  static std::string class_of(std::string_view method, std::string_view url);

  // How long calls of this class must still wait; 0: go.
  std::chrono::milliseconds pause_left(const std::string& call_class, base::steady_time now) const;

  // A 429 came. Without advice: `first` times ten, doubling up to five minutes while it goes on.
  // Returns the pause now in force.
  std::chrono::milliseconds refused(
      const std::string& call_class,
      base::steady_time now,
      std::optional<std::chrono::milliseconds> advice,
      std::chrono::milliseconds first
  );
  void accepted(const std::string& call_class);

private:
  struct state {
    base::steady_time until{};
    unsigned strikes = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, state> classes_;
};

} // namespace siteagent::azure::arm
