// SPDX-License-Identifier: MIT
// The machine's clocks plus an offset that only grows until it is set back to zero.
#pragma once

#include "core/base/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace siteagent::emulators {

class shifted_clock final : public base::clock {
public:
  base::steady_time steady() const override { return base::real_clock().steady() + offset(); }

  base::wall_time wall() const override { return base::real_clock().wall() + offset(); }

  void advance(std::chrono::seconds by) { seconds_ += by.count(); }

  void set_back() { seconds_ = 0; }

private:
  std::chrono::seconds offset() const { return std::chrono::seconds(seconds_.load()); }

  std::atomic<std::int64_t> seconds_{0};
};

} // namespace siteagent::emulators
