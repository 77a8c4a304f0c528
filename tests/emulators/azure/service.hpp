// SPDX-License-Identifier: MIT
// The Azure emulator behind the common frame.
#pragma once

#include "throttle.hpp"
#include "world.hpp"

#include "tests/emulators/common/emulator.hpp"

#include <optional>
#include <string>
#include <vector>

namespace siteagent::azure_emulator {

class service final : public emulators::backend {
public:
  service() = default;

  std::string name() const override { return "azure-emulator"; }

  std::vector<emulators::option> options() override;
  void attach_clock(const base::clock& clock) override;
  base::result<void> reset(bool at_start) override;
  base::result<void> seed(const base::json& document) override;
  base::json inventory(const emulators::call& call) override;
  void clock_advanced() override;
  std::vector<std::string> banner() const override;

  bool takes_operation_faults() const override { return true; }

  net::server_response
  handle(const net::server_request& request, const emulators::call& call) override;
  void finish(
      const net::server_request& request,
      const emulators::call& call,
      net::server_response& response
  ) override;

  // For tests.
  void set_timing(const timing& t);

  void enforce_throttling(bool on) { throttle_.set_enforced(on); }

private:
  // A request below a known subscription; `unreadable`: the refusal of a body that is no JSON.
  net::server_response
  answer_subscription(context& c, const std::optional<net::server_response>& unreadable);

  world world_;
  timing timing_ = timing::fast();
  throttle throttle_;
  const base::clock* clock_ = nullptr;
};

} // namespace siteagent::azure_emulator
