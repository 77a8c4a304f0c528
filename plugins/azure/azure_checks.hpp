// SPDX-License-Identifier: MIT
// What only Azure knows about an order, asked before the first write: location, size, image, quota.
#pragma once

#include "plugins/azure/order.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure {

// The image, resolved to a version. Refusals carry a public text. What the credentials may not read
// is left for Azure to refuse.
base::result<image_info> check_with_azure(
    const services& cloud, const arm::scope& call, const settings& s, const machine_order& order
);

// After a write was refused: what the kept facts said was wrong, so they are read again for the
// next order. Adds to the operator's text what he can do for this very image.
base::error learn_from(const services& cloud, const machine_order& order, base::error refusal);

// Can the size start the image: generation and architecture, as far as both are known?
base::result<void>
check_fit(const size_info& size, const image_info& image, const machine_order& order);

} // namespace siteagent::azure
