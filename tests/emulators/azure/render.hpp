// SPDX-License-Identifier: MIT
// Resources as a GET shows them.
#pragma once

#include "world.hpp"

#include "core/base/json.hpp"

#include <string>

namespace siteagent::azure_emulator {

// The whole body of a GET. Not const: looking up users goes through the world's maps.
base::json render(world& w, resource& r);
base::json render_group(const group& g);
// Name, id, type, location, tags and what else a generic list shows.
base::json render_generic(world& w, resource& r);

// The end of a create, where the platform fills in its part.
void show_address(world& w, resource& r);
void show_disk_details(resource& r, base::wall_time now);

// The instance view of a machine at this moment.
base::json instance_view(world& w, const resource& r, base::wall_time now);
// What ?statusOnly=true shows of a machine.
base::json render_status_only(world& w, resource& r, base::wall_time now);

} // namespace siteagent::azure_emulator
