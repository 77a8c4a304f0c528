// SPDX-License-Identifier: MIT
#include "plugins/azure/own_network.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

constexpr auto an_hour = std::chrono::hours(1);

resource_id network_of(const resource_id& subnet) {
  resource_id network = subnet;
  network.parts.resize(1);
  return network;
}

base::error operator_must_act(const resource_id& subnet, const std::string& why) {
  return make_error(
      reason::configuration,
      base::error_code::not_ready,
      "backend_settings.subnet_id " + subnet.text() + ": " + why,
      "The provider's network is not available at the moment."
  );
}

} // namespace

bool is_made(kind_id which, const settings& s) {
  switch (which) {
  case kind_id::virtual_network:
  case kind_id::subnet:
    return !s.subnet.has_value();
  case kind_id::public_ip_address:
    return s.public_ip;
  case kind_id::network_security_group:
    return !s.allowed_ssh_ranges.empty();
  case kind_id::disk:
    return false;
  default:
    return true;
  }
}

bool is_own_network(const settings& s, const resource_id& id) {
  return s.subnet &&
         (same_id(id.text(), s.subnet->text()) || same_id(id.text(), network_of(*s.subnet).text()));
}

resource_id subnet_of(const settings& s, const resource_id& machine) {
  return s.subnet ? *s.subnet : companion(machine, kind_id::subnet);
}

base::result<void> check_own_subnet(
    const services& cloud, const arm::scope& call, const settings& s, const machine_order& order
) {
  if (!s.subnet) {
    return {};
  }
  const resource_id& subnet = *s.subnet;
  const resource_id network = network_of(subnet);
  const auto read = [&]() -> base::result<network_facts> {
    auto found = cloud.network().network(call, network);
    if (!found) {
      return found.error();
    }
    if (!*found) {
      return operator_must_act(subnet, "its network does not exist; correct the setting");
    }
    return std::move(**found);
  };
  const auto known =
      cloud.facts().networks.get(call, cloud.clock(), id_key(network.text()), an_hour, read);
  if (!known) {
    if (reason_of(known.error()) == reason::permission) {
      cloud.warn(
          "cannot check subnet_id before creating: " + known.error().message +
          "; creating needs Microsoft.Network/virtualNetworks/subnets/join/action on the subnet"
      );
      return {};
    }
    return known.error();
  }
  const network_facts& facts = **known;
  const bool exists =
      std::any_of(facts.subnets.begin(), facts.subnets.end(), [&](const std::string& name) {
        return base::equals_ignoring_case(name, subnet.name());
      });
  if (!exists) {
    cloud.facts().networks.forget(id_key(network.text()));
    return operator_must_act(subnet, "the network has no subnet of that name; correct the setting");
  }
  if (facts.location != order.location) {
    return make_error(
        reason::invalid,
        base::error_code::refused,
        "order for location " + order.location + ", but subnet_id " + subnet.text() + " lies in " +
            facts.location + "; set allowed_locations to " + facts.location,
        "Machines of this offering are made in " + facts.location + ", not in " + order.location +
            "; choose that location."
    );
  }
  return {};
}

} // namespace siteagent::azure
