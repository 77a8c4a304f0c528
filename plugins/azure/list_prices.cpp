// SPDX-License-Identifier: MIT
#include "plugins/azure/list_prices.hpp"

namespace siteagent::azure {

namespace {

constexpr arm::milliseconds a_day = std::chrono::hours(24);

template <class Fetch>
base::result<known_prices> kept(
    const services& cloud,
    const arm::scope& call,
    const std::string& what,
    const std::string& location,
    Fetch&& fetch
) {
  const std::string key =
      cloud.prices().origin() + " " + cloud.prices().currency() + " " + what + " " + location;
  return cloud.facts().prices.get(call, cloud.clock(), key, a_day, fetch);
}

} // namespace

base::result<known_prices>
machine_hours(const services& cloud, const arm::scope& call, const std::string& location) {
  return kept(cloud, call, "machines", location, [&] {
    return cloud.prices().machines(call, location);
  });
}

base::result<known_prices> disk_months(
    const services& cloud,
    const arm::scope& call,
    const std::string& location,
    const std::string& product
) {
  return kept(cloud, call, product, location, [&] {
    return cloud.prices().disks(call, location, product);
  });
}

base::result<known_prices>
address_hours(const services& cloud, const arm::scope& call, const std::string& location) {
  return kept(cloud, call, "addresses", location, [&] {
    return cloud.prices().addresses(call, location);
  });
}

} // namespace siteagent::azure
