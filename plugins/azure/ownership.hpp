// SPDX-License-Identifier: MIT
// Whose object is it? Decided by one tag, whose name and value the host gives.
#pragma once

#include "core/base/json.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure {

struct owner {
  std::string tag;   // name of the tag
  std::string value; // the resource's uuid, 32 hex digits
};

enum class holder : std::uint8_t { mine, other, nobody };

// Names of tags compare without case, values exactly (uuids: by value, in either form). An object
// without the tag, or with an empty one, belongs to nobody.
holder holder_of(const base::json& object, const owner& who);

// Does the object carry all of these tags?
bool carries(const base::json& object, const base::json& tags);
// Value of a tag, "" when absent.
std::string tag_of(const base::json& object, std::string_view name);

} // namespace siteagent::azure
