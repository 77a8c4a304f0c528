// SPDX-License-Identifier: MIT
#include "auth.hpp"

#include "assertion.hpp"
#include "imds.hpp"
#include "login_errors.hpp"
#include "metadata.hpp"
#include "tokens.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr std::string_view assertion_type =
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

std::string field(const net::query_list& form, std::string_view name) {
  for (const auto& [key, value] : form) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

// What the token is for: from "scope" (v2) or "resource" (v1).
std::optional<login_error> find_audience(const net::query_list& form, bool v1, std::string& out) {
  const std::string resource = field(form, "resource");
  const std::string scope = field(form, "scope");
  if (v1 && scope.empty()) {
    if (resource.empty()) {
      return refused(900144, "resource");
    }
    out = resource;
    return std::nullopt;
  }
  if (scope.empty()) {
    return refused(900144, "scope");
  }
  constexpr std::string_view suffix = "/.default";
  if (scope.size() <= suffix.size() || scope.find(' ') != std::string::npos ||
      scope.compare(scope.size() - suffix.size(), suffix.size(), suffix) != 0) {
    return refused(70011, scope);
  }
  out = scope.substr(0, scope.size() - suffix.size());
  return std::nullopt;
}

// One request for a token.
struct exchange {
  world& w;
  const emulators::call& call;
  std::string tenant; // "" on the path of AD FS
  bool v1 = false;
  net::query_list form;

  std::string field(std::string_view name) const { return azure_emulator::field(form, name); }

  // The endpoints and issuers that an application's own assertion may name.
  std::vector<std::string> audiences() const {
    const std::string& base = call.base_url;
    if (tenant.empty()) {
      return {base + "/adfs/oauth2/token", base + "/adfs"};
    }
    const std::string root = base + "/" + tenant;
    return {root + "/oauth2/v2.0/token", root + "/oauth2/token", root + "/v2.0", root + "/", root};
  }
};

std::optional<login_error> check_proof(const exchange& x, const application_entry& a) {
  const std::string assertion = x.field("client_assertion");
  const std::string secret = x.field("client_secret");
  if (!assertion.empty()) {
    if (x.field("client_assertion_type") != assertion_type) {
      return refused(900144, "client_assertion_type");
    }
    auto& login = x.w.offer.login;
    return check_assertion(
        assertion,
        {a,
         x.audiences(),
         x.call.now,
         login.assertions_only_once ? &login.used_assertions : nullptr}
    );
  }
  if (secret.empty()) {
    return refused(900144, "client_secret");
  }
  if (a.secret != secret) {
    return refused(7000215, a.client_id);
  }
  return a.secret_expired ? std::optional(refused(7000222, a.client_id)) : std::nullopt;
}

std::optional<login_error> check_client(const exchange& x, const application_entry*& found) {
  const std::string grant = x.field("grant_type");
  if (grant.empty()) {
    return refused(900144, "grant_type");
  }
  if (grant != "client_credentials") {
    return refused(70003, grant);
  }
  const std::string id = x.field("client_id");
  if (id.empty()) {
    return refused(900144, "client_id");
  }
  for (const auto& a : x.w.offer.applications) {
    if (equals_ignoring_case(a.client_id, id) &&
        (x.tenant.empty() || equals_ignoring_case(a.tenant, x.tenant))) {
      found = &a;
    }
  }
  if (found == nullptr) {
    return refused(700016, id);
  }
  if (auto bad = check_proof(x, *found)) {
    return bad;
  }
  if (found->login.refused_with != 0) {
    return refused(found->login.refused_with, id);
  }
  return std::nullopt;
}

// "claims" may also only announce what the client can do (xms_cc): that demands nothing.
std::optional<login_error> read_claims(const exchange& x, bool& met) {
  const std::string text = x.field("claims");
  if (text.empty()) {
    return std::nullopt;
  }
  const auto claims = json::parse(text);
  if (!claims || !claims->is_object()) {
    return refused(9000410);
  }
  met = claims->at({"access_token", "nbf", "value"}).string().has_value();
  return std::nullopt;
}

json token_body(const exchange& x, const std::string& token, const std::string& audience) {
  json body = json::object({{"token_type", "Bearer"}});
  if (x.v1) {
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(x.call.now.time_since_epoch()).count();
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
  return body;
}

reply grant(exchange x, const net::server_request& http) {
  if (http.method != "POST") {
    return json_reply(405, json::object({{"error", "invalid_request"}}));
  }
  if (!x.tenant.empty()) {
    if (const auto bad = check_tenant(x.w, x.tenant)) {
      return login_refusal(x.call, *bad);
    }
  }
  x.form = net::parse_query(http.body);
  const application_entry* application = nullptr;
  std::string audience;
  bool meets_claims = false;
  auto bad = check_client(x, application);
  if (!bad) {
    bad = find_audience(x.form, x.v1, audience);
  }
  if (!bad) {
    bad = read_claims(x, meets_claims);
  }
  if (bad) {
    return login_refusal(x.call, *bad);
  }
  const token_subject who{
      application->tenant, application->client_id, application->object_id, meets_claims};
  reply r =
      json_reply(200, token_body(x, issue_token(who, audience, token_life_s, x.call), audience));
  r.headers.emplace_back("Cache-Control", "no-store, no-cache");
  return r;
}

} // namespace

std::optional<reply>
answer_login(world& w, const net::server_request& http, const emulators::call& call) {
  const auto& s = http.segments;
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < s.size() && equals_ignoring_case(s[i], word);
  };
  const std::size_t n = s.size();
  if (n == 4 && is(1, "oauth2") && is(2, "v2.0") && is(3, "token")) {
    return grant({w, call, s[0], false, {}}, http);
  }
  if (n == 3 && is(1, "oauth2") && is(2, "token")) {
    // AD FS has no tenant in its path; its clients send a scope.
    const bool adfs = is(0, "adfs");
    return grant({w, call, adfs ? std::string() : s[0], !adfs, {}}, http);
  }
  if (auto answer = answer_identity(w, http, call)) {
    return answer;
  }
  return answer_metadata(w, http, call);
}

} // namespace siteagent::azure_emulator
