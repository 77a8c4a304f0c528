// SPDX-License-Identifier: MIT
// How long each wait of the cloud host commands may take: cloud_host.limits.* of the profile.
#pragma once

#include "core/base/result.hpp"
#include "core/fleet/profile.hpp"

#include <chrono>

namespace siteagent::fleet {

// Whole seconds, 1 to 86400, in the profile; poll_ms and probe_ms in milliseconds.
struct host_limits {
  std::chrono::milliseconds ssh_up{900'000};
  std::chrono::milliseconds probe{5'000}; // probe_ms
  std::chrono::milliseconds boot{2'700'000};
  std::chrono::milliseconds channel_read{60'000};
  std::chrono::milliseconds egress{30'000};
  std::chrono::milliseconds operation{1'200'000};
  std::chrono::milliseconds rollback_retry{240'000};
  std::chrono::milliseconds poll{5'000}; // poll_ms
  std::chrono::milliseconds reap_pass{1'200'000};
  std::chrono::seconds marker_stale{1'800};
  std::chrono::milliseconds lock_wait{1'800'000};
};

// `invalid` naming the key and its range.
base::result<host_limits> limits_of(const profile& p);
// The same of the section itself (null: none); also for a key that is no limit.
base::result<host_limits> limits_of(const base::json& section);

} // namespace siteagent::fleet
