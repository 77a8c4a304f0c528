// SPDX-License-Identifier: MIT
// The on-demand hour of a size, location by location.
#pragma once

#include "plugins/azure/clients/prices.hpp"

#include <string>
#include <vector>

namespace siteagent::azure::cloud_host {

// The answer of price_size. A location without a price is left out; a page that fails is an error.
base::result<base::json> price_size(
    const price_client& list,
    const arm::scope& call,
    base::wall_time now,
    const std::string& size,
    const std::vector<std::string>& locations
);

} // namespace siteagent::azure::cloud_host
