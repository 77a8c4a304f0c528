// SPDX-License-Identifier: MIT
// Typed fields of seed objects.
#include "seed_reader.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::int64_t most_items = 1'000'000;

// "{n}" in every string becomes the number.
json numbered(json value, const std::string& number) {
  if (value.is_string()) {
    std::string text = value.string_or("");
    for (auto at = text.find("{n}"); at != std::string::npos; at = text.find("{n}", at)) {
      text.replace(at, 3, number);
    }
    return text;
  }
  for (auto& item : value.items()) {
    item = numbered(std::move(item), number);
  }
  for (auto& [key, member] : value.members()) {
    member = numbered(std::move(member), number);
  }
  return value;
}

} // namespace

base::error seed_error(std::string_view where, std::string_view what) {
  std::string message = "seed";
  if (!where.empty()) {
    message += " " + std::string(where);
  }
  return {.code = base::error_code::invalid, .message = message + ": " + std::string(what)};
}

seed_item::seed_item(json object, std::string where)
    : object_(std::move(object)), where_(std::move(where)) {
  if (!object_.is_object()) {
    complain("must be an object");
  }
}

const json* seed_item::take(std::string_view key) {
  taken_.emplace(key);
  return object_.find(key);
}

std::string seed_item::text(std::string_view key, std::string fallback) {
  const json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_string()) {
    complain(std::string(key) + " must be a string");
  }
  return value->string_or(fallback);
}

bool seed_item::flag(std::string_view key, bool fallback) {
  const json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_bool()) {
    complain(std::string(key) + " must be true or false");
  }
  return value->boolean().value_or(fallback);
}

json seed_item::object(std::string_view key) {
  const json* value = take(key);
  if (value == nullptr) {
    return json::object();
  }
  if (!value->is_object()) {
    complain(std::string(key) + " must be an object");
  }
  return *value;
}

std::string seed_item::uuid(std::string_view key, std::string fallback) {
  const json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  std::string hex = hex_or_empty(value->string_or(""));
  if (hex.empty()) {
    complain(std::string(key) + " must be a uuid");
    return fallback;
  }
  return hex;
}

base::wall_time seed_item::time(std::string_view key, base::wall_time fallback) {
  const json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  const auto parsed = base::parse_rfc3339(value->string_or(""));
  if (!parsed) {
    complain(std::string(key) + " must be a time like 2026-01-31T12:00:00Z");
  }
  return parsed.value_or(fallback);
}

std::string seed_item::one_of(
    std::string_view key, std::string fallback, std::span<const std::string_view> allowed
) {
  std::string value = text(key, std::move(fallback));
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    complain(std::string(key) + " \"" + value + "\" does not exist");
  }
  return value;
}

void seed_item::complain(std::string_view what) {
  if (complaint_.empty()) {
    complaint_ = what;
  }
}

void seed_item::adopt(const seed_item& nested) {
  if (auto verdict = nested.verdict(); !verdict) {
    complain(verdict.error().message);
  }
}

base::result<void> seed_item::verdict() const {
  if (!complaint_.empty()) {
    return seed_error(where_, complaint_);
  }
  for (const auto& [key, value] : object_.members()) {
    if (!taken_.contains(key)) {
      return seed_error(where_, "unknown key \"" + key + "\"");
    }
  }
  return {};
}

base::result<void> for_each_item(
    const json& list,
    std::string_view key,
    const std::function<void(seed_item& item, std::size_t index)>& read
) {
  const json one = list.is_object() ? list : json::object();
  const auto count = list.is_object() ? list["count"].integer() : list.integer();
  if (!list.is_array() && (!count || *count < 0 || *count > most_items)) {
    return seed_error(key, "must be an array, a count or {\"count\": n, ...}");
  }
  const std::size_t total = list.is_array() ? list.size() : static_cast<std::size_t>(*count);
  for (std::size_t i = 0; i < total; ++i) {
    json object = list.is_array() ? list[i] : numbered(one, std::to_string(i + 1));
    if (!list.is_array()) {
      object.erase("count");
    }
    seed_item item(std::move(object), std::string(key) + "[" + std::to_string(i) + "]");
    read(item, i);
    if (auto ok = item.verdict(); !ok) {
      return ok;
    }
  }
  return {};
}

} // namespace siteagent::waldur_emulator
