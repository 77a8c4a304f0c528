// SPDX-License-Identifier: MIT
// Making a host, all or nothing: existence reads, address, group, interface, machine; what was made
// is removed again in reverse order when one of them fails.
#pragma once

#include "plugins/azure/cloud_host/host_bodies.hpp"
#include "plugins/azure/cloud_host/remove_host.hpp"
#include "plugins/azure/order.hpp"
#include "plugins/azure/services.hpp"

#include <string>
#include <vector>

namespace siteagent::azure::cloud_host {

struct host_creation {
  const services& cloud;
  const host_settings& s;
  const arm::scope& call;
  host_plan plan;
  std::string host_tag; // the name of the tag whose value is the host's name
};

// `invalid` for what is wrong with the request itself. A dry run may leave key and group out.
base::result<host_plan> read_plan(const base::json& body, const host_settings& s, bool dry_run);

// The same as an order of one machine, for the checks that both have in common.
machine_order order_of(const host_plan& p);

// The kinds and ids of this host that are there already; empty: the name is free.
base::result<std::vector<removal_target>>
find_existing(const services& cloud, const arm::scope& call, const host_plan& p);

// The answer of create_host.
base::result<base::json> create_host(const host_creation& c);

} // namespace siteagent::azure::cloud_host
