// SPDX-License-Identifier: MIT
// Base64 back to bytes: standard and URL alphabet, padding optional, no white space.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure {

std::optional<std::string> base64_decode(std::string_view text);

} // namespace siteagent::azure
