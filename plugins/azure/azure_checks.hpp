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

// Its parts, for whoever tells them apart. The size in that location; nullopt: not readable, so
// Azure will tell.
base::result<std::optional<size_info>>
check_size(const services& cloud, const arm::scope& call, const machine_order& order);
// Cores of the region and the family, machines, public addresses.
base::result<void> check_quota(
    const services& cloud,
    const arm::scope& call,
    const settings& s,
    const machine_order& order,
    const size_info& size
);

// Can the size start the image: generation and architecture, as far as both are known?
base::result<void>
check_fit(const size_info& size, const image_info& image, const machine_order& order);

} // namespace siteagent::azure
