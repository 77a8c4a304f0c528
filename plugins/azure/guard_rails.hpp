// SPDX-License-Identifier: MIT
// The operator's limits that need figures: the list price of a machine's hour, and how many
// machines the offering has. Both are read from lists that are kept for a while.
#pragma once

#include "plugins/azure/order.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/services.hpp"

#include <string>

namespace siteagent::azure {

// Of the body's tags, those that name its offering: what all its machines carry.
base::json offering_tags_of(const base::json& body);

struct rail_check {
  const services& cloud;
  const settings& s;
  const arm::scope& call;
  const machine_order& order;
  owner who;
  base::json offering_tags;
};

// Within max_hourly_price? `refused` when the size costs more or has no list price; `transient`
// when the list cannot be read: never yes by default.
base::result<void> check_price(const rail_check& r);

// Before approval: price, place of the operator's subnet, room below max_machines. Refusals reject;
// what cannot be read now, and room that running creates may free again, let the order wait. Errors
// are refused credentials and a host that says stop.
base::result<evaluation> evaluate_rails(const rail_check& r);

// A place below max_machines, held while a create runs. [one thread]
class held_slot {
public:
  held_slot() = default;

  held_slot(const services& cloud, std::string offering, std::string resource)
      : cloud_(&cloud), offering_(std::move(offering)), resource_(std::move(resource)) {}

  held_slot(held_slot&& other) noexcept;
  held_slot& operator=(held_slot&&) = delete;
  ~held_slot();

private:
  const services* cloud_ = nullptr;
  std::string offering_;
  std::string resource_;
};

// `transient` while the offering is full: the order goes on when a machine is gone.
base::result<held_slot> take_slot(const rail_check& r);

} // namespace siteagent::azure
