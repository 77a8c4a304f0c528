// SPDX-License-Identifier: MIT
// What hosts are doing, and which there are.
#pragma once

#include "plugins/azure/cloud_host/objects.hpp"
#include "plugins/azure/services.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::cloud_host {

// Azure's word for what a machine is doing, out of its model with instance view.
std::string state_of_machine(const base::json& model);

// The answer of host_state. Another generation under the name is absent.
base::result<base::json> read_state(
    const services& cloud,
    const arm::scope& call,
    const host_objects& objects,
    const std::string& vm_id
);

// The answers of list_hosts, one per name. Only the resource group of the bindings is looked at:
// what is elsewhere belongs to another fleet.
base::result<std::vector<base::json>> list_hosts(
    const services& cloud, const arm::scope& call, const host_settings& s, const std::string& tag
);

// RFC 3339 with Z, or "" when Azure tells no time.
std::string creation_time(const base::json& machine);

} // namespace siteagent::azure::cloud_host
