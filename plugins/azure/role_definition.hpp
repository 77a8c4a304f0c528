// SPDX-License-Identifier: MIT
// The least-privilege custom roles for an operator to create.
#pragma once

#include "core/base/json.hpp"
#include "plugins/azure/permissions.hpp"
#include "plugins/azure/settings.hpp"

#include <string>
#include <vector>

namespace siteagent::azure {

// The name of the role for an area; unique per scope, as Azure wants it within a tenant.
std::string role_name(right_area area, const settings& s);

// One role per area that needs rights of its own: {"Name","IsCustom","Description","Actions",
// "NotActions","AssignableScopes"}, as `az role definition create --role-definition` takes it.
// Needs no Azure: an operator asks for it before the credentials may do anything.
// `meters_hours`: some component is metered in hours.
std::vector<base::json> role_definitions(const settings& s, bool meters_hours = false);

} // namespace siteagent::azure
