// SPDX-License-Identifier: MIT
// Pages of a list, and the small part of OData filters that the services understand.
#pragma once

#include "context.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::azure_emulator {

// One page of `keys` ({"value": [...], "nextLink"}), each turned into JSON by `show`. The position
// A principal that may not read the whole list sees its part of it. The position
// travels as an opaque $skiptoken; one that this emulator did not make is refused.
reply page_of(
    const context& c,
    const std::vector<std::string>& keys,
    std::size_t page_size,
    const std::function<base::json(const std::string& key)>& show
);

using filter_terms = std::vector<std::pair<std::string, std::string>>;
// "a eq 'x' and b eq 'y'": names in lower case, values unquoted. nullopt: anything else.
std::optional<filter_terms> parse_filter(std::string_view text);

} // namespace siteagent::azure_emulator
