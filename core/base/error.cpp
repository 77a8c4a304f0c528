// SPDX-License-Identifier: MIT
#include "core/base/error.hpp"

namespace siteagent::base {

error_class class_of(std::int32_t code) noexcept {
  if (code == SAGENT_E_OUTCOME_UNKNOWN) {
    return error_class::outcome_unknown;
  }
  if (code < 0) {
    return error_class::broken;
  }
  switch (code / 100) {
  case 1:
    return error_class::transient;
  case 2:
    return error_class::permanent;
  case 3:
    return error_class::refused;
  case 4:
    return error_class::not_found;
  default:
    return error_class::broken;
  }
}

std::string_view name_of(error_code code) noexcept {
  switch (code) {
  case error_code::transient:
    return "transient";
  case error_code::throttled:
    return "throttled";
  case error_code::no_capacity:
    return "no_capacity";
  case error_code::deadline:
    return "deadline";
  case error_code::cancelled:
    return "cancelled";
  case error_code::not_ready:
    return "not_ready";
  case error_code::outcome_unknown:
    return "outcome_unknown";
  case error_code::permanent:
    return "permanent";
  case error_code::invalid:
    return "invalid";
  case error_code::auth:
    return "auth";
  case error_code::conflict:
    return "conflict";
  case error_code::unsupported:
    return "unsupported";
  case error_code::forbidden:
    return "forbidden";
  case error_code::refused:
    return "refused";
  case error_code::quota:
    return "quota";
  case error_code::price:
    return "price";
  case error_code::not_found:
    return "not_found";
  case error_code::plugin_bug:
    return "plugin_bug";
  case error_code::plugin_lost:
    return "plugin_lost";
  }
  switch (class_of(code)) {
  case error_class::transient:
    return "transient";
  case error_class::outcome_unknown:
    return "outcome_unknown";
  case error_class::permanent:
    return "permanent";
  case error_class::refused:
    return "refused";
  case error_class::not_found:
    return "not_found";
  case error_class::broken:
    break;
  }
  return "plugin_bug";
}

error with_context(error e, std::string_view context) {
  e.message.insert(0, ": ").insert(0, context);
  return e;
}

} // namespace siteagent::base
