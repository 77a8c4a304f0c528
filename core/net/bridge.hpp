// SPDX-License-Identifier: MIT
// A connection through a proxy, offered to the HTTP library as a port on loopback: the library
// knows neither SOCKS5 nor TLS to a proxy, and tells nothing about why a proxy said no. Bytes are
// copied as they are, so that TLS with the destination stays end to end.
#pragma once

#include "core/net/proxy_link.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>

namespace siteagent::net {

// One bridge is one connection; it serves the first client and no second one. [any thread]
class bridge {
public:
  // Opens the way through the proxy first, so that its refusal is known before anybody sends.
  static std::variant<std::unique_ptr<bridge>, failure>
  open(const proxy_hop& hop, const time_limits& by, const std::function<bool()>& stop_requested);

  bridge(proxy_link link, int listener, std::uint16_t port, int wake);
  ~bridge(); // closes both sides
  bridge(const bridge&) = delete;
  bridge& operator=(const bridge&) = delete;

  // On 127.0.0.1.
  std::uint16_t port() const { return port_; }

  // Only a client that is bound to this port of 127.0.0.1 is let in: another process of the
  // machine could connect first. To be called before it connects.
  void admit(std::uint16_t client_port) { admitted_ = client_port; }

private:
  void run();
  std::unique_ptr<byte_stream> accept_client();
  void copy(byte_stream& client);
  void reset(const byte_stream& client) const;
  bool wait(const byte_stream* client);

  std::unique_ptr<byte_stream> listener_; // until the client is in
  byte_stream wake_;                      // readable: end
  proxy_link link_;
  std::string to_proxy_;
  const std::uint16_t port_;
  std::atomic<std::uint16_t> admitted_{0};
  std::thread worker_; // last: uses all of the above
};

} // namespace siteagent::net
