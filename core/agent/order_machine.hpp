// SPDX-License-Identifier: MIT
// One order from Waldur's list to its end: approve, carry out, report (Waldur contract section 3).
// Killed anywhere, the next run starts at the beginning and ends in the same machine.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/order_book.hpp"
#include "core/agent/portal.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace siteagent::agent {

enum class order_step : std::uint8_t {
  finished, // nothing left to do for it
  waiting,  // stays as it is in Waldur; later orders of the same resource wait behind it
};

// Read once per pass, after the orders were listed: a key that an order names is older than it.
struct order_inputs {
  std::shared_ptr<const offering_info> info;
  // uuid hex -> public key; nullopt = could not be read, so an absent key proves nothing.
  std::optional<std::map<std::string, std::string>> ssh_keys;
};

class order_machine {
public:
  // References must outlive it.
  order_machine(
      offering_context& offering, portal& waldur, std::shared_ptr<backend> cloud, environment& env
  );

  // The caller holds the lock of the order's resource. Blocks for as long as the order takes.
  // [any thread]
  order_step process(const waldur::order& listed, const order_inputs& inputs);

  order_book& book() { return book_; }

  const order_book& book() const { return book_; }

private:
  offering_context& offering_;
  portal& waldur_;
  std::shared_ptr<backend> cloud_; // shared with the offering's other roles
  environment& env_;
  order_book book_;
};

} // namespace siteagent::agent
