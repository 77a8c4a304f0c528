// SPDX-License-Identifier: MIT
// How an HTTP exchange can fail, and what that means to the caller. Pure functions.
#pragma once

#include "core/base/error.hpp"
#include "core/net/transport.hpp"

#include <cstdint>
#include <string>

namespace siteagent::net {

enum class ending : std::uint8_t {
  no_connection, // connect or TLS handshake
  proxy_login,   // a proxy wants another user name or password
  broken,        // the connection ended before the answer did
  protocol,      // not a final answer
  too_large,
  deadline,
  stopped,
};

struct failure {
  ending end = ending::broken;
  std::string why;
  bool is_sent = false;  // the request may have reached the other side
  bool has_head = false; // status and headers were read
};

// As transport.hpp documents the codes. `what` names method and origin.
base::error to_error(const failure& f, const request& r, const std::string& what);

} // namespace siteagent::net
