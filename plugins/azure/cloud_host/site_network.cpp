// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/site_network.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"

namespace siteagent::azure::cloud_host {

namespace {

base::error unusable(const site_subnet& subnet, const std::string& why) {
  return make_error(
      reason::configuration,
      base::error_code::permanent,
      "the subnet " + subnet.name() + " in group " + subnet.id.group + " " + why +
          "; no network is made for cloud hosts: make it, or correct azure.vnet, azure.subnet and "
          "azure.resource_group"
  );
}

} // namespace

std::string site_subnet::name() const {
  return id.parts.front().second + "/" + id.name();
}

resource_id subnet_id(const host_settings& s, std::string_view location) {
  return resource_id::of_group(s.azure.subscription_id, s.group)
      .in_same_group(kind_of(kind_id::virtual_network).type, s.network_in(location))
      .child("subnets", s.subnet);
}

base::result<site_subnet> read_subnet(
    const services& cloud, const arm::scope& call, const host_settings& s, std::string_view location
) {
  site_subnet out{subnet_id(s, location), std::nullopt};
  resource_id network = out.id;
  network.parts.resize(1);
  const kind& k = kind_of(kind_id::virtual_network);
  const auto seen =
      arm::read_if_present(cloud.arm(), call, url_of(network, k), describe("read", k, network));
  if (!seen) {
    return seen.error();
  }
  if (!*seen) {
    return unusable(out, "does not exist: there is no network " + network.name());
  }
  const std::string where = normal_location((**seen)["location"].string_or(""));
  if (where != location) {
    return unusable(out, "lies in " + where + ", not in " + std::string(location));
  }
  for (const base::json& subnet : (**seen).at({"properties", "subnets"}).items()) {
    if (base::equals_ignoring_case(subnet["name"].string_or(""), out.id.name())) {
      out.security_group =
          resource_id::parse(subnet.at({"properties", "networkSecurityGroup", "id"}).string_or(""));
      return out;
    }
  }
  return unusable(out, "does not exist: the network has no subnet of that name");
}

} // namespace siteagent::azure::cloud_host
