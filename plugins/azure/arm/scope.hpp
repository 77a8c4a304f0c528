// SPDX-License-Identifier: MIT
// One running call of the host as the ARM layer sees it: time left, cancellable waits, checkpoints.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <sagent/cpp/plugin.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

using milliseconds = std::chrono::milliseconds;

// Reads that can wait leave what is left of Azure's call budget to the others.
enum class urgency : std::uint8_t { now, can_wait };

class scope {
public:
  // `call` must outlive this. `trace_id`: 32 hex digits or anything; sent to Azure as the
  // correlation id so that the activity log names the order.
  scope(const sagent::call& call, std::string_view trace_id, urgency u = urgency::now);

  milliseconds remaining() const;
  // An error (reason stopped) once the deadline passed or the host cancelled.
  base::result<void> check() const;
  // Sleeps; the same error when the host ends it early.
  base::result<void> wait(milliseconds time) const;
  // Tells the host; a non-zero answer becomes an error of that code, reason stopped.
  base::result<void> checkpoint(const base::json& what) const;

  bool should_stop() const { return call_.should_stop(); }

  const std::string& correlation_id() const { return correlation_id_; }

  bool can_wait() const { return urgency_ == urgency::can_wait; }

  // Where the call's objects are, as far as known: Azure counts calls by region. "" = not known.
  void set_region(std::string_view region) { region_ = region; }

  const std::string& region() const { return region_; }

private:
  const sagent::call& call_;
  std::string correlation_id_;
  urgency urgency_;
  std::string region_;
};

bool is_stop(const base::error& e);

} // namespace siteagent::azure::arm
