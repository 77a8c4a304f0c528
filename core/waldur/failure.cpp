// SPDX-License-Identifier: MIT
#include "core/waldur/failure.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/net/retry.hpp"

#include <utility>

namespace siteagent::waldur {

namespace {

constexpr std::size_t longest_words = 4'000;

void append(std::string& out, std::string_view piece, std::string_view separator) {
  if (!piece.empty() && out.size() < longest_words) {
    out += out.empty() ? "" : separator;
    out += piece;
  }
}

// ["a", "b"] -> "a b"; {"x": ["a"]} -> "x: a"; a validation error nests these.
std::string flat(const base::json& j) {
  std::string out;
  if (j.is_array()) {
    for (const base::json& item : j.items()) {
      append(out, flat(item), " ");
    }
    return out;
  }
  if (j.is_object()) {
    for (const auto& [key, value] : j.members()) {
      const bool is_general = key == "detail" || key == "non_field_errors";
      append(out, (is_general ? "" : key + ": ") + flat(value), "; ");
    }
    return out;
  }
  return j.is_string() ? std::string(*j.string()) : j.dump();
}

std::string printable(std::string_view text) {
  constexpr std::size_t most = 200;
  std::string out;
  for (const char c : text) {
    if (out.size() >= most) {
      break;
    }
    const auto byte = static_cast<unsigned char>(c);
    const bool is_blank = byte <= 0x20;
    if (is_blank && (out.empty() || out.back() == ' ')) {
      continue;
    }
    out += is_blank ? ' ' : byte < 0x7F ? c : '?';
  }
  return out;
}

std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      c = ' ';
    }
  }
  return std::string(base::truncated(text, longest_words));
}

base::error_code code_for(int status, bool is_write) {
  using enum base::error_code;
  switch (status) {
  case 400:
  case 413:
  case 415:
  case 422:
    return invalid;
  case 401:
    return auth;
  case 403:
    return forbidden;
  case 404:
    return not_found;
  case 405:
  case 424:
    return unsupported;
  case 409:
    return conflict;
  case 408:
  case 502:
  case 504:
    return is_write ? outcome_unknown : transient; // somebody gave up waiting for Waldur
  case 429:
    return throttled;
  default:
    break;
  }
  if (status >= 500) {
    return transient;
  }
  if (status >= 200 && status < 300) {
    return is_write ? outcome_unknown : transient;
  }
  return permanent;
}

std::string_view advice_for(int status) {
  switch (status) {
  case 401:
    return "check the token in the configuration";
  case 403:
    return "the token's user lacks the permission";
  case 404:
    return "it does not exist or the token's user cannot see it";
  case 405:
    return "the offering must be of type Marketplace.Slurm";
  default:
    break;
  }
  if (status >= 300 && status < 400) {
    return "a redirect, which is never followed; check waldur_api_url";
  }
  return status >= 200 && status < 300 ? "not the documented status" : "";
}

} // namespace

std::string server_words(std::string_view body) {
  if (base::trim(body).empty()) {
    return {};
  }
  const auto parsed = base::json::parse(body);
  return parsed ? on_one_line(flat(*parsed)) : "not JSON: " + printable(body);
}

base::error status_failure(
    std::string_view what,
    const net::response& r,
    std::string_view words,
    bool is_write,
    base::wall_time now
) {
  base::error e;
  e.code = code_for(r.status, is_write);
  e.message = std::string(what) + ": HTTP " + std::to_string(r.status);
  if (!words.empty()) {
    e.message += ": " + std::string(words);
  }
  if (const auto advice = advice_for(r.status); !advice.empty()) {
    e.message += "; " + std::string(advice);
  }
  e.http_status = r.status;
  e.retry_after = net::retry_after(r, now);
  e.provider_request_id = std::string(r.header("x-request-id").value_or(""));
  const auto kind = base::class_of(e.code);
  e.may_have_been_sent = is_write && (kind == base::error_class::outcome_unknown ||
                                      e.code == base::error_code::transient);
  e.detail = base::json::object({{"http_status", r.status}, {"answer", words}}).dump();
  return e;
}

} // namespace siteagent::waldur
