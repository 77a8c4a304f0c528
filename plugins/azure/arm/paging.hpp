// SPDX-License-Identifier: MIT
// Lists, read to their last page or not at all.
#pragma once

#include "plugins/azure/arm/pipeline.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::arm {

// All elements of `value` of all pages, in order; duplicates across pages are kept once (by id). A
// repeated link, more than 10,000 pages or a failed page is an error: a partial list is no list.
base::result<std::vector<base::json>>
read_all(const pipeline& arm, const scope& call, const std::string& path, std::string_view what);

} // namespace siteagent::azure::arm
