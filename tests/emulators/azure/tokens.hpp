// SPDX-License-Identifier: MIT
// Access tokens: making them, and the check of bearer tokens on requests to ARM.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

inline constexpr int token_life_s = 3599;
inline constexpr int identity_token_life_s = 86399;

struct token_subject {
  std::string tenant;
  std::string client_id;
  std::string object_id;
  bool meets_claims = false; // asked for with the claims of a challenge
};

// A JWT with the claims that clients read; valid from the emulator's now.
std::string issue_token(
    const token_subject& who, const std::string& audience, int life_s, const emulators::call& call
);

struct token_check {
  std::optional<reply> refusal; // the 401 to send
  std::string principal;        // object id
  std::string tenant;
};

// `tenant_hint`: the tenant that owns the subscription in the path, for WWW-Authenticate.
token_check check_token(
    const world& w,
    const net::server_request& http,
    const emulators::call& call,
    std::string_view tenant_hint
);

// Signature and life only: any audience.
bool has_valid_token(const net::server_request& http, const emulators::call& call);

reply wrong_tenant(
    std::string_view token_tenant, std::string_view subscription_tenant, const emulators::call& call
);

} // namespace siteagent::azure_emulator
