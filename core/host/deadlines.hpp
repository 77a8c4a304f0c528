// SPDX-License-Identifier: MIT
// How long each operation may take, and the keys of backend_settings.limits.
#pragma once

#include "core/base/json.hpp"
#include "core/host/instance.hpp"

#include <array>
#include <chrono>
#include <string_view>
#include <vector>

namespace siteagent::host {

inline constexpr std::size_t operation_count = 24;

// Every key that limits may have: the groups', then the operations' own.
std::vector<std::string_view> limit_keys();

// The deadline of every operation, by its number, after `limits` (null or an object).
std::array<std::chrono::milliseconds, operation_count> deadlines(const base::json& limits);

} // namespace siteagent::host
