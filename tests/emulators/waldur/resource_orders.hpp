// SPDX-License-Identifier: MIT
// Actions of a resource that make an order.
#pragma once

#include "api.hpp"

namespace siteagent::waldur_emulator {

reply terminate(context& c, const resource& r);
reply restore(context& c, const resource& r);
reply update_limits(context& c, const resource& r);
reply switch_plan(context& c, const resource& r);

} // namespace siteagent::waldur_emulator
