// SPDX-License-Identifier: MIT
#include "core/net/proxy.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace siteagent::net {

namespace {

constexpr std::string_view schemes = "http, https, socks5 or socks5h";
constexpr std::size_t longest_credential = 255; // what SOCKS5 can carry

struct scheme_row {
  std::string_view name;
  enum proxy::kind kind;
  std::uint16_t port;
};

constexpr std::array<scheme_row, 4> known_schemes = {{
    {"http", proxy::kind::http, 80},
    {"https", proxy::kind::https, 443},
    {"socks5", proxy::kind::socks5, 1080},
    {"socks5h", proxy::kind::socks5h, 1080},
}};

const scheme_row& row_of(enum proxy::kind kind) {
  return known_schemes[static_cast<std::size_t>(kind)];
}

// Whatever stands before the last "@" of the authority may be a password.
std::string without_credentials(std::string_view text) {
  const auto scheme_end = text.find("://");
  const std::size_t begin = scheme_end == std::string_view::npos ? 0 : scheme_end + 3;
  const auto at = text.rfind('@');
  std::string out(text.substr(0, begin));
  if (at != std::string_view::npos && at >= begin) {
    return out + "***@" + std::string(text.substr(at + 1));
  }
  return out + std::string(text.substr(begin));
}

base::error refused(std::string_view text, std::string_view why) {
  std::string shown = without_credentials(text);
  std::replace_if(
      shown.begin(),
      shown.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      '?'
  );
  return {
      .code = base::error_code::invalid,
      .message = "proxy '" + std::string(base::truncated(shown, 120)) + "': " + std::string(why) +
                 "; expected scheme://[user:password@]host[:port] with scheme " +
                 std::string(schemes)};
}

void protect(std::string_view password) {
  base::global_redactor().protect(password);
  base::global_redactor().protect(decode(password));
}

// The bytes of an IPv4 or IPv6 address; "" for anything else.
std::string bytes_of(const std::string& host) {
  std::array<char, sizeof(in6_addr)> bytes{};
  if (inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) {
    return {bytes.data(), sizeof(in_addr)};
  }
  if (inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) {
    return {bytes.data(), sizeof(in6_addr)};
  }
  return {};
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number n{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  return problem == std::errc{} && end == text.data() + text.size() ? std::optional(n)
                                                                    : std::nullopt;
}

bool is_in_network(const std::string& address, const std::string& network, unsigned bits) {
  if (address.size() != network.size() || bits > network.size() * 8U) {
    return false;
  }
  const std::size_t whole = bits / 8U;
  const unsigned rest = bits % 8U;
  const unsigned mask = rest == 0 ? 0U : 0xFFU & (0xFFU << (8U - rest));
  return address.compare(0, whole, network, 0, whole) == 0 &&
         (rest == 0 || ((static_cast<unsigned char>(address[whole]) ^
                         static_cast<unsigned char>(network[whole])) &
                        mask) == 0);
}

// "name:8080", "[::1]:8080", "[::1]" and the same without a port.
std::pair<std::string, std::optional<std::uint16_t>> split_port(const std::string& entry) {
  if (entry.starts_with('[')) {
    const auto close = entry.find(']');
    const std::string_view rest =
        close == std::string::npos ? "" : std::string_view(entry).substr(close + 1);
    const std::string host = entry.substr(1, close == std::string::npos ? close : close - 1);
    return {host, rest.starts_with(':') ? number<std::uint16_t>(rest.substr(1)) : std::nullopt};
  }
  const auto colon = entry.find(':');
  if (colon != std::string::npos && entry.find(':', colon + 1) == std::string::npos) {
    return {
        entry.substr(0, colon), number<std::uint16_t>(std::string_view(entry).substr(colon + 1))};
  }
  return {entry, std::nullopt};
}

// `host` in lower case, without brackets and without the root's dot.
bool is_covered(const std::string& written, const std::string& host, std::uint16_t port) {
  std::string entry = base::to_lower(base::trim(written));
  if (entry == "*") {
    return true;
  }
  const std::string address = bytes_of(host);
  if (const auto slash = entry.find('/'); slash != std::string::npos) {
    const auto bits = number<unsigned>(std::string_view(entry).substr(slash + 1));
    const auto network = bytes_of(split_port(entry.substr(0, slash)).first);
    return bits && !address.empty() && is_in_network(address, network, *bits);
  }
  auto [name, only_port] = split_port(entry);
  if (only_port && *only_port != port) {
    return false;
  }
  if (const std::string own = bytes_of(name); !own.empty() || !address.empty()) {
    return own == address;
  }
  // "*.example.com", ".example.com" and "example.com" mean the same; so does a dot at the end.
  name.erase(0, name.starts_with("*.") ? 2 : name.starts_with('.') ? 1 : 0);
  if (name.ends_with('.')) {
    name.pop_back();
  }
  return !name.empty() && (host == name || host.ends_with("." + name));
}

// The first of the names that is set and not empty.
struct variable {
  std::string_view name;
  std::string_view value;
};

// curl reads HTTP_PROXY in lower case only, because a CGI script's caller can set the other; we
// never run as one.
variable environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return {name, value};
    }
  }
  return {};
}

base::result<std::optional<proxy>> from_environment(std::initializer_list<const char*> names) {
  const variable set = environment(names);
  if (set.value.empty()) {
    return std::optional<proxy>();
  }
  auto parsed = parse_proxy(set.value);
  if (!parsed) {
    return base::with_context(
        std::move(parsed).error(), "environment variable " + std::string(set.name)
    );
  }
  return std::optional(*std::move(parsed));
}

std::vector<std::string> direct_hosts() {
  std::string list(environment({"no_proxy", "NO_PROXY"}).value);
  std::replace_if(
      list.begin(), list.end(), [](char c) { return c == ' ' || c == '\t'; }, ','
  );
  std::vector<std::string> out;
  for (const std::string_view entry : base::split(list, ',')) {
    if (!entry.empty()) {
      out.emplace_back(entry);
    }
  }
  return out;
}

// "user:password", percent-encoded, into the proxy. False: it cannot be sent.
bool set_credentials(proxy& p, std::string_view text) {
  const auto colon = text.find(':');
  p.user = decode(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    protect(text.substr(colon + 1));
    p.password = base::secret(decode(text.substr(colon + 1)));
  }
  const bool is_http = p.kind == proxy::kind::http || p.kind == proxy::kind::https;
  return !p.user.empty() && p.user.size() <= longest_credential &&
         p.password.reveal().size() <= longest_credential &&
         (!is_http || p.user.find(':') == std::string::npos);
}

} // namespace

std::string proxy::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return std::string(row_of(kind).name) + "://" + (is_ipv6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

base::result<proxy> parse_proxy(std::string_view written) {
  const std::string_view text = base::trim(written);
  const auto scheme_end = text.find("://");
  const std::string scheme =
      scheme_end == std::string_view::npos ? "http" : base::to_lower(text.substr(0, scheme_end));
  const auto row = std::find_if(known_schemes.begin(), known_schemes.end(), [&](const auto& r) {
    return r.name == scheme;
  });
  if (row == known_schemes.end()) {
    return refused(text, "the scheme is not known");
  }
  std::string_view rest = scheme_end == std::string_view::npos ? text : text.substr(scheme_end + 3);
  proxy out;
  out.kind = row->kind;
  // The last "@": people write passwords with one unencoded.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    if (!set_credentials(out, rest.substr(0, at))) {
      return refused(
          text,
          "the user name is empty, or it or the password is longer than 255 bytes, or the user "
          "name holds a colon"
      );
    }
    rest.remove_prefix(at + 1);
  }
  const auto where = parse_url("http://" + std::string(rest));
  if (!where) {
    return refused(text, where.error().message);
  }
  if (where->target != "/") {
    return refused(text, "there is a path or a query behind the host");
  }
  out.host = where->origin.host;
  const auto colon = rest.rfind(':');
  const auto bracket = rest.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  out.port = has_port ? where->origin.port : row->port;
  return out;
}

const proxy*
proxy_settings::for_host(std::string_view scheme, std::string_view host, std::uint16_t port) const {
  const bool is_tls = scheme == "https" || scheme == "wss";
  const std::optional<proxy>& chosen = is_tls ? for_https : for_http;
  if (!chosen) {
    return nullptr;
  }
  std::string name = base::to_lower(host);
  if (name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  }
  if (name.ends_with('.')) {
    name.pop_back();
  }
  const bool is_direct = std::any_of(direct.begin(), direct.end(), [&](const std::string& entry) {
    return is_covered(entry, name, port);
  });
  return is_direct ? nullptr : &*chosen;
}

base::result<proxy_settings> proxies_from(std::string_view configured) {
  proxy_settings out;
  out.direct = direct_hosts();
  if (!base::trim(configured).empty()) {
    auto one = parse_proxy(configured);
    if (!one) {
      return std::move(one).error();
    }
    out.for_http = *one;
    out.for_https = *std::move(one);
    return out;
  }
  auto http = from_environment({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
  if (!http) {
    return std::move(http).error();
  }
  auto https = from_environment({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
  if (!https) {
    return std::move(https).error();
  }
  out.for_http = *std::move(http);
  out.for_https = *std::move(https);
  // A variable of the whole machine says nothing about what runs beside us.
  for (const char* own : {"localhost", "127.0.0.0/8", "::1"}) {
    out.direct.emplace_back(own);
  }
  return out;
}

} // namespace siteagent::net
