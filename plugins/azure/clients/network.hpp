// SPDX-License-Identifier: MIT
// Microsoft.Network: addresses and interfaces, as far as they are read.
#pragma once

#include "plugins/azure/arm/pipeline.hpp"
#include "plugins/azure/clients/compute.hpp"
#include "plugins/azure/resource_id.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

// A network somebody else keeps.
struct network_facts {
  std::string location; // normalised
  std::vector<std::string> subnets;
};

// [any thread]
class network_client {
public:
  network_client(const arm::pipeline& arm, std::string subscription)
      : arm_(arm), subscription_(std::move(subscription)) {}

  // Every one of the subscription, page by page.
  base::result<void> each_interface(const arm::scope& call, const arm::taker& take) const;
  base::result<void> each_address(const arm::scope& call, const arm::taker& take) const;
  // nullopt: positively absent.
  base::result<std::optional<network_facts>>
  network(const arm::scope& call, const resource_id& id) const;
  base::result<quota_by_name> quota(const arm::scope& call, std::string_view location) const;

private:
  std::string path(std::string_view rest) const;

  const arm::pipeline& arm_;
  std::string subscription_;
};

// "10.0.0.4" of an interface, "20.1.2.3" of an address; "" when it has none yet.
std::string private_address(const base::json& interface);
std::string public_address(const base::json& address);

} // namespace siteagent::azure
