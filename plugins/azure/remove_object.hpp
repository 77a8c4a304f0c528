// SPDX-License-Identifier: MIT
// Deleting one object, until a read proves it gone.
#pragma once

#include "plugins/azure/kinds.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure {

// Success: gone, also when it was gone before. Retries what clears up by itself (in use, reserved,
// busy, lost answers); `eager` false gives up at once when something still uses the object, because
// the user of it could not be deleted either.
base::result<void> remove_object(
    const services& cloud,
    const arm::scope& call,
    const kind& k,
    const resource_id& id,
    bool eager = true
);

// For types outside the table: deleted by the newest version the plugin knows for their provider.
kind kind_for(const resource_id& id);

} // namespace siteagent::azure
