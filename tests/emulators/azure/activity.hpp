// SPDX-License-Identifier: MIT
// The activity log: every write that was asked for, with what became of it.
#pragma once

#include "context.hpp"

namespace siteagent::azure_emulator {

// Notes one answered write below a subscription; what became of an operation it began is told by
// note_end.
void note_activity(const context& c, const reply& answer);

// Notes the end of an operation: Succeeded, Failed or Canceled, with the ids of its beginning.
void note_end(world& w, const operation& op);

// GET /subscriptions/{id}/providers/Microsoft.Insights/eventtypes/management/values
reply list_activity(context& c);

} // namespace siteagent::azure_emulator
