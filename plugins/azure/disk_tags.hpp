// SPDX-License-Identifier: MIT
// Tags on the disk that comes with a machine.
#pragma once

#include "plugins/azure/services.hpp"

namespace siteagent::azure {

// Azure copies a machine's tags to the disk it makes for it, but promises nothing; where the
// operator asked for tags, what is missing is added and everything else on the disk stays. A disk
// that cannot be tagged is a warning: the machine works. Errors: the host says stop.
base::result<void> tag_disk(
    const services& cloud, const arm::scope& call, const base::json& machine, const base::json& tags
);

} // namespace siteagent::azure
