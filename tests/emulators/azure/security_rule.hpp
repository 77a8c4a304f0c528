// SPDX-License-Identifier: MIT
// The checks of one security rule.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

// `properties` of the rule at `path`, whose group is in `location`; nullopt = fine, else the
// refusal to send.
std::optional<reply> check_security_rule(
    const context& c,
    const resource_path& path,
    const base::json& properties,
    std::string_view location
);

} // namespace siteagent::azure_emulator
