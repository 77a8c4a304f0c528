// SPDX-License-Identifier: MIT
// Registration of message queues, and answers that wait for the broker.
#pragma once

#include "api.hpp"
#include "broker.hpp"

#include <functional>

namespace siteagent::waldur_emulator {

// Waits without blocking until the ticket is settled; then `answer` makes the answer of it.
net::server_response
when_done(ticket_ptr job, std::function<net::server_response(const base::result<int>&)> answer);

// POST of an identity: the unified queue, or the older kind's subscription.
reply register_queue(context& c, const identity& i);
reply register_event_subscription(context& c);

// The broker's side of an identity or a subscription that goes.
void release_queue_of(context& c, const identity& i);

} // namespace siteagent::waldur_emulator
