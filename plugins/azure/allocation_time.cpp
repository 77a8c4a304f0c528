// SPDX-License-Identifier: MIT
#include "plugins/azure/allocation_time.hpp"

#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using kind = machine_event::kind;
using base::wall_time;

bool is_power(const machine_event& e) {
  return e.what != kind::written;
}

bool tells_size(const machine_event& e) {
  return e.what == kind::written && !e.size.empty();
}

base::error not_measured(const std::string& why) {
  return make_error(reason::ambiguous, base::error_code::transient, why);
}

// Of clocks that are not quite the same.
constexpr std::chrono::milliseconds tolerance{5'000};
// The write that made a machine may be logged before the time the machine gives.
constexpr std::chrono::milliseconds before_creation = std::chrono::minutes(10);

// The events of this machine, up to the look at it, in order. An older machine of the same name
// ended before this one was created.
std::vector<machine_event> events_of(const machine_life& life, const observation& seen) {
  std::vector<machine_event> out;
  for (const machine_event& e : life.events) {
    const bool is_old =
        life.created &&
        e.at < *life.created - (e.what == kind::written ? before_creation : tolerance);
    if (e.at <= seen.now + tolerance && !is_old) {
      out.push_back(e);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const machine_event& a, const machine_event& b) {
    return a.at < b.at;
  });
  return out;
}

template <class Wanted>
const machine_event* last_of(const std::vector<machine_event>& events, Wanted wanted) {
  const auto found = std::find_if(events.rbegin(), events.rend(), wanted);
  return found == events.rend() ? nullptr : &*found;
}

template <class Wanted>
const machine_event* first_of(const std::vector<machine_event>& events, Wanted wanted) {
  const auto found = std::find_if(events.begin(), events.end(), wanted);
  return found == events.end() ? nullptr : &*found;
}

// Adds what the machine shows and the log does not: a change the log missed, or has still to tell.
base::result<void> explain_present(
    const machine_life& life,
    const observation& seen,
    bool whole_life_known,
    std::vector<machine_event>& events
) {
  const machine_event* power = last_of(events, is_power);
  const std::optional<bool> told = power != nullptr ? std::optional(power->what == kind::allocated)
                                   : whole_life_known ? std::optional(true)
                                                      : std::nullopt;
  const machine_event* sized = last_of(events, tells_size);
  const bool other_power = told && life.allocated && *told != *life.allocated;
  const bool other_size = sized != nullptr && !life.size.empty() && sized->size != life.size;
  if (!other_power && !other_size) {
    return {};
  }
  const bool follows = life.changed && (events.empty() || *life.changed >= events.back().at);
  if (!follows || seen.now - *life.changed < latest_event) {
    return not_measured("the activity log does not show yet how the machine came to be as it is");
  }
  if (other_power) {
    events.push_back({*life.changed, *life.allocated ? kind::allocated : kind::released});
  }
  if (other_size) {
    events.push_back({*life.changed, kind::written, life.size});
  }
  return {};
}

} // namespace

base::result<time_by_size>
allocated_time(const machine_life& life, const time_window& window, const observation& seen) {
  const wall_time end = std::min(window.to, seen.now);
  const wall_time begin = life.created ? std::max(window.from, *life.created) : window.from;
  if (life.created && *life.created >= window.to) {
    return not_measured("the machine did not exist in that period");
  }
  const bool whole_life_known = life.created && *life.created >= seen.log_from;
  if (!whole_life_known && window.from < seen.log_from) {
    return not_measured(
        "the activity log goes back to " + base::to_rfc3339(seen.log_from) + " only"
    );
  }
  std::vector<machine_event> events = events_of(life, seen);
  if (auto explained = explain_present(life, seen, whole_life_known, events); !explained) {
    return explained.error();
  }
  // What was before the first event follows from it; a machine is allocated when it is created.
  const machine_event* power = first_of(events, is_power);
  const machine_event* sized = first_of(events, tells_size);
  bool allocated = whole_life_known   ? true
                   : power != nullptr ? power->what == kind::released
                                      : life.allocated.value_or(true);
  std::string size = sized != nullptr ? sized->size : life.size;
  time_by_size out;
  wall_time at = begin;
  const auto advance_to = [&](wall_time next) {
    const wall_time stop = std::min(next, end);
    if (allocated && stop > at) {
      out[size] += std::chrono::duration_cast<std::chrono::milliseconds>(stop - at);
    }
    at = std::max(at, stop);
  };
  for (const machine_event& e : events) {
    advance_to(std::max(e.at, begin));
    allocated = is_power(e) ? e.what == kind::allocated : allocated;
    size = tells_size(e) ? e.size : size;
  }
  advance_to(end);
  return out;
}

} // namespace siteagent::azure
