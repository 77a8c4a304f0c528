// SPDX-License-Identifier: MIT
// Keyed hashes for tokens and remembered secrets. The key is fixed.
#pragma once

#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

// HMAC-SHA256, 32 bytes.
std::string keyed_hash(std::string_view text);
// URL-safe base64 without padding, as JWTs use it, and back ("" for nonsense).
std::string base64url(std::string_view bytes);
std::string from_base64url(std::string_view text);

} // namespace siteagent::azure_emulator
