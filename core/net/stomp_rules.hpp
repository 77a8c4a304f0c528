// SPDX-License-Identifier: MIT
// What a consumer says to a STOMP broker and how it reads the answers. Pure functions.
#pragma once

#include "core/net/stomp.hpp"
#include "core/net/stomp_frame.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace siteagent::net {

// Negotiated with CONNECTED; 0 = none.
struct stomp_beats {
  std::chrono::milliseconds send{0};   // something at least this often from us
  std::chrono::milliseconds expect{0}; // and from the broker

  friend bool operator==(const stomp_beats&, const stomp_beats&) = default;
};

// `invalid`: a host, path or user agent that would not fit into the request they go into.
base::result<void> check_options(const stomp_options& options);

inline constexpr std::string_view subscribe_receipt = "subscribe";
inline constexpr std::string_view disconnect_receipt = "disconnect";

stomp_frame connect_frame(const stomp_options& options);
stomp_frame subscribe_frame(const std::string& queue, unsigned prefetch); // asks for a receipt
stomp_frame acknowledge_frame(const stomp_message& message);
stomp_frame disconnect_frame(); // asks for a receipt

// The broker's answer to CONNECT. Errors: see stomp_end_handler.
base::result<stomp_beats> read_answer(const stomp_frame& answer, std::chrono::milliseconds wish);

stomp_message to_message(stomp_frame frame);

// An ERROR frame within a session, as RabbitMQ words its `message` header.
base::error to_error(const stomp_frame& frame);

// An HTTP answer that is no switch to WebSocket: a broker or proxy that is down or busy is
// transient, anything else a wrong address.
base::error upgrade_refused(int http_status);

} // namespace siteagent::net
