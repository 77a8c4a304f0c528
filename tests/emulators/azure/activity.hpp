// SPDX-License-Identifier: MIT
// The activity log: every write that was asked for, with what became of it.
#pragma once

#include "context.hpp"

namespace siteagent::azure_emulator {

// Notes one answered write below a subscription.
void note_activity(const context& c, const reply& answer);

// GET /subscriptions/{id}/providers/Microsoft.Insights/eventtypes/management/values
reply list_activity(context& c);

} // namespace siteagent::azure_emulator
