// SPDX-License-Identifier: MIT
// Allocation metering: what a machine's size gives it, mapped onto the offering's components. Pure.
#pragma once

#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "plugins/azure/clients/compute.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

struct allocation {
  std::int64_t cores = 0;
  std::int64_t ram_mib = 0;
  std::optional<std::int64_t> disk_mib; // nullopt: not known
};

allocation allocation_of_size(const size_figures& f);
// The disks the machine really has, plus the size's temporary disk. `disks_by_id`: sizes in GiB
// that the model lacks (deallocated machines), keys by id_key.
allocation allocation_of_machine(
    const size_figures& f,
    const base::json& model,
    const std::map<std::string, std::int64_t>& disks_by_id
);

// "cores", "ram_mb" or "disk_mb": by backend_name when set, else by the component's own name.
std::optional<std::string_view> metric_of(std::string_view component, const base::json& settings);

// {"cpu":"2"} in the components' units; components this plugin cannot see are left out.
base::json totals_of(const allocation& a, const base::json& components);

// How a component is metered: a snapshot of the allocation, or hours of it.
bool is_metered_in_hours(const base::json& settings);

// The components among them that this plugin can see, of either kind.
struct metered {
  bool snapshot = false;
  bool hours = false;
};

metered kinds_of_metering(const base::json& components);

// What was allocated, and for how long.
struct held {
  allocation amount;
  std::chrono::milliseconds time{0};
};

// {"cpu":"744"}: amount times hours in the components' units, of the components metered in hours
// alone, exact to twelve decimals. nullopt: one of them is not known, so that none may be told.
std::optional<base::json> hours_of(const std::vector<held>& times, const base::json& components);

} // namespace siteagent::azure
