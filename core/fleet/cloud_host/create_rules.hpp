// SPDX-License-Identifier: MIT
// What create and its dry run ask alike.
#pragma once

#include "core/fleet/cloud_host/create.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

// NAME with '.' and '_' replaced by '-'.
std::string computer_name_of(std::string_view name);

// Before the first step: the registry, its admit_from, a declared api.url.
base::result<registry_snapshot> read_for_create(const context& c);

// Step 1 but the provider's rules: the name is well formed, free as a target and as a host
// identity, not this machine's, of no unfinished create; enrolling is allowed.
base::result<void>
check_free(const context& c, const base::json& registry, const create_request& r);
// Step 1 whole; answers the size as the provider spells it.
base::result<std::string>
check_request(const context& c, const base::json& registry, const create_request& r);

// The configured locations and the one asked for, each once.
std::vector<std::string> asked_locations(const context& c, std::string_view location);
base::result<priced_size> price_of(const context& c, const create_request& r);

// The request without key and user data.
create_host_request host_request(
    const context& c,
    const create_request& r,
    const std::map<std::string, egress_record>& records,
    std::string_view group_id,
    std::string_view started_at
);
// `plugin_bug` when the answer lacks that location.
base::result<admitted_location> place_in(const admission& a, std::string_view location);

// No applied reap pass within the longer of `idle_minutes` and one hour: says so.
void warn_without_reaper(const context& c, const base::json& registry, std::int64_t idle_minutes);

} // namespace siteagent::fleet::cloud_host
