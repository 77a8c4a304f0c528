// SPDX-License-Identifier: MIT
// Which proxy, if any, a request goes through: the configured one, else the environment's
// (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY in either case of letters, as curl reads them), and never for
// hosts of NO_PROXY. "" is no proxy everywhere.
#pragma once

#include "core/base/result.hpp"
#include "core/base/secret.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::net {

struct proxy {
  enum class kind : std::uint8_t {
    http,   // absolute form for http, CONNECT for https and WebSockets
    https,  // as http, with TLS to the proxy itself
    socks5, // the name is resolved here
    socks5h // the name is resolved by the proxy
  };

  proxy::kind kind = kind::http;
  std::string host;
  std::uint16_t port = 1080; // 80, 443, 1080 by default of the kind
  std::string user;          // "" = no authentication
  base::secret password;

  // Without user and password.
  std::string text() const;
};

// "socks5://user:password@host:1080"; a missing scheme is http. The error names the value without
// its password and the schemes that are known.
base::result<proxy> parse_proxy(std::string_view text);

struct proxy_settings {
  std::optional<proxy> for_http;  // of plain requests
  std::optional<proxy> for_https; // of TLS requests
  // "localhost", ".example.com", "10.0.0.0/8", "[::1]:8080", "*"; compared without case. A name
  // covers its subdomains. The environment's proxies, not a configured one, leave loopback alone.
  std::vector<std::string> direct;

  // Null: direct. `scheme`: http, https, ws or wss.
  const proxy* for_host(std::string_view scheme, std::string_view host, std::uint16_t port) const;
};

// `configured`: the YAML's global_proxy ("" = only the environment). Read once, at start, before
// threads. A variable that is no proxy is an error naming the variable.
base::result<proxy_settings> proxies_from(std::string_view configured);

} // namespace siteagent::net
