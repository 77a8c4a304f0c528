// SPDX-License-Identifier: MIT
#include "auth.hpp"

#include "crypto.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr int token_life_s = 3599;

std::int64_t unix_seconds(base::wall_time t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

struct login_error {
  int status;
  std::string_view name;
  int code;
  std::string text;
};

reply login_refusal(const emulators::call& call, const login_error& e) {
  const std::string trace = base::uuid::random().dashed();
  const std::string correlation = base::uuid::random().dashed();
  std::string time = base::to_rfc3339(call.now);
  time[10] = ' ';
  const std::string number = std::to_string(e.code);
  const json body = json::object(
      {{"error", e.name},
       {"error_description",
        "AADSTS" + number + ": " + e.text + " Trace ID: " + trace +
            " Correlation ID: " + correlation + " Timestamp: " + time},
       {"error_codes", json::array({e.code})},
       {"timestamp", time},
       {"trace_id", trace},
       {"correlation_id", correlation},
       {"error_uri", "https://login.microsoftonline.com/error?code=" + number}}
  );
  reply r = json_reply(e.status, body);
  r.headers.emplace_back("x-ms-request-id", trace);
  return r;
}

bool looks_like_tenant(std::string_view text) {
  return base::uuid::parse(text).has_value() || text.find('.') != std::string_view::npos;
}

std::optional<login_error> check_tenant(const world& w, std::string_view tenant) {
  if (!looks_like_tenant(tenant) && !w.offer.is_tenant(tenant)) {
    return login_error{
        400,
        "invalid_request",
        900023,
        "Specified tenant identifier '" + std::string(tenant) +
            "' is neither a valid DNS name, nor a valid external domain."};
  }
  if (!w.offer.is_tenant(tenant)) {
    return login_error{
        400,
        "invalid_tenant",
        90002,
        "Tenant '" + std::string(tenant) +
            "' not found. Check to make sure you have the correct tenant ID and are signing into "
            "the correct cloud."};
  }
  return std::nullopt;
}

std::string field(const net::query_list& form, std::string_view name) {
  for (const auto& [key, value] : form) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

login_error missing(std::string_view name) {
  return {
      400,
      "invalid_request",
      900144,
      "The request body must contain the following parameter: '" + std::string(name) + "'."};
}

// What the token is for: from "scope" (v2) or "resource" (v1).
std::optional<login_error> find_audience(const net::query_list& form, bool v1, std::string& out) {
  const std::string resource = field(form, "resource");
  const std::string scope = field(form, "scope");
  if (v1 && scope.empty()) {
    if (resource.empty()) {
      return missing("resource");
    }
    out = resource;
    return std::nullopt;
  }
  if (scope.empty()) {
    return missing("scope");
  }
  constexpr std::string_view suffix = "/.default";
  if (scope.size() <= suffix.size() || scope.find(' ') != std::string::npos ||
      scope.compare(scope.size() - suffix.size(), suffix.size(), suffix) != 0) {
    return login_error{
        400,
        "invalid_scope",
        70011,
        "The provided request must include a 'scope' input parameter. The provided value for the "
        "input parameter 'scope' is not valid. The scope " +
            scope + " is not valid."};
  }
  out = scope.substr(0, scope.size() - suffix.size());
  return std::nullopt;
}

std::optional<login_error> check_client(
    const world& w,
    const net::query_list& form,
    std::string_view tenant,
    const application_entry*& found
) {
  if (field(form, "grant_type") != "client_credentials") {
    return field(form, "grant_type").empty() ? missing("grant_type")
                                             : login_error{
                                                   400,
                                                   "unsupported_grant_type",
                                                   70003,
                                                   "The app requested an unsupported grant type."};
  }
  const std::string id = field(form, "client_id");
  const std::string secret = field(form, "client_secret");
  if (id.empty()) {
    return missing("client_id");
  }
  if (secret.empty()) {
    return missing("client_secret");
  }
  for (const auto& a : w.offer.applications) {
    if (equals_ignoring_case(a.client_id, id) &&
        (tenant.empty() || equals_ignoring_case(a.tenant, tenant))) {
      found = &a;
    }
  }
  if (found == nullptr) {
    return login_error{
        400,
        "unauthorized_client",
        700016,
        "Application with identifier '" + id + "' was not found in the directory '" +
            std::string(tenant) +
            "'. This can happen if the application has not been installed by the administrator of "
            "the tenant."};
  }
  if (found->secret != secret) {
    return login_error{
        401,
        "invalid_client",
        7000215,
        "Invalid client secret provided. Ensure the secret being sent in the request is the client "
        "secret value, not the client secret ID, for a secret added to app '" +
            id + "'."};
  }
  if (found->secret_expired) {
    return login_error{
        401,
        "invalid_client",
        7000222,
        "The provided client secret keys for app '" + id + "' are expired."};
  }
  return std::nullopt;
}

std::string
issue(const application_entry& a, const std::string& audience, const emulators::call& call) {
  const auto now = unix_seconds(call.now);
  const json header = json::object({{"typ", "JWT"}, {"alg", "RS256"}, {"kid", "azure-emulator"}});
  const json payload = json::object(
      {{"aud", audience},
       {"iss", call.base_url + "/" + a.tenant + "/"},
       {"iat", now},
       {"nbf", now},
       {"exp", now + token_life_s},
       {"appid", a.client_id},
       {"idtyp", "app"},
       {"oid", a.object_id},
       {"sub", a.object_id},
       {"tid", a.tenant},
       {"uti", base::uuid::random().hex()},
       {"ver", "1.0"}}
  );
  const std::string head = base64url(header.dump()) + "." + base64url(payload.dump());
  return head + "." + base64url(keyed_hash(head));
}

reply grant(
    const world& w,
    const net::server_request& http,
    const emulators::call& call,
    std::string_view tenant,
    bool v1
) {
  if (http.method != "POST") {
    return json_reply(405, json::object({{"error", "invalid_request"}}));
  }
  if (!tenant.empty()) {
    if (const auto bad = check_tenant(w, tenant)) {
      return login_refusal(call, *bad);
    }
  }
  const auto form = net::parse_query(http.body);
  const application_entry* application = nullptr;
  std::string audience;
  auto bad = check_client(w, form, tenant, application);
  if (!bad) {
    bad = find_audience(form, v1, audience);
  }
  if (bad) {
    return login_refusal(call, *bad);
  }
  const std::string token = issue(*application, audience, call);
  json body = json::object({{"token_type", "Bearer"}});
  if (v1) {
    const auto now = unix_seconds(call.now);
    body.set("expires_in", std::to_string(token_life_s));
    body.set("ext_expires_in", std::to_string(token_life_s));
    body.set("expires_on", std::to_string(now + token_life_s));
    body.set("not_before", std::to_string(now));
    body.set("resource", audience);
  } else {
    body.set("expires_in", token_life_s);
    body.set("ext_expires_in", token_life_s);
  }
  body.set("access_token", token);
  reply r = json_reply(200, body);
  r.headers.emplace_back("Cache-Control", "no-store, no-cache");
  return r;
}

reply configuration(const emulators::call& call, const std::string& tenant, bool adfs) {
  const std::string root = call.base_url + "/" + tenant;
  const std::string flow = root + (adfs ? "/oauth2" : "/oauth2/v2.0");
  return json_reply(
      200,
      json::object(
          {{"token_endpoint", flow + "/token"},
           {"token_endpoint_auth_methods_supported",
            json::array({"client_secret_post", "private_key_jwt", "client_secret_basic"})},
           {"jwks_uri", root + "/discovery/v2.0/keys"},
           {"response_types_supported", json::array({"code", "id_token", "token"})},
           {"subject_types_supported", json::array({"pairwise"})},
           {"id_token_signing_alg_values_supported", json::array({"RS256"})},
           {"issuer", adfs ? root : root + "/v2.0"},
           {"authorization_endpoint", flow + "/authorize"},
           {"device_authorization_endpoint", flow + "/devicecode"},
           {"userinfo_endpoint", call.base_url + "/oidc/userinfo"},
           {"tenant_region_scope", "EU"},
           {"cloud_instance_name", "emulator"},
           {"cloud_graph_host_name", "graph.windows.net"},
           {"msgraph_host", "graph.microsoft.com"}}
      )
  );
}

reply discovery(const emulators::call& call) {
  const std::string host = call.base_url.substr(call.base_url.find("//") + 2);
  return json_reply(
      200,
      json::object(
          {{"tenant_discovery_endpoint",
            call.base_url + "/common/v2.0/.well-known/openid-configuration"},
           {"api-version", "1.1"},
           {"metadata",
            json::array({json::object(
                {{"preferred_network", host},
                 {"preferred_cache", host},
                 {"aliases", json::array({host})}}
            )})}}
      )
  );
}

} // namespace

std::optional<reply>
answer_login(const world& w, const net::server_request& http, const emulators::call& call) {
  const auto& s = http.segments;
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < s.size() && equals_ignoring_case(s[i], word);
  };
  const std::size_t n = s.size();
  const bool adfs = is(0, "adfs");
  if (n == 4 && is(1, "oauth2") && is(2, "v2.0") && is(3, "token")) {
    return grant(w, http, call, s[0], false);
  }
  if (n == 3 && is(1, "oauth2") && is(2, "token")) {
    // ADFS has no tenant in its path; its clients send a scope.
    return grant(w, http, call, adfs ? std::string() : s[0], !adfs);
  }
  const bool v2_document = n == 4 && is(1, "v2.0") && is(2, ".well-known");
  const bool v1_document = n == 3 && is(1, ".well-known");
  if ((v2_document || v1_document) && is(n - 1, "openid-configuration")) {
    if (!adfs && !is(0, "common") && !is(0, "organizations")) {
      if (const auto bad = check_tenant(w, s[0])) {
        return login_refusal(call, *bad);
      }
    }
    return configuration(call, s[0], adfs);
  }
  if (n == 3 && is(0, "common") && is(1, "discovery") && is(2, "instance")) {
    return discovery(call);
  }
  return std::nullopt;
}

namespace {

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

} // namespace

token_check check_token(
    const net::server_request& http, const emulators::call& call, std::string_view tenant_hint
) {
  token_check result;
  const std::string header = http.header("authorization");
  const std::string tenant(tenant_hint);
  constexpr std::string_view scheme = "Bearer ";
  if (header.size() <= scheme.size() ||
      !equals_ignoring_case(std::string_view(header).substr(0, scheme.size()), scheme)) {
    const bool absent = header.empty();
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
  const std::string token(base::trim(std::string_view(header).substr(scheme.size())));
  const auto last = token.rfind('.');
  const auto first = token.find('.');
  const bool shape = first != std::string::npos && first < last;
  const std::string head = shape ? token.substr(0, last) : std::string();
  if (!shape || from_base64url(token.substr(last + 1)) != keyed_hash(head)) {
    result.refusal = unauthorized(
        call,
        tenant,
        {"InvalidAuthenticationToken", "The access token is invalid."},
        "The access token is invalid."
    );
    return result;
  }
  const auto claims = json::parse(from_base64url(head.substr(first + 1)));
  const auto expires = claims ? (*claims)["exp"].integer().value_or(0) : 0;
  if (expires <= unix_seconds(call.now)) {
    const base::wall_time when{std::chrono::seconds(expires)};
    result.refusal = unauthorized(
        call,
        tenant,
        {"ExpiredAuthenticationToken",
         "The access token expiry UTC time '" + base::to_rfc3339(when) +
             "' is earlier than current UTC time '" + base::to_rfc3339(call.now) + "'."},
        "The access token has expired."
    );
    return result;
  }
  result.principal = (*claims)["oid"].string_or("");
  result.tenant = (*claims)["tid"].string_or("");
  return result;
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
