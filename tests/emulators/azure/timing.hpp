// SPDX-License-Identifier: MIT
// How long operations take and what Retry-After says, per class of operation.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace siteagent::azure_emulator {

enum class pace : std::uint8_t {
  network_write,
  network_delete,
  machine_create,
  machine_update,
  machine_action,
  machine_delete,
  disk,
  group_delete,
};
constexpr std::size_t pace_count = 8;

// The key of a pace in a timing file: "network_write", "machine_create", ...
std::string_view name_of(pace p);

struct timing {
  std::array<std::chrono::milliseconds, pace_count> durations{};
  std::array<int, pace_count> retry_after_s{};
  // An operation ends as soon as a GET looks at it: at its monitor, its resource or a list.
  bool ends_at_first_poll = false;
  // What a network write says depends on its type, not on its pace alone.
  bool retry_by_type = false;
  // Monitor URLs carry long signed parameters and must come back byte for byte.
  bool strict_urls = false;

  std::chrono::milliseconds duration(pace p) const {
    return durations[static_cast<std::size_t>(p)];
  }

  int retry_after(pace p) const { return retry_after_s[static_cast<std::size_t>(p)]; }

  static timing instant();
  static timing fast();
  static timing realistic();
  // {"base": "fast", "durations_ms": {"machine_create": 100}, "retry_after_s": {"network_write":
  // 1},
  //  "ends_at_first_poll": false, "strict_urls": true}; everything optional.
  static base::result<timing> from_json(const base::json& document);
  // "instant", "fast", "realistic" or the name of a file with such a document.
  static base::result<timing> parse(std::string_view option);
};

} // namespace siteagent::azure_emulator
