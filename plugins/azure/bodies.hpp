// SPDX-License-Identifier: MIT
// The bodies of the creating writes. Pure.
#pragma once

#include "core/base/json.hpp"
#include "core/base/secret.hpp"
#include "plugins/azure/clients/compute.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/order.hpp"
#include "plugins/azure/settings.hpp"

namespace siteagent::azure {

struct machine_plan {
  const settings& s;
  const machine_order& order;
  const image_info& image; // resolved
  resource_id machine;     // where, and what it is called
  base::json tags;         // written on everything taggable
};

base::json body_of(kind_id which, const machine_plan& p, const base::secret& password);

} // namespace siteagent::azure
