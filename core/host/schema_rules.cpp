// SPDX-License-Identifier: MIT
#include "core/host/schema_rules.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "core/host/deadlines.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::host {

using base::json;

namespace {

// What a JSON pointer (with or without a leading "#") leads to, or null.
const json& at_pointer(const json& root, std::string_view pointer) {
  static const json nothing;
  if (!pointer.empty() && pointer[0] == '#') {
    pointer.remove_prefix(1);
  }
  const json* at = &root;
  for (const std::string_view step : base::split(pointer, '/')) {
    if (step.empty()) {
      continue;
    }
    std::size_t index = 0;
    const auto parsed = std::from_chars(step.data(), step.data() + step.size(), index);
    if (at->is_array()) {
      at = parsed.ec == std::errc() ? &(*at)[index] : &nothing;
    } else {
      at = &(*at)[step];
    }
  }
  return *at;
}

std::string_view in_words(std::string_view type) {
  if (type == "string") {
    return "a text";
  }
  if (type == "integer") {
    return "a whole number";
  }
  if (type == "number") {
    return "a number";
  }
  if (type == "boolean") {
    return "true or false";
  }
  if (type == "array") {
    return "a list";
  }
  return type == "object" ? "a mapping" : type;
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string check_number(const json& value, const json& rule) {
  const auto number = base::decimal::parse(value.number_text().value_or(""));
  const auto limit = [&rule](const char* key) {
    return base::decimal::parse(rule[key].number_text().value_or(""));
  };
  if (!number) {
    return {};
  }
  if (const auto least = limit("minimum")) {
    const bool exclusive = rule["exclusiveMinimum"].boolean().value_or(false);
    if (*number < *least || (exclusive && *number == *least)) {
      return (exclusive ? "must be more than " : "must be at least ") + least->to_string();
    }
  }
  if (const auto most = limit("maximum")) {
    const bool exclusive = rule["exclusiveMaximum"].boolean().value_or(false);
    if (*number > *most || (exclusive && *number == *most)) {
      return (exclusive ? "must be less than " : "must be at most ") + most->to_string();
    }
  }
  return {};
}

std::string
check_size(std::size_t size, const json& least, const json& most, std::string_view unit) {
  const auto count = static_cast<std::int64_t>(size);
  if (const auto n = least.integer(); n && count < *n) {
    if (size == 0 && *n == 1) {
      return "must not be empty";
    }
    return "must have at least " + std::to_string(*n) + " " + std::string(unit);
  }
  if (const auto n = most.integer(); n && count > *n) {
    return "must have at most " + std::to_string(*n) + " " + std::string(unit);
  }
  return {};
}

} // namespace

bool type_set::contains(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::string type_set::words() const {
  std::vector<std::string> words;
  for (const std::string& name : names_) {
    words.emplace_back(in_words(name));
  }
  return words.empty() ? "a value" : base::join(words, " or ");
}

type_set allowed_types(const json& rule) {
  type_set types;
  const json& type = rule["type"];
  if (const auto one = type.string()) {
    types.add(*one);
  }
  for (const json& each : type.items()) {
    types.add(each.string_or(""));
  }
  if (types.empty()) {
    if (rule.find("properties") != nullptr || rule.find("additionalProperties") != nullptr) {
      types.add("object");
    } else if (rule.find("items") != nullptr) {
      types.add("array");
    }
  }
  return types;
}

const json& resolved(const json& root, const json& rule) {
  static constexpr int longest_chain = 16;
  const json* at = &rule;
  for (int i = 0; i < longest_chain; ++i) {
    const auto reference = (*at)["$ref"].string();
    if (!reference) {
      break;
    }
    at = &at_pointer(root, *reference);
  }
  return *at;
}

std::vector<const json*> alternatives(const json& rule) {
  std::vector<const json*> rules;
  if (!allowed_types(rule).empty()) {
    return rules;
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    for (const json& each : rule[key].items()) {
      rules.push_back(&each);
    }
  }
  return rules;
}

std::string check_simple_rules(const json& value, const json& rule) {
  if (const json& allowed = rule["enum"]; allowed.is_array()) {
    const auto& items = allowed.items();
    if (std::find(items.begin(), items.end(), value) == items.end()) {
      std::vector<std::string> words;
      for (const json& item : items) {
        words.push_back(item.is_string() ? item.string_or("") : item.dump());
      }
      return "must be one of " + base::join(words, ", ");
    }
  }
  if (value.is_number()) {
    return check_number(value, rule);
  }
  if (const auto text = value.string()) {
    return check_size(count_code_points(*text), rule["minLength"], rule["maxLength"], "characters");
  }
  if (value.is_array()) {
    return check_size(value.size(), rule["minItems"], rule["maxItems"], "elements");
  }
  return {};
}

std::string explain_violation(const json& root, const base::json_schema::violation& violation) {
  if (violation.keyword == "pattern") {
    const json& rule = at_pointer(root, violation.schema_pointer);
    const auto pattern = rule.is_string() ? rule.string() : rule["pattern"].string();
    if (pattern) {
      return "must match the pattern " + std::string(*pattern);
    }
  }
  return "is against the rule '" + violation.keyword + "' of the plugin's settings";
}

json limits_schema() {
  json properties = json::object();
  const json seconds = json::object({{"type", "integer"}, {"minimum", 1}, {"maximum", 604800}});
  for (const std::string_view key : limit_keys()) {
    properties.set(key, seconds);
  }
  return json::object(
      {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
  );
}

} // namespace siteagent::host
