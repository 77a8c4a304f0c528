// SPDX-License-Identifier: MIT
#include "core/net/url.hpp"

#include "core/base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace siteagent::net {

namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

std::uint16_t default_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_unreserved(char c) {
  return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

int hex_value(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return -1;
}

// The URL is not quoted: it may carry a password or a token.
base::error refused(std::string_view reason) {
  return {.code = base::error_code::invalid, .message = "URL refused: " + std::string(reason)};
}

// The one text form of an IPv6 address, so that origins compare as text.
std::optional<std::string> canonical_ipv6(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) {
    return std::nullopt;
  }
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (inet_ntop(AF_INET6, &address, out.data(), static_cast<socklen_t>(out.size())) == nullptr) {
    return std::nullopt;
  }
  return std::string(out.data());
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.front() != '.' && std::all_of(host.begin(), host.end(), [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  });
}

base::result<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || value == 0 || value > 65'535) {
    return refused("the port is not a number from 1 to 65535");
  }
  return static_cast<std::uint16_t>(value);
}

struct authority {
  std::string host;
  std::optional<std::string_view> port;
};

base::result<authority> split_authority(std::string_view text) {
  if (text.find('@') != std::string_view::npos) {
    return refused("it carries a user name; credentials belong in their own settings");
  }
  authority out;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos) {
      return refused("the bracket of the IPv6 address is not closed");
    }
    const auto address = canonical_ipv6(std::string(text.substr(1, close - 1)));
    if (!address) {
      return refused("the text in brackets is not an IPv6 address");
    }
    out.host = *address;
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    const std::string_view host = text.substr(0, colon);
    if (host.empty()) {
      return refused("the host is empty");
    }
    if (!is_host_name(host)) {
      return refused("the host has characters that no host name has");
    }
    out.host = base::to_lower(host);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (!rest.empty() && rest.front() != ':') {
    return refused("there is text between the host and the port");
  }
  if (!rest.empty()) {
    out.port = rest.substr(1);
  }
  return out;
}

} // namespace

bool origin::is_loopback() const {
  if (host == "localhost" || host == "::1") {
    return true;
  }
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == 127U;
}

std::string origin::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  std::string out = scheme + "://" + (is_ipv6 ? "[" + host + "]" : host);
  if (port != default_port(scheme)) {
    out += ":" + std::to_string(port);
  }
  return out;
}

base::result<url> parse_url(std::string_view text) {
  const bool is_printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_printable) {
    return refused("it has a space, a control character or a character outside ASCII");
  }
  const auto separator = text.find("://");
  url out;
  out.origin.scheme = base::to_lower(text.substr(0, separator));
  if (separator == std::string_view::npos ||
      (out.origin.scheme != "http" && out.origin.scheme != "https")) {
    return refused("it does not begin with http:// or https://");
  }
  if (text.find('#') != std::string_view::npos) {
    return refused("it has a fragment (#)");
  }
  text.remove_prefix(separator + 3);
  const auto path = std::min(text.find_first_of("/?\\"), text.size());
  auto parts = split_authority(text.substr(0, path));
  if (!parts) {
    return std::move(parts).error();
  }
  out.origin.host = std::move(parts->host);
  out.origin.port = default_port(out.origin.scheme);
  if (parts->port) {
    const auto port = parse_port(*parts->port);
    if (!port) {
      return port.error();
    }
    out.origin.port = *port;
  }
  out.target = text.substr(path);
  if (out.target.empty() || out.target.front() == '?') {
    out.target.insert(0, "/");
  }
  if (out.target.front() != '/') {
    return refused("the path does not begin with /");
  }
  return out;
}

std::string encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += hex_digits[byte >> 4U];
      out += hex_digits[byte & 15U];
    }
  }
  return out;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    out += plus_is_space && text[i] == '+' ? ' ' : text[i];
  }
  return out;
}

query_list parse_query(std::string_view query) {
  query_list out;
  for (const std::string_view part : base::split(query, '&')) {
    if (part.empty()) {
      continue;
    }
    const auto equals = part.find('=');
    const auto value =
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    out.emplace_back(decode(part.substr(0, equals), true), decode(value, true));
  }
  return out;
}

std::string build_query(const query_list& query) {
  std::string out;
  for (const auto& [key, value] : query) {
    if (!out.empty()) {
      out += '&';
    }
    out += encode(key) + '=' + encode(value);
  }
  return out;
}

} // namespace siteagent::net
