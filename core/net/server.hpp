// SPDX-License-Identifier: MIT
// A small HTTP/1.1 server on Boost.Beast for the emulators, health and metrics: any method, limits,
// time-outs, keep-alive, pipelining, TLS, port 0, graceful stop. Public header without Beast.
#pragma once

#include "core/base/result.hpp"
#include "core/net/transport.hpp"
#include "core/net/url.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::net {

struct server_request {
  std::string method;
  std::string target;                // raw path and query
  std::string path;                  // raw path
  std::string query;                 // raw query, without "?"
  std::vector<std::string> segments; // path split by "/", then each decoded; empty ones dropped
  query_list parameters;             // decoded query, repeated keys kept
  header_list headers;               // names in lower case
  std::string body;
  std::string scheme;     // "http" or "https"
  std::string peer;       // address text
  std::uint16_t port = 0; // the listening port
  bool peer_is_loopback = false;

  std::string header(std::string_view lower_case_name) const; // "" when absent
  // Value of a query parameter, key compared without case; "" when absent.
  std::string parameter(std::string_view key) const;
};

struct server_response {
  int status = 200;
  header_list headers; // Content-Length, Date and Connection are the server's own
  std::string body;    // no Content-Type is added

  enum class ending : std::uint8_t {
    normal,
    cut,      // close the connection without an answer
    hang,     // never answer (until the server stops or the client leaves)
    truncate, // headers with the full length, half of the body, then close
  };
  ending end = ending::normal;
  std::chrono::milliseconds delay{0}; // wait before the first byte; blocks no thread
  // Above 0: the body leaves in about eight pieces, with this pause before each; blocks no thread.
  std::chrono::milliseconds chunk_pause{0};
  std::chrono::seconds date_offset{0}; // added to the time in the Date header
  // When set: called on a server thread after `delay`, and its answer is sent instead of this one.
  std::function<server_response()> resume;
  // Called once after the last byte left or the connection was given up; may be empty.
  std::function<void()> on_finished;
};

struct server_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;           // 0: any free one
  std::string tls_certificate_file; // PEM chain; with key: serve TLS only
  std::string tls_key_file;
  std::size_t max_header = std::size_t{64} << 10U;
  std::size_t max_body = std::size_t{16} << 20U;
  std::chrono::milliseconds read_timeout{30'000};
  std::chrono::milliseconds idle_timeout{120'000};
  unsigned threads = 2;
};

// The handler runs on the server's threads, several at once; it must not block for long. An
// exception from it becomes a 500.
class server {
public:
  using handler = std::function<server_response(const server_request&)>;

  // Binds and listens; requests are answered from here on. `invalid`: address, certificate;
  // `conflict`: the port is taken.
  static base::result<std::unique_ptr<server>> start(server_options options, handler h);
  ~server(); // stops
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  std::uint16_t port() const;
  // No new connections, running requests get `grace` to finish, then everything is closed. Not to
  // be called from the handler. A second call does nothing.
  void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(2'000));

private:
  struct impl;
  explicit server(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace siteagent::net
