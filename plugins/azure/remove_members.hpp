// SPDX-License-Identifier: MIT
// Does a member of a group go with a machine? Pure.
#pragma once

#include "core/base/json.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/resource_id.hpp"

#include <optional>

namespace siteagent::azure {

// The machine, its extensions, its disks, and what its companions are called; never what carries
// another resource's tag. `model`: the machine, when it is still there.
bool goes_with_machine(
    const base::json& member,
    const resource_id& machine,
    const std::optional<base::json>& model,
    const owner& who
);

// The OS disk's id out of a machine's model; nullopt: none known.
std::optional<resource_id> os_disk_of(const base::json& model);

} // namespace siteagent::azure
