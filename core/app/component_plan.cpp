// SPDX-License-Identifier: MIT
#include "core/app/component_plan.hpp"

#include "core/base/decimal.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace siteagent::app {

namespace {

using base::json;

constexpr std::array<std::string_view, 10> whole_numbers{
    "min_value",
    "max_value",
    "max_available_limit",
    "default_limit",
    "min_prepaid_duration",
    "max_prepaid_duration",
    "prepaid_duration_step",
    "min_renewal_duration",
    "max_renewal_duration",
    "renewal_duration_step"};
constexpr std::array<std::string_view, 3> texts{"description", "limit_period", "article_code"};
constexpr std::array<std::string_view, 2> flags{"is_boolean", "is_prepaid"};

// nullopt: not set.
std::optional<std::string> written(const config::component& c, std::string_view key) {
  const config::value* v = c.raw.find(key);
  return v == nullptr || !v->is_scalar() ? std::nullopt : std::optional(v->text);
}

// Waldur's limit_amount is a whole number; null takes an old one away.
base::result<json> limit_amount(const config::component& c) {
  const auto text = written(c, "limit");
  if (!text) {
    return json();
  }
  const auto number = base::decimal::parse(*text);
  const auto whole = number ? number->to_int64() : std::nullopt;
  if (!whole) {
    return base::error{
        base::error_code::invalid,
        "limit " + *text + " is no whole number, and Waldur takes no other; round it"};
  }
  return json(*whole);
}

// Waldur shows some numbers as text ("12.00").
bool is_same(const json& wanted, const json& shown) {
  if (wanted.is_number()) {
    const auto text = shown.number_text();
    const auto a = base::decimal::parse(*wanted.number_text());
    const auto b = text ? base::decimal::parse(*text) : std::nullopt;
    return a && b && *a == *b;
  }
  const bool is_nothing = wanted.is_null() || wanted == json(false) || wanted == json("");
  return wanted == shown || (is_nothing && (shown.is_null() || shown == json("")));
}

component_change change_of(const config::component& local, const std::vector<json>& server) {
  using action = component_change::action;
  base::result<json> body = component_for_waldur(local);
  if (!body) {
    return {.what = action::refused, .type = local.type, .why = body.error().message};
  }
  const auto row = std::find_if(server.begin(), server.end(), [&](const json& r) {
    return r["type"] == json(local.type);
  });
  if (row == server.end()) {
    return {.what = action::create, .type = local.type, .body = *std::move(body)};
  }
  component_change change{.what = action::keep, .type = local.type};
  for (const auto& [key, value] : body->members()) {
    if (const json& shown = (*row)[key]; !is_same(value, shown)) {
      change.what = action::update;
      change.differences.push_back(key + " " + shown.dump() + " -> " + value.dump());
    }
  }
  // Without it an update would take the period away.
  if (body->find("limit_period") == nullptr && !(*row)["limit_period"].is_null()) {
    body->set("limit_period", (*row)["limit_period"]);
  }
  body->set("uuid", (*row)["uuid"]);
  change.body = *std::move(body);
  return change;
}

} // namespace

base::result<json> component_for_waldur(const config::component& local) {
  base::result<json> limit = limit_amount(local);
  if (!limit) {
    return std::move(limit).error();
  }
  json body = json::object(
      {{"billing_type", local.accounting_type},
       {"type", local.type},
       {"name", local.label},
       {"measured_unit", local.measured_unit},
       {"limit_amount", *std::move(limit)}}
  );
  for (const std::string_view key : texts) {
    if (const auto text = written(local, key)) {
      body.set(key, *text);
    }
  }
  for (const std::string_view key : whole_numbers) {
    if (const auto text = written(local, key)) {
      body.set(key, json::number(*text)); // the reader let nothing else through
    }
  }
  for (const std::string_view key : flags) {
    if (const auto text = written(local, key)) {
      body.set(key, *text == "true");
    }
  }
  if (local.accounting_type == "one" && body.find("is_prepaid") == nullptr) {
    body.set("is_prepaid", true);
  }
  return body;
}

std::vector<component_change>
plan_components(const std::vector<config::component>& local, const std::vector<json>& server) {
  std::vector<component_change> changes;
  changes.reserve(local.size() + server.size());
  for (const config::component& c : local) {
    changes.push_back(change_of(c, server));
  }
  for (const json& row : server) {
    const std::string type = row["type"].string_or("");
    const bool known = std::any_of(local.begin(), local.end(), [&](const config::component& c) {
      return c.type == type;
    });
    if (!known) {
      changes.push_back({.what = component_change::action::foreign, .type = type});
    }
  }
  return changes;
}

} // namespace siteagent::app
