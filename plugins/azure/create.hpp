// SPDX-License-Identifier: MIT
// From an order to a running machine: adopt what is tagged for it, else walk the table of kinds.
#pragma once

#include "plugins/azure/metadata.hpp"
#include "plugins/azure/order.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure {

struct creation {
  const services& cloud;
  const settings& s;
  const arm::scope& call;
  const machine_order& order;
  owner who;
  base::json tags; // what the host wants on every object
  bool dry_run = false;
  base::json offering_tags = {}; // what all machines of the offering carry
};

struct created {
  machine_facts facts;
  bool adopted = false;
};

// Leaves tagged objects behind on failure; the host cleans up by tag. A dry run stops before the
// first write with an empty model.
base::result<created> create_machine(const creation& c);

// Why a machine reads Failed, from its instance view.
base::error
failure_of_machine(const services& cloud, const arm::scope& call, const resource_id& id);

} // namespace siteagent::azure
