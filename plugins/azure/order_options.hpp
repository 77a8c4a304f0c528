// SPDX-License-Identifier: MIT
// The order form's choices: what can be ordered now, inside the guard rails.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/services.hpp"
#include "plugins/azure/settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace siteagent::azure {

// Choices to judge instead of the plugin's own, for example those of an existing form. An absent
// list: the allowed_* setting, else everything the subscription has.
struct candidates {
  std::optional<std::vector<std::string>> locations;
  std::optional<std::vector<std::string>> sizes;
  std::optional<std::vector<std::string>> images;
};

// {"location":[...],"size":[...],"image":[...]}, each optional.
candidates read_candidates(const base::json& choices);

// Per option {"name","label","type","required","choices"?,"default"?,"help_text"?,"instead"?,
// "left_out":[{"choice","reason"}]?}. Every combination of the choices can be ordered: the sizes
// are those usable in the default location with the default image (else the first of each), and
// locations and images that cannot go with all of them are left out. Only candidates somebody
// named, and locations, are listed in left_out. Reads only.
base::result<std::vector<base::json>> order_options(
    const services& cloud, const settings& s, const arm::scope& call, const candidates& asked
);

} // namespace siteagent::azure
