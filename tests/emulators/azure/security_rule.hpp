// SPDX-License-Identifier: MIT
// The checks of one security rule.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>

namespace siteagent::azure_emulator {

// `properties` of the rule called `name`; nullopt = fine, else the refusal to send.
std::optional<reply> check_security_rule(const std::string& name, const base::json& properties);

} // namespace siteagent::azure_emulator
