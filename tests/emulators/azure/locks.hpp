// SPDX-License-Identifier: MIT
// Management locks: kept at any scope, inherited downwards.
#pragma once

#include "permissions.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

// {scope}/providers/Microsoft.Authorization/locks[/{name}]; name "" = the list.
reply route_locks(context& c, const std::string& scope, const std::string& name);

// nullopt: no lock forbids it; else 409 ScopeLocked.
std::optional<reply> check_locks(const context& c, const request_target& target);

} // namespace siteagent::azure_emulator
