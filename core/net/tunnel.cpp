// SPDX-License-Identifier: MIT
#include "core/net/tunnel.hpp"

#include "core/base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace siteagent::net {

namespace {

using base::error_code;

constexpr std::size_t longest_head = std::size_t{64} << 10U;
constexpr std::size_t longest_host = 255;
constexpr std::string_view head_end = "\r\n\r\n";
constexpr char socks_version = 5;
constexpr char no_login = 0;
constexpr char by_password = 2;
constexpr char no_method = '\xFF';

base::error failed(std::string why, error_code code = error_code::transient) {
  return {.code = code, .message = std::move(why)};
}

std::string hex(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'0', 'x', digits[byte >> 4U], digits[byte & 0x0FU]};
}

bool is_sendable(std::string_view host) {
  return !host.empty() && host.size() <= longest_host &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
         });
}

// Address type, address and port as SOCKS5 writes them; nullopt: a name where none may be.
std::optional<std::string> socks_address(std::string_view host, std::uint16_t port, bool is_name) {
  const std::string text(host);
  std::array<char, sizeof(in6_addr)> bytes{};
  std::string out;
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    out = std::string(1, '\x01') + std::string(bytes.data(), sizeof(in_addr));
  } else if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    out = std::string(1, '\x04') + std::string(bytes.data(), sizeof(in6_addr));
  } else if (is_name) {
    out = std::string(1, '\x03') + std::string(1, static_cast<char>(text.size())) + text;
  } else {
    return std::nullopt;
  }
  out += static_cast<char>(port >> 8U);
  out += static_cast<char>(port & 0xFFU);
  return out;
}

std::string connect_request(
    const proxy& via, std::string_view host, std::uint16_t port, std::string_view user_agent
) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  const std::string where =
      (is_ipv6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
  std::string out = "CONNECT " + where + " HTTP/1.1\r\nHost: " + where + "\r\n";
  if (!user_agent.empty()) {
    out += "User-Agent: " + std::string(user_agent) + "\r\n";
  }
  if (const std::string login = proxy_authorization(via); !login.empty()) {
    out += "Proxy-Authorization: " + login + "\r\n";
  }
  return out + "\r\n";
}

// "HTTP/1.1 200 Connection established" -> 200; 0: no such line.
int status_of(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const auto digit = [&](std::size_t at) {
    const char c = at < line.size() ? line[at] : '\0';
    return c >= '0' && c <= '9' ? c - '0' : -1'000;
  };
  const bool is_http = line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ';
  const int status = is_http ? 100 * digit(9) + 10 * digit(10) + digit(11) : 0;
  return status >= 100 && status < 600 ? status : 0;
}

std::string values_of(std::string_view head, std::string_view name) {
  std::string out;
  for (std::string_view line : base::split(head, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos &&
        base::equals_ignoring_case(base::trim(line.substr(0, colon)), name)) {
      out += (out.empty() ? "" : ", ") + std::string(base::trim(line.substr(colon + 1)));
    }
  }
  return out;
}

std::string_view socks_reason(char reply) {
  switch (reply) {
  case 1:
    return "the proxy failed to connect (general failure)";
  case 2:
    return "the proxy's rules do not allow this destination; ask who runs the proxy";
  case 3:
    return "the proxy cannot reach the destination: network unreachable";
  case 4:
    return "the proxy cannot reach the destination: host unreachable or name unknown to it";
  case 5:
    return "the proxy cannot reach the destination: connection refused";
  case 6:
    return "the proxy cannot reach the destination: no answer in time";
  case 7:
    return "the proxy does not offer connections (command not supported)";
  case 8:
    return "the proxy does not take this kind of address; use socks5h, or socks5 if it was socks5h";
  default:
    return "";
  }
}

} // namespace

std::string proxy_authorization(const proxy& via) {
  if (via.user.empty()) {
    return {};
  }
  return "Basic " + base::base64(via.user + ":" + std::string(via.password.reveal()));
}

base::error proxy_login_error(const proxy& via, std::string_view offered) {
  const std::string lower = base::to_lower(offered);
  if (!lower.empty() && lower.find("basic") == std::string::npos) {
    std::string scheme(base::truncated(offered.substr(0, offered.find_first_of(" ,")), 30));
    std::erase_if(scheme, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; });
    return failed(
        "the proxy wants a login by " + scheme +
            " (HTTP 407), but only user and password (Basic) can be sent",
        error_code::auth
    );
  }
  return failed(
      via.user.empty()
          ? "the proxy wants a user name and password (HTTP 407); give them in the proxy's URL"
          : "the proxy refused the user name and password (HTTP 407); check those in the proxy's "
            "URL",
      error_code::auth
  );
}

base::result<tunnel_handshake> tunnel_handshake::start(
    const proxy& via, std::string_view host, std::uint16_t port, std::string_view user_agent
) {
  if (!is_sendable(host) || user_agent.find_first_of("\r\n") != std::string_view::npos) {
    return failed(
        "the destination's name cannot be sent to a proxy: it is empty, too long or holds blanks",
        error_code::invalid
    );
  }
  if (via.kind == proxy::kind::http || via.kind == proxy::kind::https) {
    return tunnel_handshake(via, {}, connect_request(via, host, port, user_agent));
  }
  auto destination = socks_address(host, port, !wants_address(via));
  if (!destination) {
    return failed("a socks5 proxy needs the destination's address", error_code::invalid);
  }
  using namespace std::string_literals;
  const std::string greeting = via.user.empty() ? "\x05\x01\x00"s : "\x05\x02\x00\x02"s;
  return tunnel_handshake(via, "\x05\x01\x00"s + *destination, greeting);
}

std::string tunnel_handshake::take_output() {
  return std::exchange(output_, {});
}

base::result<bool> tunnel_handshake::receive(std::string_view bytes) {
  unread_ += bytes;
  for (;;) {
    const step before = step_;
    auto read = before == step::http_head      ? read_http_head()
                : before == step::socks_method ? read_socks_method()
                : before == step::socks_login  ? read_socks_login()
                                               : read_socks_reply();
    if (!read || *read || step_ == before) {
      return read;
    }
  }
}

base::result<bool> tunnel_handshake::read_http_head() {
  for (;;) {
    const auto end = unread_.find(head_end);
    if (end == std::string::npos) {
      constexpr std::string_view beginning = "HTTP/1.";
      const bool is_http = unread_.compare(
                               0,
                               std::min(unread_.size(), beginning.size()),
                               beginning.substr(0, std::min(unread_.size(), beginning.size()))
                           ) == 0;
      if (!is_http || unread_.size() > longest_head) {
        return failed(
            is_http ? "the proxy's answer has no end"
                    : "the proxy does not speak HTTP; check its "
                      "scheme and port"
        );
      }
      return false;
    }
    const std::string head = unread_.substr(0, end);
    const int status = status_of(head);
    if (status < 200 && status != 0) {
      unread_.erase(0, end + head_end.size()); // an interim answer
      continue;
    }
    if (status < 200 || status > 299) {
      return refused_by_http(status, head);
    }
    unread_.erase(0, end + head_end.size());
    step_ = step::open;
    return true;
  }
}

base::error tunnel_handshake::refused_by_http(int status, std::string_view head) const {
  const std::string code = " (HTTP " + std::to_string(status) + ")";
  switch (status) {
  case 0:
    return failed("the proxy does not speak HTTP; check its scheme and port");
  case 407:
    return proxy_login_error(via_, values_of(head, "proxy-authenticate"));
  case 502:
  case 503:
  case 504:
    return failed("the proxy cannot reach the destination" + code);
  case 400:
  case 405:
  case 501:
    return failed("the proxy does not take CONNECT" + code + "; check that it is a proxy");
  default:
    return failed("the proxy does not allow this destination" + code + "; ask who runs the proxy");
  }
}

base::error tunnel_handshake::not_socks() const {
  const bool is_http = unread_.starts_with("H");
  return failed(
      "the proxy does not speak SOCKS5" +
      std::string(is_http ? ", it looks like HTTP; use http://" : "; check its scheme and port")
  );
}

base::result<bool> tunnel_handshake::read_socks_method() {
  if (!unread_.empty() && unread_[0] != socks_version) {
    return not_socks();
  }
  if (unread_.size() < 2) {
    return false;
  }
  const char method = unread_[1];
  unread_.erase(0, 2);
  if (method == no_login) {
    output_ = destination_;
    step_ = step::socks_reply;
    return false;
  }
  if (method == by_password && !via_.user.empty()) {
    const std::string_view password = via_.password.reveal();
    output_ = std::string(1, '\x01') + static_cast<char>(via_.user.size()) + via_.user +
              static_cast<char>(password.size()) + std::string(password);
    step_ = step::socks_login;
    return false;
  }
  if (method == no_method) {
    return failed(
        via_.user.empty()
            ? "the SOCKS5 proxy wants a login; give user and password in the proxy's URL"
            : "the SOCKS5 proxy takes neither user and password nor no login at all",
        error_code::auth
    );
  }
  return failed("the SOCKS5 proxy chose a login that was not offered (" + hex(method) + ")");
}

base::result<bool> tunnel_handshake::read_socks_login() {
  if (unread_.size() < 2) {
    return false;
  }
  const char status = unread_[1];
  unread_.erase(0, 2);
  if (status != 0) {
    return failed(
        "the SOCKS5 proxy refused the user name and password; check those in the proxy's URL",
        error_code::auth
    );
  }
  output_ = destination_;
  step_ = step::socks_reply;
  return false;
}

base::result<bool> tunnel_handshake::read_socks_reply() {
  if (!unread_.empty() && unread_[0] != socks_version) {
    return not_socks();
  }
  if (unread_.size() < 2) {
    return false;
  }
  // Before the rest: some proxies leave it out when they refuse.
  if (const char reply = unread_[1]; reply != 0) {
    const std::string_view known = socks_reason(reply);
    return failed(
        (known.empty() ? "the SOCKS5 proxy refused for a reason of its own" : std::string(known)) +
        " (SOCKS5 reply " + hex(reply) + ")"
    );
  }
  if (unread_.size() < 5) {
    return false;
  }
  const char type = unread_[3];
  const std::size_t address = type == 1   ? sizeof(in_addr)
                              : type == 4 ? sizeof(in6_addr)
                              : type == 3 ? 1U + static_cast<unsigned char>(unread_[4])
                                          : 0U;
  if (address == 0) {
    return failed("the SOCKS5 proxy's reply holds an unknown kind of address");
  }
  const std::size_t whole = 4 + address + 2;
  if (unread_.size() < whole) {
    return false;
  }
  unread_.erase(0, whole);
  step_ = step::open;
  return true;
}

base::error tunnel_handshake::closed_early() const {
  return failed(
      step_ == step::http_head && unread_.empty()
          ? "the proxy closed the connection without an answer"
          : "the proxy closed the connection before it had answered"
  );
}

} // namespace siteagent::net
