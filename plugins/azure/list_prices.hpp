// SPDX-License-Identifier: MIT
// List prices by location, read once a day per subscription and kept.
#pragma once

#include "plugins/azure/services.hpp"

#include <memory>
#include <string_view>

namespace siteagent::azure {

using known_prices = std::shared_ptr<const prices_by_name>;

// Hours of machine sizes; `location` normalised.
base::result<known_prices>
machine_hours(const services& cloud, const arm::scope& call, const std::string& location);
// Months of the tiers of one product of managed disks.
base::result<known_prices> disk_months(
    const services& cloud,
    const arm::scope& call,
    const std::string& location,
    const std::string& product
);
// Hours of a public address, under the name "".
base::result<known_prices>
address_hours(const services& cloud, const arm::scope& call, const std::string& location);

} // namespace siteagent::azure
