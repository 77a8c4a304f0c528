// SPDX-License-Identifier: MIT
// What a token endpoint answers: a token, or a refusal with its meaning. Pure functions.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

// Whom a token is for, and where it is fetched.
struct principal {
  std::string authority; // origin, "https://login.microsoftonline.com"
  std::string tenant;
  std::string client_id;
  std::string audience;      // "https://management.azure.com"
  std::string identity = {}; // of a managed identity: "object_id=…"; empty for service principals

  // Equal keys may share tokens.
  std::string key() const {
    return authority + "\n" + tenant + "\n" + client_id + "\n" + audience + "\n" + identity;
  }

  // "client X in tenant Y", for messages.
  std::string name() const;
  // The v2 token endpoint; the one of AD FS for the tenant "adfs" (private clouds).
  std::string token_url() const;

  bool is_adfs() const;
};

// What a token answer holds, read defensively.
struct token_answer {
  base::secret token;
  std::chrono::seconds lifetime{300};
  std::optional<std::chrono::seconds> refresh_in;
};

// Lifetimes may be numbers, text, absolute ("expires_on") or missing. Errors: transient, when
// there is no usable bearer token in it.
base::result<token_answer> parse_token(std::string_view body, base::wall_time now);

// The words and class of a refused token request: transient, or auth with what the operator must
// change. Decided by error_codes, then by `error`, never by the description.
base::error token_error(const net::response& answer, const principal& who);

} // namespace siteagent::azure::arm
