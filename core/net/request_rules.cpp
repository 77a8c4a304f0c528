// SPDX-License-Identifier: MIT
#include "core/net/request_rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace siteagent::net {

namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_word || marks.find(c) != std::string_view::npos;
  });
}

// The framing is ours and the library's. Expect is among them because the library takes the interim
// answer to it for the final one.
bool is_reserved_header(std::string_view name) {
  constexpr std::array<std::string_view, 6> reserved = {
      "host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"};
  const std::string lower = base::to_lower(name);
  return std::find(reserved.begin(), reserved.end(), lower) != reserved.end();
}

base::error refused(const std::string& what, const std::string& why) {
  return {
      .code = base::error_code::permanent, .message = what + ": refused before sending: " + why};
}

std::optional<std::string> header_problem(const request& r) {
  for (const auto& [name, value] : r.headers) {
    if (!is_token(name)) {
      return "a header name has a character that is not allowed";
    }
    if (!is_header_value(value)) {
      return "header " + name + " holds a line break or a zero byte";
    }
    if (is_reserved_header(name)) {
      return "header " + name + " belongs to the transport";
    }
  }
  if (!is_header_value(r.content_type)) {
    return "the content type holds a line break or a zero byte";
  }
  return std::nullopt;
}

std::optional<std::string> origin_problem(const transport_options& options, const origin& to) {
  const auto& allowed = options.allowed_origins;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), to) == allowed.end()) {
    return "the origin is not one of those configured";
  }
  if (to.scheme == "http" && !options.allow_plain_http && !to.is_loopback()) {
    return "plain http is for loopback only; use https";
  }
  return std::nullopt;
}

} // namespace

bool is_read(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

bool is_idempotent(std::string_view method) {
  return is_read(method) || method == "PUT" || method == "DELETE";
}

bool is_header_value(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

base::result<url> check_request(const request& r, const transport_options& options) {
  if (!is_token(r.method)) {
    return refused("HTTP request", "the method is not a word");
  }
  auto to = parse_url(r.url);
  if (!to) {
    return refused(r.method, to.error().message);
  }
  auto problem = origin_problem(options, to->origin);
  if (!problem) {
    problem = header_problem(r);
  }
  if (problem) {
    return refused(r.method + " " + to->origin.text(), *problem);
  }
  return to;
}

std::string escaped_target(std::string_view target) {
  constexpr std::string_view illegal = "\"<>[\\]^`{|}";
  std::string out;
  out.reserve(target.size());
  for (const char c : target) {
    out += illegal.find(c) == std::string_view::npos ? std::string(1, c) : encode({&c, 1});
  }
  return out;
}

std::string host_header(const origin& to) {
  if (to.scheme == "https") {
    return to.host;
  }
  const std::string text = to.text(); // keeps a port that is not the default
  return text.substr(text.find("://") + 3);
}

} // namespace siteagent::net
