// SPDX-License-Identifier: MIT
// Long-running operations: what the answer to a write promises, and following it to its end.
#pragma once

#include "plugins/azure/arm/pipeline.hpp"

#include <functional>
#include <optional>
#include <string>

namespace siteagent::azure::arm {

enum class run_state : std::uint8_t { running, succeeded, failed };

// provisioningState or status, any case; absent counts as succeeded.
run_state state_of(const base::json& state);

struct followed {
  std::string path;          // of the resource, percent-encoded, with api-version; read at the end
  std::string what;          // "create network interface nicweb"
  std::string verb;          // put, post, delete
  std::string kind;          // for checkpoints
  std::string id;            // for checkpoints
  milliseconds usual{3'000}; // pause between polls when Azure gives none
  // Longest time this one operation may take; after it nothing is sent again, whoever comes next
  // looks.
  milliseconds limit = std::chrono::minutes(45);
  // After a PUT that made the object (201), is it read once more although its monitor reports
  // success? Wanted where Azure fills something in (an address, a state).
  bool read_back = true;
};

// After a PUT: the resource as it reads in the end. After a POST: null. After a DELETE: null, once
// a read proves it gone. The operation's own failure is an error of map_error; a failed read of the
// monitor is retried and finally decided by reading the resource. Past `limit`: transient, reason
// busy. Calls checkpoint between polls.
base::result<base::json>
follow(const pipeline& arm, const scope& call, const response& started, const followed& f);

// The same for a resource found in the middle of a change: its own state is the monitor. `Failed`
// is not an error here: the caller looks.
base::result<base::json> settle(const pipeline& arm, const scope& call, const followed& f);

// Reads until a 404 that says so.
base::result<void> await_absence(const pipeline& arm, const scope& call, const followed& f);

// One read: nullopt is positively absent.
base::result<std::optional<base::json>> read_if_present(
    const pipeline& arm,
    const scope& call,
    const std::string& path,
    std::string_view what,
    patience p = patience::brief
);

} // namespace siteagent::azure::arm
