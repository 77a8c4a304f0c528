// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/token_answer.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure::arm {

namespace {

using std::chrono::seconds;

constexpr seconds fallback_lifetime{300};

struct advice {
  std::int64_t code;
  std::string_view text;
};

constexpr std::string_view wrong_audience = "cloud.audience is not accepted; check cloud.audience";
constexpr std::string_view wrong_assertion =
    "the assertion's signature is not accepted; register this certificate with the application";
constexpr std::string_view no_federation =
    "no federated credential of the application matches the token's issuer, subject and audience; "
    "add one, or check which token federated_token_file holds";
constexpr std::string_view conditional_access =
    "a conditional access policy blocks the service principal; exempt it, or run from an allowed "
    "network";

// What Entra ID's numbers mean to whoever keeps the settings.
constexpr auto known_codes = std::to_array<advice>({
    {7000215, "the client secret is wrong; set client_secret to the secret's value, not its id"},
    {7000222, "the client secret has expired; make a new one and set client_secret"},
    {7000112, "the application is disabled; enable it, or set another client_id"},
    {7000229, "the application has no service principal in this tenant; make one"},
    {700016, "client_id is unknown in this tenant; check client_id and tenant_id"},
    {90002, "the tenant does not exist; check tenant_id and cloud.authority"},
    {900023, "tenant_id is malformed; it is a GUID or a domain of the directory"},
    {900144, "the request lacks a parameter, which is a fault of this plugin; report it"},
    {70011, wrong_audience},
    {500011, "cloud.audience is unknown in this tenant; check cloud.audience and tenant_id"},
    {700027, wrong_assertion},
    {700030, "the certificate's subject is not accepted; register this certificate"},
    {700024, "the assertion is out of its time; set the clock of this machine"},
    {500133, "the assertion is out of its time; set the clock of this machine"},
    {700021, no_federation},
    {70021, no_federation},
    {700211, no_federation},
    {700212, no_federation},
    {700213, no_federation},
    {53000, conditional_access},
    {53001, conditional_access},
    {53002, conditional_access},
    {53003, conditional_access},
    {530034, conditional_access},
    {90033, ""}, // passing trouble
    {50196, ""}, // asked too often: a loop somewhere; slow down
});

constexpr std::array<std::int64_t, 2> passing_codes{90033, 50196};

// The code we know best; else the first one.
std::optional<std::int64_t> telling_code(const base::json& body) {
  std::optional<std::int64_t> first;
  for (const base::json& item : body["error_codes"].items()) {
    const auto code = item.integer();
    if (code && std::any_of(known_codes.begin(), known_codes.end(), [&](const advice& a) {
          return a.code == *code;
        })) {
      return code;
    }
    if (!first) {
      first = code;
    }
  }
  return first;
}

std::string_view advice_for(std::optional<std::int64_t> code, std::string_view name) {
  for (const advice& a : known_codes) {
    if (code == a.code) {
      return a.text;
    }
  }
  if (name == "interaction_required" || name == "invalid_grant") {
    return conditional_access;
  }
  if (name == "invalid_scope" || name == "invalid_resource") {
    return wrong_audience;
  }
  return name.empty() ? "the answer is none of Entra ID; check cloud.authority"
                      : "check tenant_id, client_id and the credential";
}

bool is_passing(int status, std::optional<std::int64_t> code, std::string_view name) {
  const bool by_code =
      code && std::find(passing_codes.begin(), passing_codes.end(), *code) != passing_codes.end();
  return by_code || status == 429 || status == 408 || status >= 500 ||
         name == "temporarily_unavailable" || name == "server_error";
}

// A bearer token goes into a header: anything but visible ASCII is none.
bool is_token_text(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

} // namespace

bool principal::is_adfs() const {
  return base::equals_ignoring_case(tenant, "adfs");
}

std::string principal::name() const {
  if (identity.empty()) {
    return "client " + client_id + " in tenant " + tenant;
  }
  return "the managed identity " + identity;
}

std::string principal::token_url() const {
  return authority + "/" + net::encode(tenant) +
         (is_adfs() ? "/oauth2/token" : "/oauth2/v2.0/token");
}

base::result<token_answer> parse_token(std::string_view body, base::wall_time now) {
  const auto unusable = [](std::string_view why) {
    return make_error(
        reason::ambiguous,
        base::error_code::transient,
        "get an Azure token: the answer " + std::string(why) + "; check cloud.authority"
    );
  };
  const auto document = base::json::parse(body);
  const auto token = document ? (*document)["access_token"].string() : std::nullopt;
  if (!token || token->empty()) {
    return unusable("holds no access_token");
  }
  if (!is_token_text(*token)) {
    return unusable("holds an access_token that is none");
  }
  const std::string kind = (*document)["token_type"].string_or("Bearer");
  if (!base::equals_ignoring_case(kind, "Bearer")) {
    return unusable("holds a token of type '" + kind + "' instead of a bearer token");
  }
  token_answer out;
  out.token = base::secret(*token);
  std::optional<std::int64_t> lifetime = (*document)["expires_in"].integer();
  if (!lifetime) {
    if (const auto at = (*document)["expires_on"].integer()) {
      lifetime = *at - std::chrono::duration_cast<seconds>(now.time_since_epoch()).count();
    }
  }
  constexpr std::int64_t longest = 400LL * 24 * 3600; // beyond it, nonsense and overflow
  out.lifetime =
      lifetime && *lifetime > 0 ? seconds(std::min(*lifetime, longest)) : fallback_lifetime;
  if (const auto refresh = (*document)["refresh_in"].integer(); refresh && *refresh > 0) {
    out.refresh_in = seconds(std::min(*refresh, longest));
  }
  return out;
}

base::error token_error(const net::response& answer, const principal& who) {
  const auto document = base::json::parse(answer.body);
  const base::json body = document ? *document : base::json();
  const auto code = telling_code(body);
  const std::string name = body["error"].string_or("");
  const bool passing = is_passing(answer.status, code, name);
  std::string message =
      "get an Azure token for " + who.name() + ": HTTP " + std::to_string(answer.status);
  if (!name.empty()) {
    message += " " + std::string(base::truncated(name, 60));
  }
  if (code) {
    message += " AADSTS" + std::to_string(*code);
  }
  if (const auto text = passing ? std::string_view() : advice_for(code, name); !text.empty()) {
    message += "; " + std::string(text);
  }
  base::error e = make_error(
      passing ? reason::ambiguous : reason::credentials,
      passing ? base::error_code::transient : base::error_code::auth,
      std::move(message)
  );
  e.http_status = answer.status;
  e.provider_code = code            ? "AADSTS" + std::to_string(*code)
                    : !name.empty() ? name
                                    : "HTTP " + std::to_string(answer.status);
  e.provider_request_id = body["trace_id"].string_or("");
  return e;
}

} // namespace siteagent::azure::arm
