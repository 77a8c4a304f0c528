// SPDX-License-Identifier: MIT
// What the operator offers, and images in the forms people write them. Pure.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/settings.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure {

// A refusal whose text the customer reads: one line, at most 600 bytes, since values come from him.
base::error order_refusal(std::string text);

// "publisher:offer:sku:version", or an object with these four fields.
base::result<image_reference> parse_image(const base::json& value);

// Are these among the allowed_* lists? An empty list allows everything; case does not matter; an
// image listed without a version is offered in every version.
bool is_offered_size(const settings& s, std::string_view size);
bool is_offered_location(const settings& s, std::string_view location);
bool is_offered_image(const settings& s, const image_reference& image);

} // namespace siteagent::azure
