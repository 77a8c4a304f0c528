// SPDX-License-Identifier: MIT
#include "core/host/gate.hpp"

namespace siteagent::host {

gate::pass& gate::pass::operator=(pass&& other) noexcept {
  if (this != &other) {
    if (gate_ != nullptr) {
      gate_->leave();
    }
    gate_ = other.gate_;
    other.gate_ = nullptr;
  }
  return *this;
}

gate::pass::~pass() {
  if (gate_ != nullptr) {
    gate_->leave();
  }
}

base::result<gate::pass> gate::enter(base::steady_time deadline, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, stop, deadline, [this] { return !taken_; })) {
    taken_ = true;
    return pass(this);
  }
  if (stop.stop_requested()) {
    return base::error{
        .code = base::error_code::cancelled, .message = "stopped while waiting for another call"};
  }
  return base::error{
      .code = base::error_code::transient,
      .message = "another call into the plugin was still running at the deadline"};
}

gate::pass gate::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !taken_; });
  taken_ = true;
  return pass(this);
}

void gate::leave() {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }
  changed_.notify_one();
}

} // namespace siteagent::host
