// SPDX-License-Identifier: MIT
// What only Azure knows about an order, asked before the first write: location, size, image, quota.
#pragma once

#include "plugins/azure/order.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure {

// The image, resolved to a version. Refusals carry a public text. What the credentials may not read
// is left for Azure to refuse.
base::result<image_info>
check_with_azure(const services& cloud, const arm::scope& call, const machine_order& order);

} // namespace siteagent::azure
