// SPDX-License-Identifier: MIT
// The network of a location, which somebody else keeps: it is read and never written.
#pragma once

#include "plugins/azure/cloud_host/host_settings.hpp"
#include "plugins/azure/services.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure::cloud_host {

struct site_subnet {
  resource_id id;
  std::optional<resource_id> security_group; // the subnet's own, perhaps in another group

  // "vnet-eastus/builders", as the owner of a fleet knows it.
  std::string name() const;
};

resource_id subnet_id(const host_settings& s, std::string_view location);

// `permanent`, reason configuration, naming the subnet in full when it or its network is missing,
// or the network lies elsewhere.
base::result<site_subnet> read_subnet(
    const services& cloud, const arm::scope& call, const host_settings& s, std::string_view location
);

} // namespace siteagent::azure::cloud_host
