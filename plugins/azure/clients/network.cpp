// SPDX-License-Identifier: MIT
#include "plugins/azure/clients/network.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"

namespace siteagent::azure {

namespace {

constexpr std::string_view network_version = "?api-version=2024-05-01";

// Network quota comes as floating point ("10.0").
std::int64_t whole(const base::json& number, std::int64_t fallback) {
  const auto value = base::decimal::parse(number.number_text().value_or(""));
  return value ? value->to_int64().value_or(fallback) : fallback;
}

} // namespace

std::string network_client::path(std::string_view rest) const {
  return "/subscriptions/" + net::encode(subscription_) + "/providers/Microsoft.Network/" +
         std::string(rest) + std::string(network_version);
}

base::result<void>
network_client::each_interface(const arm::scope& call, const arm::taker& take) const {
  return arm::read_each(arm_, call, path("networkInterfaces"), "list network interfaces", take);
}

base::result<void>
network_client::each_address(const arm::scope& call, const arm::taker& take) const {
  return arm::read_each(arm_, call, path("publicIPAddresses"), "list public addresses", take);
}

base::result<std::optional<network_facts>>
network_client::network(const arm::scope& call, const resource_id& id) const {
  const kind& k = kind_of(kind_id::virtual_network);
  const auto seen = arm::read_if_present(arm_, call, url_of(id, k), describe("read", k, id));
  if (!seen) {
    return seen.error();
  }
  if (!*seen) {
    return std::optional<network_facts>();
  }
  network_facts out;
  out.location = normal_location((**seen)["location"].string_or(""));
  for (const base::json& subnet : (**seen).at({"properties", "subnets"}).items()) {
    out.subnets.push_back(subnet["name"].string_or(""));
  }
  return std::optional(std::move(out));
}

base::result<quota_by_name>
network_client::quota(const arm::scope& call, std::string_view location) const {
  auto all = arm::read_all(
      arm_,
      call,
      path("locations/" + net::encode(location) + "/usages"),
      "read the network quota of " + std::string(location)
  );
  if (!all) {
    return all.error();
  }
  quota_by_name out;
  for (const base::json& u : *all) {
    out.emplace(
        base::to_lower(u.at({"name", "value"}).string_or("")),
        quota_line{whole(u["currentValue"], 0), whole(u["limit"], -1)}
    );
  }
  return out;
}

std::string private_address(const base::json& interface) {
  return interface.at({"properties", "ipConfigurations"})[0]
      .at({"properties", "privateIPAddress"})
      .string_or("");
}

std::string public_address(const base::json& address) {
  return address.at({"properties", "ipAddress"}).string_or("");
}

} // namespace siteagent::azure
