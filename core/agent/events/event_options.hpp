// SPDX-License-Identifier: MIT
// What the event mode of an offering is given from outside.
#pragma once

#include "core/net/stomp.hpp"
#include "core/waldur/types.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace siteagent::agent {

// One attempt to connect, as net::stomp_session::connect; tests put a scripted session here.
using session_opener = std::function<base::result<std::unique_ptr<net::stomp_session>>(
    const waldur::event_queue& queue,
    net::stomp_message_handler on_message,
    net::stomp_end_handler on_end
)>;

struct event_timers {
  // 0 = off. WALDUR_SITE_AGENT_RESOURCE_STATUS_RECONCILIATION_MINUTES
  std::chrono::milliseconds status{std::chrono::minutes(60)};
  std::chrono::milliseconds users{std::chrono::minutes(60)};
  std::chrono::milliseconds ping{std::chrono::minutes(30)};
  // WALDUR_SITE_AGENT_STOMP_UNHEALTHY_AFTER_MINUTES
  std::chrono::milliseconds unhealthy_after{std::chrono::minutes(15)};
  // WALDUR_SITE_AGENT_STOMP_HANDLER_STUCK_AFTER_MINUTES
  std::chrono::milliseconds stuck_after{std::chrono::minutes(30)};
};

} // namespace siteagent::agent
