// SPDX-License-Identifier: MIT
// The server's end of a WebSocket with STOMP on it, for scripts of hostile_server: decent unless
// told otherwise.
#pragma once

#include "core/net/stomp_frame.hpp"
#include "tests/unit/net/hostile_server.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::net::test {

class web_socket_peer {
public:
  enum class kind : std::uint8_t { more = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

  struct message {
    web_socket_peer::kind kind = kind::text;
    std::string payload;
  };

  explicit web_socket_peer(connection& link) : link_(link) {}

  // Reads the handshake and answers 101; the request's head, "" when the client left.
  std::string accept();
  // accept(), CONNECT, and CONNECTED with these heart-beats; the CONNECT frame.
  stomp_frame welcome(std::string_view heart_beat = "0,0");

  // One WebSocket frame. False when the client left.
  bool send(std::string_view payload, web_socket_peer::kind k = kind::text, bool is_last = true);
  // One message in several frames.
  bool send_fragments(std::initializer_list<std::string_view> parts);
  bool send(const stomp_frame& frame);
  bool send_message(std::string_view body, std::string_view ack = "");
  bool send_close(std::uint16_t code, std::string_view reason);

  // The next message of the client, control frames too; nullopt when it left.
  std::optional<message> read();
  // The next STOMP frame, heart-beats and control frames skipped; an empty command when it left.
  stomp_frame read_frame();

private:
  bool fill(std::size_t size);

  connection& link_;
  std::string bytes_;
  stomp_parser parser_;
};

} // namespace siteagent::net::test
