// SPDX-License-Identifier: MIT
// One entry of `offerings`. Internal to core/config.
#pragma once

#include "core/config/config.hpp"
#include "core/config/reader.hpp"

#include <string>

namespace siteagent::config {

// Problems go to the context; the result is usable only when none of them is fatal.
offering read_offering(context& ctx, const value& map, const std::string& path);

// `backend_components`.
std::vector<component> read_components(context& ctx, const value& map, const std::string& path);

} // namespace siteagent::config
