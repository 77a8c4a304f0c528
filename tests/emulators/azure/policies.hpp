// SPDX-License-Identifier: MIT
// Azure Policy assignments by seed: they deny writes, or add tags to them.
#pragma once

#include "permissions.hpp"

#include <optional>

namespace siteagent::azure_emulator {

// Applies the assignments to a PUT or PATCH: append and modify change its body, deny refuses it
// with 403 RequestDisallowedByPolicy.
std::optional<reply> apply_policies(context& c, const request_target& target);

} // namespace siteagent::azure_emulator
