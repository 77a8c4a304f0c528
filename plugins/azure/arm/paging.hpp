// SPDX-License-Identifier: MIT
// Lists, read to their last page or not at all.
#pragma once

#include "plugins/azure/arm/pipeline.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::arm {

// What is done with one element of a list.
using taker = std::function<void(base::json&&)>;

// Hands every element of `value` of all pages to `take`, in order, page by page, so that a long
// list never lies in memory as a whole; duplicates across pages come once (by id). An expired link
// starts the list again. A link that points back, more than 10,000 pages or a failed page is an
// error: what was taken until then is no list.
base::result<void> read_each(
    const pipeline& arm,
    const scope& call,
    const std::string& path,
    std::string_view what,
    const taker& take
);

// The same as a whole.
base::result<std::vector<base::json>>
read_all(const pipeline& arm, const scope& call, const std::string& path, std::string_view what);

} // namespace siteagent::azure::arm
