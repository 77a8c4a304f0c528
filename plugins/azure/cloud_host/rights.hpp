// SPDX-License-Identifier: MIT
// The rights that renting hosts needs, in one table: the check of a missing one and the role in the
// README come from it.
#pragma once

#include "core/base/json.hpp"
#include "plugins/azure/permissions.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::cloud_host {

enum class host_area : std::uint8_t {
  subscription,
  group,          // the resource group of the bindings
  security_group, // of a subnet, where it has one of its own
};

inline constexpr std::array<host_area, 3> host_areas{
    host_area::subscription, host_area::group, host_area::security_group};

std::string_view name_of(host_area area);

// Sorted.
std::vector<std::string> actions_of(host_area area);

// Those of the area that the assignments do not allow.
std::vector<std::string> missing_actions(host_area area, const std::vector<allowance>& allowed);

} // namespace siteagent::azure::cloud_host
