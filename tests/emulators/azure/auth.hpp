// SPDX-License-Identifier: MIT
// The token endpoint, and the check of bearer tokens on ARM requests.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

// Answers the login paths (token endpoints v1, v2 and adfs, OpenID configuration, instance
// discovery). nullopt: not such a path.
std::optional<reply>
answer_login(const world& w, const net::server_request& http, const emulators::call& call);

struct token_check {
  std::optional<reply> refusal; // the 401 to send
  std::string principal;        // object id
  std::string tenant;
};

// `tenant_hint`: the tenant that owns the subscription in the path, for WWW-Authenticate.
token_check check_token(
    const net::server_request& http, const emulators::call& call, std::string_view tenant_hint
);
reply wrong_tenant(
    std::string_view token_tenant, std::string_view subscription_tenant, const emulators::call& call
);

} // namespace siteagent::azure_emulator
