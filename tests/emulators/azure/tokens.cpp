// SPDX-License-Identifier: MIT
#include "tokens.hpp"

#include "crypto.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

std::int64_t unix_seconds(base::wall_time t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

// What stands behind "Bearer"; nullopt: no such header.
std::optional<std::string> bearer_of(const net::server_request& http) {
  const std::string header = http.header("authorization");
  constexpr std::string_view scheme = "Bearer ";
  if (header.size() <= scheme.size() ||
      !equals_ignoring_case(std::string_view(header).substr(0, scheme.size()), scheme)) {
    return std::nullopt;
  }
  return std::string(base::trim(std::string_view(header).substr(scheme.size())));
}

// The claims of a token of ours; nullopt: it is none.
std::optional<json> claims_of(const std::string& token) {
  const auto last = token.rfind('.');
  const auto first = token.find('.');
  if (first == std::string::npos || first >= last) {
    return std::nullopt;
  }
  const std::string head = token.substr(0, last);
  if (from_base64url(token.substr(last + 1)) != keyed_hash(head)) {
    return std::nullopt;
  }
  auto claims = json::parse(from_base64url(head.substr(first + 1)));
  return claims ? std::optional<json>(std::move(*claims)) : std::nullopt;
}

// ARM's own names in every cloud, and this server by any of its names.
bool is_arm_audience(std::string_view audience, const emulators::call& call) {
  constexpr std::array<std::string_view, 6> known{
      "https://management.azure.com",
      "https://management.core.windows.net",
      "https://management.chinacloudapi.cn",
      "https://management.core.chinacloudapi.cn",
      "https://management.usgovcloudapi.net",
      "https://management.core.usgovcloudapi.net"};
  while (!audience.empty() && audience.back() == '/') {
    audience.remove_suffix(1);
  }
  const auto url = net::parse_url(audience);
  return equals_ignoring_case(audience, call.base_url) ||
         (url && url->target == "/" && url->origin.is_loopback()) ||
         std::any_of(known.begin(), known.end(), [&](std::string_view k) {
           return equals_ignoring_case(audience, k);
         });
}

reply unauthorized(
    const emulators::call& call,
    std::string_view tenant,
    const error_text& e,
    std::string_view description
) {
  reply r = gateway_error(401, e);
  r.headers.emplace_back(
      "WWW-Authenticate",
      "Bearer authorization_uri=\"" + call.base_url + "/" + std::string(tenant) +
          "\", error=\"invalid_token\", error_description=\"" + std::string(description) + "\""
  );
  return r;
}

// Continuous access evaluation: what the next token must have been asked for with.
reply challenge(const emulators::call& call, std::string_view tenant) {
  const json claims = json::object(
      {{"access_token",
        json::object(
            {{"nbf",
              json::object({{"essential", true}, {"value", std::to_string(unix_seconds(call.now))}}
              )}}
        )}}
  );
  const std::string text = "Continuous access evaluation resulted in challenge with result: "
                           "InteractionRequired and code: TokenIssuedBeforeRevocationTimestamp";
  reply r = gateway_error(401, {"TokenIssuedBeforeRevocationTimestamp", text});
  r.headers.emplace_back(
      "WWW-Authenticate",
      "Bearer authorization_uri=\"" + call.base_url + "/" + std::string(tenant) +
          "\", error=\"insufficient_claims\", claims=\"" + base::base64(claims.dump()) + "\""
  );
  return r;
}

std::optional<reply>
check_life(const json& claims, const emulators::call& call, const std::string& tenant) {
  const auto expires = claims["exp"].integer().value_or(0);
  if (expires > unix_seconds(call.now)) {
    return std::nullopt;
  }
  const base::wall_time when{std::chrono::seconds(expires)};
  return unauthorized(
      call,
      tenant,
      {"ExpiredAuthenticationToken",
       "The access token expiry UTC time '" + base::to_rfc3339(when) +
           "' is earlier than current UTC time '" + base::to_rfc3339(call.now) + "'."},
      "The access token has expired."
  );
}

} // namespace

std::string issue_token(
    const token_subject& who, const std::string& audience, int life_s, const emulators::call& call
) {
  const auto now = unix_seconds(call.now);
  const json header = json::object({{"typ", "JWT"}, {"alg", "RS256"}, {"kid", "azure-emulator"}});
  json payload = json::object(
      {{"aud", audience},
       {"iss", call.base_url + "/" + who.tenant + "/"},
       {"iat", now},
       {"nbf", now},
       {"exp", now + life_s},
       {"appid", who.client_id},
       {"idtyp", "app"},
       {"oid", who.object_id},
       {"sub", who.object_id},
       {"tid", who.tenant},
       {"uti", base::uuid::random().hex()},
       {"ver", "1.0"}}
  );
  if (who.meets_claims) {
    payload.set("xms_cae", "1");
  }
  const std::string head = base64url(header.dump()) + "." + base64url(payload.dump());
  return head + "." + base64url(keyed_hash(head));
}

token_check check_token(
    const world& w,
    const net::server_request& http,
    const emulators::call& call,
    std::string_view tenant_hint
) {
  token_check result;
  const std::string tenant(tenant_hint);
  const auto token = bearer_of(http);
  if (!token) {
    const bool absent = http.header("authorization").empty();
    result.refusal = unauthorized(
        call,
        tenant,
        {"AuthenticationFailed",
         absent ? "Authentication failed. The 'Authorization' header is missing."
                : "Authentication failed. The 'Authorization' header is provided in an invalid "
                  "format."},
        "The authentication failed because of missing 'Authorization' header."
    );
    return result;
  }
  const auto claims = claims_of(*token);
  if (!claims) {
    result.refusal = unauthorized(
        call,
        tenant,
        {"InvalidAuthenticationToken", "The access token is invalid."},
        "The access token is invalid."
    );
    return result;
  }
  const std::string audience = (*claims)["aud"].string_or("");
  if (!is_arm_audience(audience, call)) {
    result.refusal = unauthorized(
        call,
        tenant,
        {"InvalidAuthenticationTokenAudience",
         "The access token has been obtained for wrong audience or resource '" + audience +
             "'. It should exactly match with one of the allowed audiences '" + call.base_url +
             "/','" + call.base_url + "','https://management.azure.com/'."},
        "The access token has been obtained for wrong audience."
    );
    return result;
  }
  result.refusal = check_life(*claims, call, tenant);
  if (!result.refusal && w.offer.login.continuous_access &&
      (*claims)["xms_cae"].string_or("").empty()) {
    result.refusal = challenge(call, tenant);
  }
  result.principal = (*claims)["oid"].string_or("");
  result.tenant = (*claims)["tid"].string_or("");
  return result;
}

bool has_valid_token(const net::server_request& http, const emulators::call& call) {
  const auto token = bearer_of(http);
  const auto claims = token ? claims_of(*token) : std::nullopt;
  return claims && (*claims)["exp"].integer().value_or(0) > unix_seconds(call.now);
}

reply wrong_tenant(
    std::string_view token_tenant, std::string_view subscription_tenant, const emulators::call& call
) {
  const std::string theirs(token_tenant);
  const std::string ours(subscription_tenant);
  return unauthorized(
      call,
      ours,
      {"InvalidAuthenticationTokenTenant",
       "The access token is from the wrong issuer '" + call.base_url + "/" + theirs +
           "/'. It must match the tenant '" + call.base_url + "/" + ours +
           "/' associated with this subscription. Please use the authority (URL) '" +
           call.base_url + "/" + ours + "' to get the token."},
      "The access token is from the wrong issuer."
  );
}

} // namespace siteagent::azure_emulator
