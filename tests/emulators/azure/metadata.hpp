// SPDX-License-Identifier: MIT
// What clients read before they log in: the documents of the cloud, of its directory and a few
// beside them. None needs a token, except the directory's objects.
#pragma once

#include "context.hpp"
#include "login_errors.hpp"

#include <optional>
#include <string_view>

namespace siteagent::azure_emulator {

// /metadata/endpoints, OpenID configurations with their keys, instance discovery, service
// principals of the directory, image aliases. nullopt: not such a path.
std::optional<reply>
answer_metadata(const world& w, const net::server_request& http, const emulators::call& call);

// nullopt: the emulator knows that tenant.
std::optional<login_error> check_tenant(const world& w, std::string_view tenant);

} // namespace siteagent::azure_emulator
