// SPDX-License-Identifier: MIT
// The JSON bodies of plugin calls (sagent/resource_backend.h): Waldur's objects in the ABI's words.
// Pure functions.
#pragma once

#include "core/base/json.hpp"
#include "core/base/uuid.hpp"
#include "core/config/config.hpp"
#include "core/waldur/types.hpp"

#include <map>
#include <string>
#include <vector>

namespace siteagent::agent {

// The names of the tags on everything made for Waldur.
inline constexpr const char* tag_managed_by = "managed-by";
inline constexpr const char* tag_managed_by_value = "waldur-site-agent";
inline constexpr const char* tag_resource = "waldur-resource-uuid";
inline constexpr const char* tag_offering = "waldur-offering-uuid";
inline constexpr const char* tag_project = "waldur-project-slug";

base::json limits_to_json(const waldur::limits& l);
base::json offering_to_json(const config::offering& offering);
// `old_limits` etc. are added by the caller where they matter.
base::json order_to_json(const waldur::order& order);
base::json resource_to_json(const waldur::resource& resource);
// {"cpu":{"unit_factor":"1",...}}
base::json components_to_json(const std::vector<config::component>& components);
base::json keys_to_json(const std::map<std::string, std::string>& keys);

// For objects of one resource; a project slug we do not know is no tag.
base::json resource_tags(
    const base::uuid& offering, const base::uuid& resource, const std::string& project_slug
);
// The filter for everything of an offering.
base::json offering_tags(const base::uuid& offering);

// [{"uuid","backend_id"}], and the answer's rows by their uuid; rows without one are dropped.
base::json resource_refs(const std::vector<waldur::resource>& resources);
std::map<base::uuid, base::json> rows_by_uuid(std::vector<base::json> rows);

// The local components plus those only the server knows, as the contract wants them (1.5).
std::vector<config::component> merge_components(
    std::vector<config::component> local, const std::vector<waldur::offering_component>& server
);

// Equal as numbers; a component that is absent equals one that is zero.
bool same_limits(const waldur::limits& a, const waldur::limits& b);

} // namespace siteagent::agent
