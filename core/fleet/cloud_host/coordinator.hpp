// SPDX-License-Identifier: MIT
// The coordinator: on every tick the applied reap pass of each enabled provider with a declared
// host. This build has no other passes.
#pragma once

#include "core/fleet/cloud_host/context.hpp"
#include "core/fleet/cloud_host/reap.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

// An entry of the registry's `coordinators`.
struct coordinator_entry {
  std::string name;
  std::chrono::seconds interval{60}; // interval_seconds, at least 15
};

// The entry of that name; "" = the single one that is not `"active": false`. `refused` naming what
// is there.
base::result<coordinator_entry>
find_coordinator(const base::json& registry, std::string_view name = {});

// A line without prefix.
using log_function = std::function<void(const std::string& line)>;

// One tick. Never fails: what goes wrong is logged as "cloud-host reaper: ...". Each pass is
// bounded by limits.reap_pass; one that another command holds up is left for the next tick.
void tick(const workplace& w, const log_function& log);

// The lines of a finished pass: reaped, failed, unread, addresses.
std::vector<std::string> lines_of(const reap_report& r);

// Ticks until w.stop, `interval` from the start of one to that of the next.
void tick_forever(const workplace& w, std::chrono::seconds interval, const log_function& log);

} // namespace siteagent::fleet::cloud_host
