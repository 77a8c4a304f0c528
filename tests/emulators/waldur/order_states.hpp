// SPDX-License-Identifier: MIT
// What a change of an order's state does to its resource.
#pragma once

#include "model.hpp"

namespace siteagent::waldur_emulator {

// The order leaves its review: executing, or waiting for a start date.
void approve(store& s, order& o, base::wall_time now);
// Waiting orders whose day has come start executing.
void release_waiting(store& s, base::wall_time now);
void start_executing(store& s, order& o, base::wall_time now);

// The verdicts of the provider. The server looks for "the executing order of that type" of the
// resource: with none or several of them it changes the resource and no order.
void report_done(store& s, const order& o, base::wall_time now);
void report_erred(
    store& s,
    order& o,
    const std::string& message,
    const std::string& traceback,
    base::wall_time now
);

// Rejected or canceled: a Create leaves a Terminated resource, every other type an OK one.
void withdraw(store& s, order& o, std::string_view state, base::wall_time now);

} // namespace siteagent::waldur_emulator
