// SPDX-License-Identifier: MIT
// The machines behind the null provider: SSH servers that wait for a key.
#pragma once

#include "plugins/null/cloud_host/cloud.hpp"

#include <string>

namespace siteagent::null {

// The first of the settings that no address holds; without any, an address where nobody listens.
// Throws SAGENT_E_NO_CAPACITY when all are taken.
waiting_host next_waiting_host(const hosts_settings& settings, const base::json& state);

// Lets the key in and leaves the user data beside it; "" = nothing to do. Throws when the files
// cannot be written.
void boot(const std::string& folder, const std::string& public_key, const std::string& user_data);
// Lets nobody in any more.
void shut_down(const std::string& folder);

} // namespace siteagent::null
