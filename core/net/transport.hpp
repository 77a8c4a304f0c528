// SPDX-License-Identifier: MIT
// HTTP as the rest of the product sees it: one blocking call behind an interface that tests fake.
// The real one (make_transport) is cpprestsdk, in one .cpp file.
#pragma once

#include "core/base/result.hpp"
#include "core/net/proxy.hpp"
#include "core/net/url.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::net {

using header_list = std::vector<std::pair<std::string, std::string>>;

struct request {
  std::string method = "GET";
  // Absolute; path and query already percent-encoded, sent byte-exact (only characters that no URL
  // may have, such as | and {, are escaped, and a "?" with nothing behind it is left out).
  std::string url = {};
  // Not among them: Host, Content-Length, Transfer-Encoding, Connection, Expect, Upgrade.
  header_list headers = {};
  std::string body = {};
  std::string content_type = "application/json"; // sent only with a body
  std::chrono::milliseconds deadline{60'000};    // the whole exchange, name resolution included
  std::size_t max_body = std::size_t{64} << 20U; // larger answers are an error
  // A POST or PATCH always gets a connection of its own, so that no library replays it; set this
  // for a creating PUT too.
  bool fresh_connection = false;
  // Polled about every 50 ms from the calling thread; true ends the exchange (code cancelled).
  std::function<bool()> stop_requested = {};
};

struct response {
  int status = 0;
  header_list headers = {}; // names in lower case
  std::string body = {};

  // First value, or nullopt. `name` in lower case.
  std::optional<std::string_view> header(std::string_view name) const;
};

// [any thread]; perform blocks the caller. Any HTTP answer (also 4xx and 5xx) is a value. Errors:
//   transient        no connection (resolve, connect, TLS, a proxy's refusal): certainly not sent
//   auth             a proxy wants another user name or password: certainly not sent
//   outcome_unknown  a write (not GET/HEAD) may have reached the other side
//   transient        the same for GET/HEAD
//   deadline         deadline passed before anything was sent, or on GET/HEAD
//   cancelled        stop_requested, before anything was sent, or on GET/HEAD
//   permanent        refused here: foreign origin, plain http, CR/LF in a header, answer too large
// A redirect is an answer like any other: it is never followed.
// may_have_been_sent is set accordingly in every case. Messages name method, origin and proxy,
// never the query, headers, bodies or a password.
class transport {
public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;
  virtual base::result<response> perform(const request& r) = 0;
};

struct transport_options {
  // The only origins requests may go to; the caller's credentials never leave them. Empty = any
  // (only for callers that send no credentials).
  std::vector<origin> allowed_origins = {};
  // Plain http to hosts other than loopback.
  bool allow_plain_http = false;
  bool verify_tls = true;
  // PEM; the only authorities trusted then; empty = the system's. Read when the transport is made.
  std::string ca_file = {};
  std::string user_agent = {}; // sent unless the request has its own; empty = the product's
  // By which way requests go; none by default, the environment is not looked at. Behind a proxy of
  // kind socks5h, http or https the names of destinations are not looked up here. A proxy's own
  // certificate is checked against the system's authorities, whatever verify_tls and ca_file say.
  // Plain http goes to an http(s) proxy in absolute form, everything else through a tunnel.
  proxy_settings proxies = {};
  // Name resolution, and then connection (to a proxy and through it) and TLS handshake together
  // (shared by the name's addresses).
  std::chrono::milliseconds connect_timeout{10'000};
  // Text addresses of a host name, best first; empty = the system's. Called on resolver threads,
  // several at once; may block.
  std::function<base::result<std::vector<std::string>>(const std::string& host)> lookup = {};
};

// `invalid` when ca_file cannot be read.
base::result<std::unique_ptr<transport>> make_transport(transport_options options);

// To be called once, first thing in main of a program that uses make_transport, before any thread:
// hashed certificate directory (unless the operator set his own), SIGPIPE ignored, the library's
// pool at 4 threads. A plugin never calls it.
void initialise_process();

} // namespace siteagent::net
