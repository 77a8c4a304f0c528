// SPDX-License-Identifier: MIT
// The ways to an origin: its addresses, or those of the proxy before it.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/net/proxy_link.hpp"
#include "core/net/resolver.hpp"
#include "core/net/transport.hpp"
#include "core/net/url.hpp"

#include <optional>
#include <string>
#include <vector>

namespace siteagent::net {

struct route {
  std::string address;          // of the origin; meaningless behind a proxy
  std::optional<proxy_hop> hop; // nullopt: direct

  // What may share a kept connection.
  std::string key() const;

  // The proxy reads the request itself, instead of passing bytes on.
  bool is_absolute() const { return hop && !hop->is_tunnel; }
};

// At least one, best first, at most four. Blocks for name lookups, each at most the options'
// connect time-out and until `deadline`. Errors as resolver::resolve; the message names the proxy
// if its name is the one that cannot be found.
base::result<std::vector<route>> find_routes(
    const origin& to,
    const proxy* via,
    const transport_options& options,
    resolver& names,
    const request& r,
    base::steady_time deadline
);

// What was remembered about names did not help.
void forget_names(const origin& to, const proxy* via, resolver& names);

} // namespace siteagent::net
