// SPDX-License-Identifier: MIT
// What happens between the steps of a long cloud operation: liveness, the audit trail, and a
// look whether the order still wants it.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/host/instance.hpp"
#include "core/observe/log.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

namespace siteagent::agent {

// Watches the state of an order during an operation. [any thread]
class order_watch {
public:
  // `known_state` was read just now.
  order_watch(portal& waldur, const base::clock& clock, base::uuid order, std::string known_state);

  // Reads again when the last look is 5 s old. An unreadable state changes nothing: unknown is not
  // gone. false = the order is no longer executing.
  bool still_wanted();
  bool gone() const;
  std::string state() const;

private:
  portal& waldur_;
  const base::clock& clock_;
  const base::uuid order_;
  mutable std::mutex mutex_;
  std::string state_;
  base::steady_time looked_;
};

// A plugin told that its call waits because the cloud limits calls.
struct throttled_wait {
  std::string which; // for people, "write calls to ..."; "": not told
  std::chrono::milliseconds time;
};

std::optional<throttled_wait> throttled_wait_of(const base::json& checkpoint);

// The checkpoint of one call. `watch` may be null: then only the process's stop ends it. All
// references must outlive the call; `log` carries offering, order, resource.
host::checkpoint_function make_checkpoint(
    const environment& env,
    offering_context& offering,
    progress_board::activity& activity,
    order_watch* watch,
    observe::logger log,
    std::string trace_id
);

} // namespace siteagent::agent
