// SPDX-License-Identifier: MIT
// URLs: origins, percent-encoding and query strings. Pure functions.
#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::net {

struct origin {
  std::string scheme; // "http" or "https"
  std::string host;   // lower case; IPv6 without brackets
  std::uint16_t port = 0;

  bool is_loopback() const; // localhost, 127.0.0.0/8, ::1
  std::string text() const; // "https://host" or "https://host:8443": the default port is left out

  friend bool operator==(const origin&, const origin&) = default;
};

struct url {
  net::origin origin;
  std::string target; // path and query, byte-exact as given; at least "/"

  std::string text() const { return origin.text() + target; }
};

// Absolute http(s) URL. Refused with a reason: other schemes, user:password@, an empty host, port 0
// or above 65535, a fragment, spaces and control characters.
base::result<url> parse_url(std::string_view text);

// RFC 3986 unreserved characters stay, everything else becomes %XX: for one path segment or one
// query key or value.
std::string encode(std::string_view text);
// Undoes %XX; "+" stays "+" unless `plus_is_space`. Invalid escapes stay as they are.
std::string decode(std::string_view text, bool plus_is_space = false);

using query_list = std::vector<std::pair<std::string, std::string>>;
// Repeated keys are kept, in order. Keys and values decoded ("+" is a space).
query_list parse_query(std::string_view query);
std::string build_query(const query_list& query); // "a=1&b=2", encoded; "" when empty

} // namespace siteagent::net
