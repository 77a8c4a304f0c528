// SPDX-License-Identifier: MIT
#include "tests/unit/net/web_socket_peer.hpp"

#include "core/base/text.hpp"

#include <openssl/sha.h>

#include <array>

namespace siteagent::net::test {

namespace {

std::string accept_key(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base::base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

} // namespace

std::string web_socket_peer::accept() {
  std::string request = link_.read_request();
  if (!request.empty()) {
    link_.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Protocol: v12.stomp\r\nSec-WebSocket-Accept: " +
        accept_key(header_of(request, "sec-websocket-key")) + "\r\n\r\n"
    );
  }
  return request;
}

stomp_frame web_socket_peer::welcome(std::string_view heart_beat) {
  accept();
  stomp_frame greeting = read_frame();
  send(
      {.command = "CONNECTED",
       .headers = {{"version", "1.2"}, {"heart-beat", std::string(heart_beat)}}}
  );
  return greeting;
}

bool web_socket_peer::send(std::string_view payload, web_socket_peer::kind k, bool is_last) {
  std::string bytes(1, static_cast<char>((is_last ? 0x80 : 0) | static_cast<int>(k)));
  const std::size_t size = payload.size();
  const int count = size < 126 ? 0 : size < 65'536 ? 2 : 8;
  bytes += static_cast<char>(count == 0 ? size : count == 2 ? 126 : 127);
  for (int i = count - 1; i >= 0; --i) {
    bytes += static_cast<char>(size >> (8 * i) & 0xff);
  }
  return link_.write(bytes + std::string(payload));
}

bool web_socket_peer::send_fragments(std::initializer_list<std::string_view> parts) {
  std::size_t number = 0;
  bool is_there = true;
  for (const std::string_view part : parts) {
    is_there = send(part, number == 0 ? kind::text : kind::more, number + 1 == parts.size());
    ++number;
  }
  return is_there;
}

bool web_socket_peer::send(const stomp_frame& frame) {
  return send(*to_bytes(frame));
}

bool web_socket_peer::send_message(std::string_view body, std::string_view ack) {
  return send(
      {.command = "MESSAGE", .headers = {{"ack", std::string(ack)}}, .body = std::string(body)}
  );
}

bool web_socket_peer::send_close(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8U), static_cast<char>(code & 0xffU)};
  return send(payload + std::string(reason), kind::close);
}

bool web_socket_peer::fill(std::size_t size) {
  while (bytes_.size() < size) {
    const std::string more = link_.read();
    if (more.empty()) {
      return false;
    }
    bytes_ += more;
  }
  return true;
}

std::optional<web_socket_peer::message> web_socket_peer::read() {
  const auto at = [this](std::size_t i) { return static_cast<unsigned char>(bytes_[i]); };
  if (!fill(2)) {
    return std::nullopt;
  }
  std::size_t size = at(1) & 0x7fU;
  const std::size_t count = size == 126 ? 2 : size == 127 ? 8 : 0;
  const std::size_t head = 2 + count + 4; // clients always mask
  if (!fill(head)) {
    return std::nullopt;
  }
  if (count > 0) {
    size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      size = size << 8U | at(2 + i);
    }
  }
  if (!fill(head + size)) {
    return std::nullopt;
  }
  message out{static_cast<web_socket_peer::kind>(at(0) & 0x0fU), ""};
  for (std::size_t i = 0; i < size; ++i) {
    out.payload += static_cast<char>(at(head + i) ^ at(head - 4 + i % 4));
  }
  bytes_.erase(0, head + size);
  return out;
}

stomp_frame web_socket_peer::read_frame() {
  for (;;) {
    auto frame = parser_.next();
    if (!frame) {
      return {};
    }
    if (*frame) {
      return std::move(**frame);
    }
    const auto next = read();
    if (!next || next->kind == kind::close) {
      return {};
    }
    if (next->kind <= kind::binary) {
      parser_.append(next->payload);
    }
  }
}

} // namespace siteagent::net::test
