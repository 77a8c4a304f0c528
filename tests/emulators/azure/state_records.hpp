// SPDX-License-Identifier: MIT
// The parts of the world as JSON records and back. Every member of the structures is named here:
// one that is added to them and not here does not compile.
#pragma once

#include "world.hpp"

#include "core/base/json.hpp"

namespace siteagent::azure_emulator {

base::json record_of(const group& g);
base::json record_of(const resource& r);
base::json record_of(const operation& op);
base::json record_of(const lock_entry& l);
base::json record_of(const deployment& d);
base::json record_of(const lingering_use& l);

group group_from(const base::json& record);
resource resource_from(const base::json& record);
operation operation_from(const base::json& record);
lock_entry lock_from(const base::json& record);
deployment deployment_from(const base::json& record);
lingering_use lingering_from(const base::json& record);

base::json time_record(base::wall_time t); // ticks of the clock since 1970
base::wall_time time_from(const base::json& record);

} // namespace siteagent::azure_emulator
