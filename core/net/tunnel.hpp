// SPDX-License-Identifier: MIT
// Asking a proxy for a connection to somebody else: HTTP CONNECT and SOCKS5 as bytes out and bytes
// in. No I/O here: the caller owns the connection to the proxy, and for proxy::kind::https the TLS
// on it.
#pragma once

#include "core/base/result.hpp"
#include "core/net/proxy.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace siteagent::net {

// One negotiation. The caller's loop:
//
//   auto ask = tunnel_handshake::start(*via, host, port);
//   for (;;) {
//     send everything of ask->take_output();
//     auto open = ask->receive(what one read gave);   // an error ends it, nothing was forwarded
//     if (!open) return open.error();
//     if (*open) break;                               // TLS or HTTP with the destination begins
//   }
//
// take_output() first, then receive(), until it says true. End of file before that is
// tunnel_handshake::closed_early(). [one thread at a time]
class tunnel_handshake {
public:
  // `host`: name or address of the destination, IPv6 without brackets. For kind socks5 it must be
  // an address (the caller resolves names; see wants_address()); the other kinds take both.
  // `user_agent` is sent with CONNECT unless empty. `invalid`: a host that cannot be written in a
  // request (empty, above 255 bytes, blanks or control characters; a name for socks5).
  static base::result<tunnel_handshake> start(
      const proxy& via, std::string_view host, std::uint16_t port, std::string_view user_agent = {}
  );

  // Whether start() needs an address, not a name.
  static bool wants_address(const proxy& via) { return via.kind == proxy::kind::socks5; }

  // What is to be sent now; "" when it is the proxy's turn. Each byte is given once.
  std::string take_output();

  // Any number of bytes that the proxy sent. True: the tunnel is open. Not to be called again
  // after true or an error. Errors; in each nothing reached the destination, and the message says
  // what the proxy did, without naming proxy or destination (the caller's context does):
  //   auth       a user name and password are missing or were refused (HTTP 407, SOCKS5 login)
  //   transient  everything else: the proxy does not allow the destination, cannot reach it, or
  //              speaks something else
  base::result<bool> receive(std::string_view bytes);

  // Bytes behind the proxy's answer: the first of the destination's. Mostly "", as in our
  // protocols the client speaks first.
  const std::string& early_bytes() const { return unread_; }

  // The error for a proxy that closed the connection before receive() said true; `transient`.
  base::error closed_early() const;

private:
  enum class step : std::uint8_t { http_head, socks_method, socks_login, socks_reply, open };

  tunnel_handshake(const proxy& via, std::string destination, std::string request)
      : via_(via), destination_(std::move(destination)), output_(std::move(request)),
        step_(destination_.empty() ? step::http_head : step::socks_method) {}

  base::result<bool> read_http_head();
  base::result<bool> read_socks_method();
  base::result<bool> read_socks_login();
  base::result<bool> read_socks_reply();
  base::error refused_by_http(int status, std::string_view head) const;
  base::error not_socks() const;

  proxy via_;
  std::string destination_; // SOCKS5's connect request, sent once the login is settled
  std::string output_;
  std::string unread_;
  step step_;
};

// "Basic ..." of user and password, the value of Proxy-Authorization; "" without a user.
std::string proxy_authorization(const proxy& via);

// The error of an HTTP proxy that answered 407: `auth`. `offered`: its Proxy-Authenticate headers,
// joined by commas.
base::error proxy_login_error(const proxy& via, std::string_view offered);

} // namespace siteagent::net
