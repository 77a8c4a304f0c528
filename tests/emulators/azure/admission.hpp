// SPDX-License-Identifier: MIT
// The checks that ARM makes before a provider sees a request, in the order in which they win.
#pragma once

#include "permissions.hpp"

#include <optional>

namespace siteagent::azure_emulator {

// Provider registered, group there, access, locks, policies (which may change the body).
// nullopt: admitted.
std::optional<reply> admit(context& c, const request_target& target);
// The location of a PUT: not denied, given, offered, the one the object already has.
// A version from before the type of the object or list existed. `region`: for the message.
std::optional<reply>
check_version(const context& c, const request_target& target, std::string_view region);
std::optional<reply> check_place(const context& c, const request_target& target);
// What the state of the subscription forbids.
std::optional<reply> check_subscription(const context& c);

} // namespace siteagent::azure_emulator
