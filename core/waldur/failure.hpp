// SPDX-License-Identifier: MIT
// What an HTTP answer that is no success means. Internal to core/waldur. Pure functions.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/net/transport.hpp"

#include <string>
#include <string_view>

namespace siteagent::waldur {

// The server's own words for people, on one line: `detail`, the messages of a validation error, or
// the first 200 printable bytes of what is no JSON. Not scrubbed, at most 4000 bytes.
std::string server_words(std::string_view body);

// `words` are already scrubbed and cut. The message begins with `what`.
base::error status_failure(
    std::string_view what,
    const net::response& r,
    std::string_view words,
    bool is_write,
    base::wall_time now
);

} // namespace siteagent::waldur
