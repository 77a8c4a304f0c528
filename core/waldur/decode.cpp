// SPDX-License-Identifier: MIT
#include "core/waldur/decode.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"

#include <utility>

namespace siteagent::waldur {

namespace {

base::error undecodable(std::string_view field, std::string_view why) {
  return {base::error_code::transient, "field '" + std::string(field) + "' " + std::string(why)};
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : base::truncated(text, 40)) {
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return "'" + out + "'";
}

std::string text(const base::json& j, std::string_view field) {
  return j[field].string_or("");
}

std::optional<base::uuid> optional_uuid(const base::json& j, std::string_view field) {
  const auto written = j[field].string();
  return written ? base::uuid::parse(*written) : std::nullopt;
}

base::json object_or_empty(const base::json& j, std::string_view field) {
  const base::json& found = j[field];
  return found.is_object() ? found : base::json::object();
}

// Numbers and texts of numbers alike, exactly.
base::result<std::string> decimal_text(const base::json& j, const std::string& field) {
  const auto written = j.number_text();
  if (!written) {
    return undecodable(field, "is no number");
  }
  const auto number = base::decimal::parse(base::trim(*written));
  if (!number) {
    return undecodable(field, "is no number: " + shown(*written));
  }
  return number->to_string();
}

base::result<limits> decode_amounts(const base::json& j, std::string_view field) {
  limits out;
  const base::json& found = j[field];
  if (found.is_null()) {
    return out;
  }
  if (!found.is_object()) {
    return undecodable(field, "is no object");
  }
  for (const auto& [type, amount] : found.members()) {
    if (amount.is_null()) {
      continue;
    }
    auto decimal = decimal_text(amount, std::string(field) + "." + type);
    if (!decimal) {
      return decimal.error();
    }
    out.emplace(type, *std::move(decimal));
  }
  return out;
}

// The year of a time that is no time: 0001 is how some servers write "never".
bool is_unset(std::string_view time) {
  return time.empty() || time.starts_with("0001-") || time.starts_with("0000-");
}

std::optional<base::wall_time>
decode_time(const base::json& j, std::string_view field, const warn_function& warn) {
  if (j[field].is_null()) {
    return std::nullopt;
  }
  const std::string written = text(j, field);
  if (j[field].is_string() && is_unset(written)) {
    return std::nullopt;
  }
  const auto time = base::parse_rfc3339(written);
  if (!time && warn) {
    warn("field '" + std::string(field) + "' is no time and read as unknown: " + shown(written));
  }
  return time;
}

std::optional<std::string> optional_decimal(const base::json& j, std::string_view field) {
  auto number = decimal_text(j[field], std::string(field));
  return number ? std::optional(*std::move(number)) : std::nullopt;
}

base::result<void> require_object(const base::json& j) {
  if (!j.is_object()) {
    return base::error{base::error_code::transient, "it is no JSON object"};
  }
  return {};
}

} // namespace

base::result<base::uuid> required_uuid(const base::json& j, std::string_view field) {
  if (auto object = require_object(j); !object) {
    return object.error();
  }
  const auto written = j[field].string();
  if (!written) {
    return undecodable(field, "is missing");
  }
  const auto id = base::uuid::parse(*written);
  return id ? base::result<base::uuid>(*id) : undecodable(field, "is no UUID: " + shown(*written));
}

base::result<std::string> required_text(const base::json& j, std::string_view field) {
  const auto written = j[field].string();
  if (!written || written->empty()) {
    return undecodable(field, "is missing");
  }
  return std::string(*written);
}

base::result<order> decode_order(const base::json& j, const warn_function& warn) {
  auto id = required_uuid(j, "uuid");
  if (!id) {
    return id.error();
  }
  auto type = required_text(j, "type");
  if (!type) {
    return type.error();
  }
  auto state = required_text(j, "state");
  if (!state) {
    return state.error();
  }
  auto amounts = decode_amounts(j, "limits");
  if (!amounts) {
    return amounts.error();
  }
  order out;
  out.uuid = *id;
  out.type = *std::move(type);
  out.state = *std::move(state);
  out.resource_name = text(j, "resource_name");
  out.resource = optional_uuid(j, "marketplace_resource_uuid");
  out.plan = optional_uuid(j, "plan_uuid");
  if (!out.plan) {
    out.plan = optional_uuid(j, "new_plan_uuid");
  }
  out.old_plan = optional_uuid(j, "old_plan_uuid");
  out.limits = *std::move(amounts);
  out.attributes = object_or_empty(j, "attributes");
  out.project_slug = text(j, "project_slug");
  out.created = decode_time(j, "created", warn);
  out.raw = j;
  return out;
}

base::result<resource> decode_resource(const base::json& j) {
  auto id = required_uuid(j, "uuid");
  if (!id) {
    return id.error();
  }
  // Without it nobody knows whether a machine exists.
  const base::json* backend_id = j.find("backend_id");
  if (backend_id == nullptr || !(backend_id->is_null() || backend_id->is_string())) {
    return undecodable("backend_id", "is missing");
  }
  auto amounts = decode_amounts(j, "limits");
  if (!amounts) {
    return amounts.error();
  }
  resource out;
  out.uuid = *id;
  out.name = text(j, "name");
  out.slug = text(j, "slug");
  out.state = text(j, "state");
  out.backend_id = backend_id->string_or("");
  out.attributes = object_or_empty(j, "attributes");
  out.backend_metadata = object_or_empty(j, "backend_metadata");
  out.limits = *std::move(amounts);
  out.plan = optional_uuid(j, "plan_uuid");
  out.project_uuid = text(j, "project_uuid");
  out.project_slug = text(j, "project_slug");
  out.customer_slug = text(j, "customer_slug");
  const auto paused = j["paused"].boolean();
  const auto downscaled = j["downscaled"].boolean();
  out.power_flags_known = paused && downscaled;
  out.paused = paused.value_or(false);
  out.downscaled = downscaled.value_or(false);
  out.raw = j;
  return out;
}

base::result<offering> decode_offering(const base::json& j, const warn_function& warn) {
  if (auto object = require_object(j); !object) {
    return object.error();
  }
  // Absent components are unknown, not none: usage would be dropped silently.
  if (!j["components"].is_array()) {
    return undecodable("components", "is missing");
  }
  offering out;
  out.customer = optional_uuid(j, "customer_uuid");
  out.name = text(j, "name");
  out.type = text(j, "type");
  out.state = text(j, "state");
  out.plugin_options = object_or_empty(j, "plugin_options");
  out.options = object_or_empty(j, "options");
  for (const base::json& item : j["components"].items()) {
    auto type = required_text(item, "type");
    if (!type) {
      if (warn) {
        warn("a component of the offering was left out: " + type.error().message);
      }
      continue;
    }
    offering_component c;
    c.uuid = optional_uuid(item, "uuid").value_or(base::uuid{});
    c.type = *std::move(type);
    c.name = text(item, "name");
    c.billing_type = text(item, "billing_type");
    c.measured_unit = text(item, "measured_unit");
    c.unit_factor = optional_decimal(item, "unit_factor");
    c.limit_amount = optional_decimal(item, "limit_amount");
    out.components.push_back(std::move(c));
  }
  return out;
}

base::result<plan> decode_plan(const base::json& j) {
  if (auto object = require_object(j); !object) {
    return object.error();
  }
  auto quotas = decode_amounts(j, "quotas");
  if (!quotas) {
    return quotas.error();
  }
  plan out;
  out.name = text(j, "name");
  for (auto& [type, amount] : *quotas) {
    if (!base::decimal::parse(amount)->is_zero()) { // decode_amounts wrote it
      out.quotas.emplace(type, amount);
    }
  }
  return out;
}

base::result<component_usage> decode_usage(const base::json& j) {
  auto id = required_uuid(j, "uuid");
  if (!id) {
    return id.error();
  }
  auto type = required_text(j, "type");
  if (!type) {
    return type.error();
  }
  auto usage = decimal_text(j["usage"], "usage");
  if (!usage) {
    return usage.error();
  }
  return component_usage{
      *id, *std::move(type), *std::move(usage), j["billing_period"].string_or("")};
}

} // namespace siteagent::waldur
