// SPDX-License-Identifier: MIT
// From an authenticated ARM request to its handler.
#pragma once

#include "context.hpp"

namespace siteagent::azure_emulator {

// "/subscriptions/{id}/..." with the subscription known and c filled in.
reply route_subscription(context& c);
// "/subscriptions", "/tenants", "/providers" and the like.
reply route_tenant(context& c);

} // namespace siteagent::azure_emulator
