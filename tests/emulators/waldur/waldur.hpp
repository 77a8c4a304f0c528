// SPDX-License-Identifier: MIT
// The emulated Waldur as a backend of the common frame.
#pragma once

#include "broker.hpp"
#include "model.hpp"
#include "tests/emulators/common/emulator.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur_emulator {

class waldur final : public emulators::backend {
public:
  std::string name() const override { return "waldur-emulator"; }

  std::vector<emulators::option> options() override;

  void attach_clock(const base::clock& clock) override { clock_ = &clock; }

  base::result<void> reset(bool at_start) override;
  base::result<void> seed(const json& document) override;
  json inventory(const emulators::call& c) override;
  void clock_advanced() override;
  std::optional<net::server_response>
  administrate(std::string_view name, const json& body, const emulators::call& c) override;
  std::vector<std::string> banner() const override;
  net::server_response
  handle(const net::server_request& request, const emulators::call& c) override;

  // For tests: messages are offered again to a dead broker for as long as this says.
  void set_broker_options(broker_options options) { broker_options_ = options; }

private:
  void deliver();
  void forget_queues();

  const base::clock* clock_ = &base::real_clock();
  store store_;
  std::optional<broker_address> broker_address_;
  broker_options broker_options_;
  std::unique_ptr<broker> broker_; // nullptr: a server without one
};

} // namespace siteagent::waldur_emulator
