// SPDX-License-Identifier: MIT
// What a healthy machine and its resource in Waldur owe each other (Waldur contract 4.2 rows 5, 6,
// 8 and 11). Pure functions: both sides are compared first, so that a pass with nothing to do costs
// nothing.
#pragma once

#include "core/base/json.hpp"
#include "core/waldur/types.hpp"

#include <optional>
#include <string>

namespace siteagent::agent {

// Member of a resource's metadata: true while the machine stands because the agent stopped it.
inline constexpr const char* stopped_marker = "stopped_by_agent";

enum class power_change { none, stop, start };

bool is_marked(const base::json& metadata);

// `power` as the plugin says it; "" = it does not know.
power_change power_change_of(const waldur::resource& r, const std::string& power);

// Is the machine in another power state than Waldur wants, and is it ours to change that? As
// power_change_of, but a state the plugin does not know is no reason.
bool is_power_owed(const waldur::resource& r, const std::string& power);

// Paused and standing: it is ours to start again, whoever stopped it (also the Python agent).
bool is_ours_to_start(const waldur::resource& r, const std::string& power);

// The metadata Waldur should show: the plugin's, or what is there if it gives none, and the marker.
base::json wanted_metadata(const waldur::resource& r, const base::json& metadata, bool marked);
// nullopt: Waldur shows it already.
std::optional<base::json>
changed_metadata(const waldur::resource& r, const base::json& metadata, bool marked);

// The plugin's limits when it gives any and they differ.
std::optional<waldur::limits> changed_limits(const waldur::resource& r, const base::json& limits);

struct status_need {
  power_change power = power_change::none;
  bool metadata = false;
  bool limits = false;
  bool set_ok = false; // Erred in Waldur, healthy in the cloud

  bool empty() const { return power == power_change::none && !metadata && !limits && !set_ok; }
};

// `row`: of pull_resources, present.
status_need need_of(const waldur::resource& r, const base::json& row);

} // namespace siteagent::agent
