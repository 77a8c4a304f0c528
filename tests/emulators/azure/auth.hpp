// SPDX-License-Identifier: MIT
// The token endpoint, and the way from a path to everything that is asked before the first token.
#pragma once

#include "context.hpp"

#include <optional>

namespace siteagent::azure_emulator {

// Answers the login paths (token endpoints v1, v2 and adfs), the documents of metadata.hpp and the
// metadata service of imds.hpp. nullopt: not such a path.
std::optional<reply>
answer_login(world& w, const net::server_request& http, const emulators::call& call);

} // namespace siteagent::azure_emulator
