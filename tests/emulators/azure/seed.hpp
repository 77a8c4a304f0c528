// SPDX-License-Identifier: MIT
// Seed documents: what the emulated cloud offers and what is in it. The keys are in README.md.
#pragma once

#include "world.hpp"

#include "core/base/json.hpp"
#include "core/base/result.hpp"

namespace siteagent::azure_emulator {

// Unknown keys and wrong values are errors naming the key. May leave `w` half changed on error.
base::result<void> apply_seed(world& w, const base::json& document, base::wall_time now);

// The keys of a document that are settings, not objects; the others are left alone. For a state
// that is read back, whose objects come from elsewhere.
base::result<void> apply_settings(world& w, const base::json& document, base::wall_time now);

} // namespace siteagent::azure_emulator
