// SPDX-License-Identifier: MIT
// How long a machine was allocated, out of the activity log and what the machine is now. Pure.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::azure {

// One thing that happened to a machine, as it ended well.
struct machine_event {
  enum class kind : std::uint8_t {
    allocated, // start
    released,  // deallocate, eviction, delete
    written    // create or update: the size it has from then on
  };

  base::wall_time at;
  kind what = kind::written;
  std::string size = {}; // lower case; "" = the log does not tell
};

struct machine_life {
  std::optional<base::wall_time> created; // nullopt: before the log begins, or not told
  std::optional<bool> allocated;          // now; nullopt: between states, or not told
  std::string size;                       // now, lower case
  std::optional<base::wall_time> changed; // the last change of its state that Azure shows
  std::vector<machine_event> events;      // in any order
};

struct observation {
  base::wall_time log_from; // the log is complete from here
  base::wall_time now; // Azure's clock when the machine was looked at; later events are ignored
};

// From first to last, the last instant not included.
struct time_window {
  base::wall_time from;
  base::wall_time to;
};

// How long what the log does not explain yet waits for a late event, before the machine's own
// account of its last change is taken.
inline constexpr std::chrono::hours latest_event{1};

using time_by_size = std::map<std::string, std::chrono::milliseconds>;

// Allocated time within the window and until now, by size; empty when it was released throughout.
// An allocation begins with the creation or the end of a start, and ends with the end of a
// deallocation. Additive: the times of adjacent windows sum up to that of both together.
//
// Errors, all "not measured": the machine did not exist in the window; the log does not reach back
// that far; the log contradicts the machine and is still young enough to catch up.
base::result<time_by_size>
allocated_time(const machine_life& life, const time_window& window, const observation& seen);

} // namespace siteagent::azure
