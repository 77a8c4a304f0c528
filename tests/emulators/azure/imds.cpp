// SPDX-License-Identifier: MIT
#include "imds.hpp"

#include "tokens.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply bad_request(std::string_view why) {
  return json_reply(400, json::object({{"error", "invalid_request"}, {"error_description", why}}));
}

// At most one of the three parameters; nullptr: no such identity.
const identity_entry* find_identity(const world& w, const net::server_request& http) {
  const std::string client = http.parameter("client_id");
  const std::string object = http.parameter("object_id");
  const std::string resource =
      http.parameter("msi_res_id") + http.parameter("mi_res_id"); // newer versions say mi_res_id
  const bool any = !(client + object + resource).empty();
  for (const auto& i : w.offer.login.identities) {
    const bool fits =
        !any ? i.resource_id.empty()
             : equals_ignoring_case(i.client_id, client) ||
                   equals_ignoring_case(i.object_id, object) ||
                   (!resource.empty() && equals_ignoring_case(i.resource_id, resource));
    if (fits) {
      return &i;
    }
  }
  // A lone user-assigned identity is the default one.
  return !any && w.offer.login.identities.size() == 1 ? w.offer.login.identities.data() : nullptr;
}

std::optional<reply> check_request(const net::server_request& http) {
  if (http.method != "GET") {
    return json_reply(405, json::object({{"error", "method_not_allowed"}}));
  }
  if (!equals_ignoring_case(http.header("metadata"), "true")) {
    return bad_request("Required metadata header not specified");
  }
  if (!http.header("x-forwarded-for").empty()) {
    return bad_request("Request contains the X-Forwarded-For header");
  }
  const std::string version = http.parameter("api-version");
  if (version < "2018-02-01") {
    return bad_request("Required query variable 'api-version' is missing or too old");
  }
  if (http.parameter("resource").empty()) {
    return bad_request("Required query variable 'resource' is missing");
  }
  const auto chosen = std::count_if(http.parameters.begin(), http.parameters.end(), [](auto& p) {
    return p.first == "client_id" || p.first == "object_id" || p.first == "msi_res_id" ||
           p.first == "mi_res_id";
  });
  return chosen > 1 ? std::optional(bad_request("Multiple identities specified")) : std::nullopt;
}

} // namespace

std::optional<reply>
answer_identity(const world& w, const net::server_request& http, const emulators::call& call) {
  const auto& s = http.segments;
  const bool ours = s.size() == 4 && equals_ignoring_case(s[0], "metadata") &&
                    equals_ignoring_case(s[1], "identity") &&
                    equals_ignoring_case(s[2], "oauth2") && equals_ignoring_case(s[3], "token");
  if (!ours) {
    return std::nullopt;
  }
  if (auto bad = check_request(http)) {
    return bad;
  }
  const auto* identity = find_identity(w, http);
  if (identity == nullptr) {
    return bad_request("Identity not found");
  }
  const std::string audience = http.parameter("resource");
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(call.now.time_since_epoch()).count();
  const std::string token = issue_token(
      {identity->tenant, identity->client_id, identity->object_id},
      audience,
      identity_token_life_s,
      call
  );
  return json_reply(
      200,
      json::object(
          {{"access_token", token},
           {"client_id", identity->client_id},
           {"expires_in", std::to_string(identity_token_life_s)},
           {"expires_on", std::to_string(now + identity_token_life_s)},
           {"ext_expires_in", std::to_string(identity_token_life_s)},
           {"not_before", std::to_string(now)},
           {"resource", audience},
           {"token_type", "Bearer"}}
      )
  );
}

} // namespace siteagent::azure_emulator
