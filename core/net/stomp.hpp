// SPDX-License-Identifier: MIT
// STOMP 1.2 over WebSocket, as far as a consumer of one queue needs it: connect, subscribe,
// receive, acknowledge, and real heart-beats both ways (Waldur contract section 6.4).
//
// One session is one connection: it never reconnects by itself. The caller owns retries, pauses and
// the meaning of messages, so that there is one retry layer.
#pragma once

#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/proxy.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace siteagent::net {

struct stomp_options {
  std::string host; // name or address, as the certificate names it
  std::uint16_t port = 443;
  std::string path = "/rmqws-stomp";
  bool use_tls = true;
  bool verify_certificate = true;
  std::string ca_file;         // PEM, in place of the system's authorities; "" = the system's
  net::proxy_settings proxies; // none by default
  std::string virtual_host;    // header `host` of CONNECT
  std::string login;
  base::secret passcode;
  std::chrono::milliseconds heartbeat{10'000};       // asked for in both directions
  std::chrono::milliseconds connect_timeout{30'000}; // until CONNECTED, all together
  std::string user_agent;
  // Polled about every 50 ms by connect(), from the thread that called it; true ends it
  // (cancelled).
  std::function<bool()> stop_requested = {};
};

struct stomp_message {
  std::map<std::string, std::string>
      headers;      // names in lower case, first of repeated ones, unescaped
  std::string body; // at most 16 MiB; a larger one ends the session (permanent)
  std::string ack;  // what acknowledge() needs
  bool is_redelivered = false;
};

// Why a session ended. `code`:
//   auth       login refused, or the virtual host, or reading from the queue
//   not_found  no such queue, or it was deleted while subscribed; also when the broker hangs up in
//              answer to SUBSCRIBE, as RabbitMQ's web-stomp does without saying why
//   permanent  any other ERROR frame, a certificate that is not trusted, a path that is no
//              WebSocket, another version of STOMP, a message beyond the limit
//   invalid    a setting that cannot be used: CA file; characters in host, path, login, passcode
//   transient  network, heart-beats missing, broker going down or busy, not STOMP, a proxy
//   cancelled  close() was called, or stop_requested said so
// The message names host and reason, never the passcode.
using stomp_end_handler = std::function<void(const base::error& reason)>;
using stomp_message_handler = std::function<void(stomp_message message)>;

// [any thread]
class stomp_session {
public:
  // Blocks until CONNECTED, or the error (codes as above; timeout is transient). `on_message` and
  // `on_end` are called from the session's own thread, one at a time: they must return at once
  // (queue the message), else heart-beats stop, and must not destroy the session. `on_end` comes
  // exactly once, last, when there was a session; maybe even before connect() has returned.
  // Messages come only after subscribe(), none after close().
  static base::result<std::unique_ptr<stomp_session>>
  connect(stomp_options options, stomp_message_handler on_message, stomp_end_handler on_end);

  virtual ~stomp_session() = default; // closes and waits for the session's thread, at most seconds
  stomp_session() = default;
  stomp_session(const stomp_session&) = delete;
  stomp_session& operator=(const stomp_session&) = delete;

  // SUBSCRIBE to "/amq/queue/<queue>" with ack client-individual and that prefetch count, or with
  // ack auto when `prefetch` is 0. A queue that is missing ends the session with not_found.
  virtual void subscribe(const std::string& queue, unsigned prefetch) = 0;
  // Sent in the background; nothing happens after the session's end (the broker delivers again).
  virtual void acknowledge(const stomp_message& message) = 0;
  // DISCONNECT, then the connection goes; never waits for a silent peer.
  virtual void close() = 0;
  virtual bool is_open() const = 0;
};

} // namespace siteagent::net
