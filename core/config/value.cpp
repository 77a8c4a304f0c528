// SPDX-License-Identifier: MIT
#include "core/config/value.hpp"

#include "core/base/text.hpp"

#include <functional>

namespace siteagent::config {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)? : every YAML and JSON reader sees the same number in it.
bool is_plain_number(std::string_view t) {
  std::size_t i = !t.empty() && t[0] == '-' ? 1 : 0;
  const std::size_t start = i;
  while (i < t.size() && is_digit(t[i])) {
    ++i;
  }
  if (i == start || (t[start] == '0' && i - start > 1)) {
    return false;
  }
  if (i == t.size()) {
    return true;
  }
  if (t[i] != '.' || i + 1 == t.size()) {
    return false;
  }
  for (++i; i < t.size(); ++i) {
    if (!is_digit(t[i])) {
      return false;
    }
  }
  return true;
}

base::json scalar_to_json(const value& v) {
  if (v.quoted) {
    return v.text;
  }
  if (v.text == "true" || v.text == "True" || v.text == "TRUE") {
    return true;
  }
  if (v.text == "false" || v.text == "False" || v.text == "FALSE") {
    return false;
  }
  return is_plain_number(v.text) ? base::json::number(v.text) : base::json(v.text);
}

std::size_t mix(std::size_t seed, std::string_view text) {
  return (seed * 1099511628211U) ^ std::hash<std::string_view>()(text);
}

} // namespace

std::size_t digest_of(const value& v) {
  std::size_t d = mix(static_cast<std::size_t>(v.type) + 1, v.quoted ? "quoted" : "plain");
  d = mix(d, v.text);
  for (const value& item : v.list) {
    d = (d * 31U) ^ digest_of(item);
  }
  for (const value::entry& e : v.map) {
    d = (mix(d, e.first) * 31U) ^ digest_of(e.second);
  }
  return d;
}

const value* value::find(std::string_view key) const {
  for (const entry& e : map) {
    if (e.first == key) {
      return &e.second;
    }
  }
  return nullptr;
}

base::json to_json(const value& v) {
  switch (v.type) {
  case value::kind::null:
    return {};
  case value::kind::scalar:
    return scalar_to_json(v);
  case value::kind::list: {
    base::json out = base::json::array();
    for (const value& item : v.list) {
      out.push_back(to_json(item));
    }
    return out;
  }
  case value::kind::map: {
    base::json out = base::json::object();
    for (const auto& [key, item] : v.map) {
      out.members().emplace_back(key, to_json(item)); // keys are unique already
    }
    return out;
  }
  }
  return {};
}

value to_value(const base::json& j) {
  value v;
  switch (j.type()) {
  case base::json::kind::null:
    break;
  case base::json::kind::boolean:
    v.type = value::kind::scalar;
    v.text = *j.boolean() ? "true" : "false";
    break;
  case base::json::kind::number:
  case base::json::kind::string:
    v.type = value::kind::scalar;
    v.text = j.number_text().value_or("");
    v.quoted = j.is_string();
    break;
  case base::json::kind::array:
    v.type = value::kind::list;
    for (const base::json& item : j.items()) {
      v.list.push_back(to_value(item));
    }
    break;
  case base::json::kind::object:
    v.type = value::kind::map;
    for (const auto& [key, item] : j.members()) {
      v.map.emplace_back(key, to_value(item));
    }
    break;
  }
  return v;
}

std::string shown_key(std::string_view key) {
  constexpr std::size_t longest = 60;
  std::size_t end = 0;
  while (end < key.size() && end < longest) {
    const auto c = static_cast<unsigned char>(key[end]);
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !is_digit(key[end]) && c < 0x80 && c != '_' && c != '-' && c != '.' &&
        c != '/' && c != '+' && c != '<') {
      break;
    }
    ++end;
  }
  const std::string_view shown = base::truncated(key, end);
  return shown.size() == key.size() ? std::string(key) : std::string(shown) + "...";
}

std::string finding::text() const {
  std::string out = file;
  if (at.line > 0) {
    out += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }
  out += fatal ? ": error: " : ": warning: ";
  if (!key.empty()) {
    out += key + ": ";
  }
  return out + why;
}

} // namespace siteagent::config
