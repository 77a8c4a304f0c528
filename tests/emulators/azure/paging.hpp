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

// A list that can be taken up anywhere: offers its keys in order, from the first that is not below
// `from`, until `take` says false.
using key_source = std::function<
    void(const std::string& from, const std::function<bool(const std::string& key)>& take)>;

// The keys of resources below a prefix that a list shows; the world must outlive it.
key_source
keys_below(const world& w, std::string prefix, std::function<bool(const resource& r)> shows);
// Keys in order; must outlive the source.
key_source keys_of(const std::vector<std::string>& keys);

// One page of a list ({"value": [...], "nextLink"}), each key turned into JSON by `show`. A
// principal that may not read the whole list sees its part of it. The position travels as an opaque
// $skiptoken; one that this emulator did not make is refused. What a page costs does not depend on
// how many came before it.
reply page_of(
    const context& c,
    const key_source& all,
    std::size_t page_size,
    const std::function<base::json(const std::string& key)>& show
);

using filter_terms = std::vector<std::pair<std::string, std::string>>;
// "a eq 'x' and b eq 'y'": names in lower case, values unquoted. nullopt: anything else.
std::optional<filter_terms> parse_filter(std::string_view text);

} // namespace siteagent::azure_emulator
