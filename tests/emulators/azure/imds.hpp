// SPDX-License-Identifier: MIT
// The instance metadata service of an Azure machine, as far as managed identities need it.
#pragma once

#include "context.hpp"

#include <optional>

namespace siteagent::azure_emulator {

// GET /metadata/identity/oauth2/token. nullopt: not that path.
std::optional<reply>
answer_identity(const world& w, const net::server_request& http, const emulators::call& call);

} // namespace siteagent::azure_emulator
