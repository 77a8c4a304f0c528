// SPDX-License-Identifier: MIT
// A connection to a proxy, opened for one destination: the socket, TLS to the proxy itself, and the
// tunnel that was asked for.
#pragma once

#include "core/base/clock.hpp"
#include "core/net/failure.hpp"
#include "core/net/proxy.hpp"

#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace siteagent::net {

struct time_limits {
  base::steady_time deadline;
  base::steady_time connect_by; // at most the deadline
};

struct proxy_hop {
  net::proxy via;
  std::string address; // the proxy's own, never a name
  std::string host;    // the destination as the proxy is asked for it
  std::uint16_t port = 0;
  bool is_tunnel = true; // false: plain http in absolute form, nothing is asked for
};

// A socket that does not block, with or without TLS on it. [one thread at a time]
class byte_stream {
public:
  enum class outcome : std::uint8_t { moved, blocked, ended, broken };

  explicit byte_stream(int socket); // owned from here on
  ~byte_stream();
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;

  int socket() const { return socket_; }

  // Appends what is there, at most 16 KiB.
  outcome read(std::string& to);
  // Removes what was taken from the front of `from`.
  outcome write(std::string& from);

  // What poll() has to wait for after `blocked`.
  short read_events() const { return read_events_; }

  short write_events() const { return write_events_; }

  // The owner's next close is a reset, not an end.
  void reset_on_close() const;

  // Takes `tls`, made for this socket; from here on bytes go through it.
  void set_tls(SSL* tls) { tls_ = tls; }

  SSL* tls() const { return tls_; }

private:
  outcome tls_outcome(int result, short& events);

  int socket_;
  SSL* tls_ = nullptr;
  short read_events_;
  short write_events_;
};

struct proxy_link {
  std::unique_ptr<byte_stream> stream;
  std::string early_bytes; // of the destination, received already
};

// Blocks until the tunnel is open, at most until `by`; polls `stop_requested` (may be empty) about
// every 50 ms. In every failure nothing has reached the destination, and its text says what the
// proxy did. [any thread]
std::variant<proxy_link, failure> open_proxy_link(
    const proxy_hop& hop, const time_limits& by, const std::function<bool()>& stop_requested
);

} // namespace siteagent::net
