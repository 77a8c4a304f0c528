// SPDX-License-Identifier: MIT
// One order, its machine and the means to look at it again.
#pragma once

#include "world.hpp"

#include "core/agent/order_machine.hpp"

#include <gtest/gtest.h>

namespace siteagent::agent::test {

// Order n belongs to resource n + 1000.
class order_fixture : public ::testing::Test {
protected:
  static constexpr unsigned order = 1;
  static constexpr unsigned resource = 1001;

  order_fixture() {
    inputs.info = *w.offering->info(w.waldur);
    inputs.ssh_keys.emplace();
    restart();
  }

  // As a new process: nothing remembered.
  void restart() {
    machine = std::make_unique<order_machine>(*w.offering, w.waldur, w.cloud, w.env);
  }

  waldur::resource& given(const std::string& type, const std::string& state) {
    w.waldur.add_order(order, type, state);
    return w.waldur.add_resource(resource, type == "Create" ? "Creating" : "OK");
  }

  order_step look(unsigned n = order) {
    return machine->process(*w.waldur.get_order(uuid_of(n)), inputs);
  }

  unsigned called(host::operation op) { return static_cast<unsigned>(w.cloud->calls(op).size()); }

  std::string order_hex() const { return uuid_of(order).hex(); }

  std::string resource_hex() const { return uuid_of(resource).hex(); }

  world w;
  order_inputs inputs;
  std::unique_ptr<order_machine> machine;
};

} // namespace siteagent::agent::test
