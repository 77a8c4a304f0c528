// SPDX-License-Identifier: MIT
// What happens to resources without a request: their guests, the platform, other people.
#pragma once

#include "world.hpp"

#include "core/base/json.hpp"
#include "core/base/result.hpp"

namespace siteagent::azure_emulator {

// [{"do": "guest_shutdown", "id": "/resourceGroups/rg/..."}], see the README; null = nothing. An
// error names the element at fault; those before it took effect.
base::result<void> seed_actions(world& w, const base::json& list, base::wall_time now);

} // namespace siteagent::azure_emulator
