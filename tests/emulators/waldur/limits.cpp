// SPDX-License-Identifier: MIT
// Checks of limits against an offering's components.
#include "limits.hpp"

namespace siteagent::waldur_emulator {

base::result<json>
checked_limits(const offering& o, const json& limits, bool only_limit_components) {
  if (limits.is_null()) {
    return json::object();
  }
  if (!limits.is_object()) {
    return bad_field("limits", "Expected a dictionary of items.");
  }
  json checked = json::object();
  for (const auto& [type, value] : limits.members()) {
    const component* x = o.find_component(type);
    if (x == nullptr || (only_limit_components && x->billing_type != "limit")) {
      return bad_field("limits", "Invalid types: " + type);
    }
    const auto amount = value.integer();
    if (!amount || *amount < 0) {
      return bad_field("limits", type + ": a valid integer from 0 is required.");
    }
    const auto least = x->fields["min_value"].integer();
    const auto most = x->fields["max_value"].integer();
    if (least && *amount < *least) {
      return bad_field(
          "limits",
          "The limit for " + type + " component must not be less than " + std::to_string(*least) +
              "."
      );
    }
    if (most && *amount > *most) {
      return bad_field(
          "limits",
          "The limit for " + type + " component must not exceed " + std::to_string(*most) + "."
      );
    }
    checked.set(type, *amount);
  }
  return checked;
}

} // namespace siteagent::waldur_emulator
