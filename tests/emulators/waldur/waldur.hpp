// SPDX-License-Identifier: MIT
// The emulated Waldur as a backend of the common frame.
#pragma once

#include "model.hpp"
#include "tests/emulators/common/emulator.hpp"

#include <string>
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
  std::vector<std::string> banner() const override;
  net::server_response
  handle(const net::server_request& request, const emulators::call& c) override;

private:
  const base::clock* clock_ = &base::real_clock();
  store store_;
};

} // namespace siteagent::waldur_emulator
