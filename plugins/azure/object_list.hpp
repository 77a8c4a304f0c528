// SPDX-License-Identifier: MIT
// Everything that carries the offering's tags, with its age and, when asked for, what it costs in a
// month at list prices.
#pragma once

#include "plugins/azure/services.hpp"

#include <vector>

namespace siteagent::azure {

// Rows as list_resources emits them: {"id","kind","uuid","created_at"?,"price_month"?,"currency"?}.
// Body: tags (at least one), uuid_tag, prices. A list that cannot be read is an error; a price that
// cannot be told is left out.
base::result<std::vector<base::json>>
object_rows(const services& cloud, const arm::scope& call, const base::json& body);

} // namespace siteagent::azure
