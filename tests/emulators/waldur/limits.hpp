// SPDX-License-Identifier: MIT
// Checks of limits against an offering's components.
#pragma once

#include "api.hpp"

namespace siteagent::waldur_emulator {

// The limits under `key` of the body: an object of known component types with whole numbers from 0,
// inside min_value and max_value. `only_limit_components`: components billed otherwise are refused.
base::result<json>
checked_limits(const offering& o, const json& limits, bool only_limit_components);

} // namespace siteagent::waldur_emulator
