// SPDX-License-Identifier: MIT
// Deallocating and starting: the power state is read first, nothing is written when it matches.
#pragma once

#include "plugins/azure/metadata.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure {

enum class power_goal : std::uint8_t { deallocated, running };

struct power_result {
  machine_facts facts;
  bool changed = false;
};

// `not_found` after two positive answers; `no_capacity` when Azure has no room to start it;
// `conflict` when the machine carries another resource's tag. `who` may have an empty tag.
base::result<power_result> bring_to(
    const services& cloud,
    const arm::scope& call,
    const resource_id& machine,
    const owner& who,
    power_goal goal
);

} // namespace siteagent::azure
