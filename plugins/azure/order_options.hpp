// SPDX-License-Identifier: MIT
// The order form's choices: what can be ordered now, inside the guard rails.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/order_choices.hpp"

#include <vector>

namespace siteagent::azure {

// Choices to judge instead of the plugin's own, for example those of an existing form:
// {"location":[...],"size":[...],"image":[...]}, each optional. No object: there are none.
candidates read_candidates(const base::json& choices);

// Per option {"name","label","type","required","choices"?,"default"?,"help_text"?,"instead"?,
// "left_out":[{"choice","reason"}]?}, with the choices of choose_offers. Reads only.
base::result<std::vector<base::json>> order_options(
    const services& cloud, const settings& s, const arm::scope& call, const candidates& asked
);

} // namespace siteagent::azure
