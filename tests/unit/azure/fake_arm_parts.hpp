// SPDX-License-Identifier: MIT
// Small helpers of the fake Azure.
#pragma once

#include "core/base/text.hpp"
#include "tests/unit/azure/fake_arm.hpp"

#include <algorithm>

namespace siteagent::azure::test {

inline std::string lower(std::string_view text) {
  return base::to_lower(text);
}

inline bool contains(const std::string& text, std::string_view part) {
  return lower(text).find(lower(part)) != std::string::npos;
}

inline bool ends_with(const std::string& text, std::string_view tail) {
  return text.size() >= tail.size() && lower(text.substr(text.size() - tail.size())) == lower(tail);
}

inline net::response not_found(std::string_view code) {
  net::response r;
  r.status = 404;
  r.body = fake_arm::error_text(code);
  return r;
}

inline net::response refused(int status, std::string_view code, std::string_view message = "text") {
  net::response r;
  r.status = status;
  r.body = fake_arm::error_text(code, message);
  return r;
}

inline std::size_t depth(const std::string& key) {
  return static_cast<std::size_t>(std::count(key.begin(), key.end(), '/'));
}

inline bool is_group(const std::string& key) {
  return depth(key) == 4 && contains(key, "/resourcegroups/");
}

inline std::string group_of(const std::string& key) {
  const auto at = key.find("/providers/");
  return at == std::string::npos ? key : key.substr(0, at);
}

inline std::string type_of(const std::string& id) {
  const auto at = id.find("/providers/");
  const auto parts = base::split(std::string_view(id).substr(at + 11), '/');
  std::string type(parts[0]);
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
    type += "/" + std::string(parts[i]);
  }
  return type;
}

} // namespace siteagent::azure::test
