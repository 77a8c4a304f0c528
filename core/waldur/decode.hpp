// SPDX-License-Identifier: MIT
// JSON answers to the types of types.hpp. Internal to core/waldur. Pure functions.
//
// Errors are `transient` (the answer is not what the contract says, so nothing is known) and name
// the field. A null reads as absent.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/waldur/types.hpp"

#include <functional>
#include <string>
#include <vector>

namespace siteagent::waldur {

using warn_function = std::function<void(std::string)>;

// Needs uuid, type and state. An unreadable or unset (year 1) `created` is unknown; `warn` hears
// of an unreadable one.
base::result<order> decode_order(const base::json& j, const warn_function& warn);
// Needs uuid and the presence of backend_id: null and "" mean none, absent means unknown.
base::result<resource> decode_resource(const base::json& j);
// Components that lack a type are left out.
base::result<offering> decode_offering(const base::json& j, const warn_function& warn);
base::result<plan> decode_plan(const base::json& j);
// Needs uuid, type and usage.
base::result<component_usage> decode_usage(const base::json& j);

base::result<base::uuid> required_uuid(const base::json& j, std::string_view field);
base::result<std::string> required_text(const base::json& j, std::string_view field);

} // namespace siteagent::waldur
