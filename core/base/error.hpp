// SPDX-License-Identifier: MIT
// The error value of the whole product: the codes of the plugin ABI and the words for people.
#pragma once

#include <sagent/plugin.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::base {

// One to one the codes of sagent/plugin.h; see there for their meaning.
enum class error_code : std::int32_t {
  transient = SAGENT_E_TRANSIENT,
  throttled = SAGENT_E_THROTTLED,
  no_capacity = SAGENT_E_NO_CAPACITY,
  deadline = SAGENT_E_DEADLINE,
  cancelled = SAGENT_E_CANCELLED,
  not_ready = SAGENT_E_NOT_READY,
  outcome_unknown = SAGENT_E_OUTCOME_UNKNOWN,
  permanent = SAGENT_E_PERMANENT,
  invalid = SAGENT_E_INVALID,
  auth = SAGENT_E_AUTH,
  conflict = SAGENT_E_CONFLICT,
  unsupported = SAGENT_E_UNSUPPORTED,
  forbidden = SAGENT_E_FORBIDDEN,
  refused = SAGENT_E_REFUSED,
  quota = SAGENT_E_QUOTA,
  price = SAGENT_E_PRICE,
  not_found = SAGENT_E_NOT_FOUND,
  plugin_bug = SAGENT_E_PLUGIN_BUG,
  plugin_lost = SAGENT_E_PLUGIN_LOST,
};

// What decides the reaction (plugin ABI: the hundreds digit, with 150 apart).
enum class error_class : std::uint8_t {
  transient,       // 1xx
  outcome_unknown, // 150
  permanent,       // 2xx
  refused,         // 3xx
  not_found,       // 4xx
  broken,          // 9xx, negative, or a class we do not know
};

// Any code, also one this build has no name for.
error_class class_of(std::int32_t code) noexcept;

inline error_class class_of(error_code code) noexcept {
  return class_of(static_cast<std::int32_t>(code));
}

// A stable lower-case word for logs, for example "throttled"; unknown codes give their class.
std::string_view name_of(error_code code) noexcept;

struct error {
  error_code code = error_code::permanent;
  std::string message = {};        // for the operator: what, which object, why, next step; one line
  std::string public_message = {}; // for the customer; empty: the stock text
  std::string provider_code = {};  // the remote side's own code, verbatim
  std::string provider_request_id = {}; // the remote side's id of the failed request
  std::string detail = {};              // JSON object or empty
  std::optional<std::chrono::milliseconds> retry_after = {};
  int http_status = 0;             // 0: no HTTP answer behind this error
  bool may_have_been_sent = false; // the request may have reached the other side
};

// Puts `context + ": "` before the message; one layer, one call.
error with_context(error e, std::string_view context);

} // namespace siteagent::base
