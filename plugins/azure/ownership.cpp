// SPDX-License-Identifier: MIT
#include "plugins/azure/ownership.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) {
    return true;
  }
  const auto left = base::uuid::parse(a);
  return left && left == base::uuid::parse(b);
}

} // namespace

std::string tag_of(const base::json& object, std::string_view name) {
  for (const auto& [key, value] : object["tags"].members()) {
    if (base::equals_ignoring_case(key, name)) {
      return value.string_or("");
    }
  }
  return "";
}

holder holder_of(const base::json& object, const owner& who) {
  const std::string value = tag_of(object, who.tag);
  if (value.empty()) {
    return holder::nobody;
  }
  return same_value(value, who.value) ? holder::mine : holder::other;
}

bool carries(const base::json& object, const base::json& tags) {
  return std::all_of(
      tags.members().begin(),
      tags.members().end(),
      [&](const base::json::member& wanted) {
        return same_value(tag_of(object, wanted.first), wanted.second.string_or(""));
      }
  );
}

} // namespace siteagent::azure
