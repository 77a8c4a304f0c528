// SPDX-License-Identifier: MIT
// The Azure emulator behind the common frame.
#pragma once

#include "state.hpp"
#include "throttle.hpp"
#include "world.hpp"

#include "tests/emulators/common/emulator.hpp"

#include <optional>
#include <string>
#include <utility>
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
  std::optional<net::server_response>
  administrate(std::string_view name, const base::json& body, const emulators::call& call) override;
  void clock_advanced() override;

  bool has_loaded_state() const override { return has_loaded_state_; }

  std::chrono::seconds loaded_clock_offset() const override { return state_.clock_offset(); }

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

  net::server_response answer_tenant(context& c, const std::string& tenant);

  base::result<void> keep();
  void keep_or_complain();

  world world_;
  state_store state_;
  std::string state_directory_; // "" = nothing is kept
  bool has_loaded_state_ = false;
  std::pair<std::size_t, std::size_t> kept_marks_; // operations running and over at the last save
  timing timing_ = timing::fast();
  throttle throttle_;
  const base::clock* clock_ = nullptr;
};

} // namespace siteagent::azure_emulator
