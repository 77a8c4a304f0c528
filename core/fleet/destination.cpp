// SPDX-License-Identifier: MIT
// Where ssh connects to. The grammar is narrow on purpose: nothing that ssh, a shell or a
// configuration file could take for something else gets through.
#include "core/fleet/registry_document.hpp"

#include "core/base/text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace siteagent::fleet {

namespace {

constexpr int default_port = 22;
constexpr std::string_view scheme = "ssh://";

bool is_word(std::string_view text, std::string_view also) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           also.find(c) != std::string_view::npos;
  });
}

bool is_ipv6(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

base::error broken(std::string_view text, std::string_view why) {
  return {
      base::error_code::invalid,
      "'" + std::string(base::truncated(text, 100)) + "' is no destination such as user@host or " +
          "ssh://user@host:port: " + std::string(why)};
}

base::result<int> port_of(std::string_view whole, std::string_view text) {
  constexpr int most = 65'535;
  int port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || end != text.data() + text.size() || port < 1 || port > most) {
    return broken(whole, "the port is no number from 1 to 65535");
  }
  return port;
}

// Cuts ":2222" off "host:2222" and "[::1]:2222", and the brackets of the latter.
base::result<void> take_port(std::string_view whole, std::string_view& rest, destination& into) {
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) {
      return broken(whole, "a bracket is open");
    }
    port = rest.substr(end + 1);
    rest = rest.substr(1, end - 1);
  } else if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    port = rest.substr(colon);
    rest = rest.substr(0, colon);
  }
  if (port.empty()) {
    return {};
  }
  const auto number = port_of(whole, port.front() == ':' ? port.substr(1) : "");
  if (!number) {
    return number.error();
  }
  into.port = *number;
  return {};
}

} // namespace

std::string destination::text() const {
  const std::string before = user.empty() ? "" : user + "@";
  if (port == default_port) {
    return before + host;
  }
  const bool colons = host.find(':') != std::string::npos;
  return std::string(scheme) + before + (colons ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

base::result<destination> parse_destination(std::string_view text) {
  destination d;
  std::string_view rest = text;
  const bool is_url = rest.starts_with(scheme);
  if (is_url) {
    rest.remove_prefix(scheme.size());
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    d.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    if (!is_word(d.user, "._-")) {
      return broken(text, "the user has other characters than letters, digits, '.', '_' and '-'");
    }
  }
  if (is_url) {
    if (auto taken = take_port(text, rest, d); !taken) {
      return std::move(taken).error();
    }
  }
  d.host = rest;
  if (!is_word(d.host, "._-") && !is_ipv6(d.host)) {
    return broken(text, "the host is neither a name nor an address");
  }
  return d;
}

} // namespace siteagent::fleet
