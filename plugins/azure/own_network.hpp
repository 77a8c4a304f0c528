// SPDX-License-Identifier: MIT
// Sites with networks of their own: an existing subnet, machines without a public address. What is
// made then, where machines may be, and what is never touched.
#pragma once

#include "plugins/azure/kinds.hpp"
#include "plugins/azure/order.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure {

// Does a create make objects of this kind by itself? No network beside an existing subnet, no
// address when none is wanted, no security group without ranges, and disks come with their machine.
bool is_made(kind_id which, const settings& s);

// The operator's own subnet, or the network it lies in: never ours to delete.
bool is_own_network(const settings& s, const resource_id& id);

// Where the machine's interface goes: the operator's subnet, else the machine's own.
resource_id subnet_of(const settings& s, const resource_id& machine);

// Does the operator's subnet exist, and does it lie in the order's location? Nothing to ask without
// one. `refused`: another location, with a public text. `not_ready`: the subnet is missing or
// cannot be read now, the operator must act. A network the credentials may not read is left for
// Azure to judge. The network is read once an hour.
base::result<void> check_own_subnet(
    const services& cloud, const arm::scope& call, const settings& s, const machine_order& order
);

} // namespace siteagent::azure
