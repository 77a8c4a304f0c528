// SPDX-License-Identifier: MIT
// Names for contents.
#pragma once

#include <string>
#include <string_view>

namespace siteagent::fleet {

// Lower-case hex.
std::string sha256_hex(std::string_view bytes);

} // namespace siteagent::fleet
