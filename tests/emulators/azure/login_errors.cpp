// SPDX-License-Identifier: MIT
#include "login_errors.hpp"

#include "core/base/uuid.hpp"

#include <array>
#include <stdexcept>

namespace siteagent::azure_emulator {

using base::json;

namespace {

struct row {
  int code;
  int status;
  std::string_view name;
  std::string_view text;
};

constexpr std::string_view no_federated =
    "No matching federated identity record found for presented assertion ";

constexpr auto rows = std::to_array<row>({
    {7000215,
     401,
     "invalid_client",
     "Invalid client secret provided. Ensure the secret being sent in the request is the client "
     "secret value, not the client secret ID, for a secret added to app '{}'."},
    {7000222, 401, "invalid_client", "The provided client secret keys for app '{}' are expired."},
    {7000112, 401, "unauthorized_client", "Application '{}' is disabled."},
    {7000229,
     401,
     "invalid_client",
     "The client application '{}' is missing service principal in the tenant."},
    {700016,
     400,
     "unauthorized_client",
     "Application with identifier '{}' was not found in the directory. This can happen if the "
     "application has not been installed by the administrator of the tenant."},
    {90002,
     400,
     "invalid_tenant",
     "Tenant '{}' not found. Check to make sure you have the correct tenant ID and are signing "
     "into "
     "the correct cloud."},
    {900023,
     400,
     "invalid_request",
     "Specified tenant identifier '{}' is neither a valid DNS name, nor a valid external domain."},
    {900144,
     400,
     "invalid_request",
     "The request body must contain the following parameter: '{}'."},
    {9000410, 400, "invalid_request", "Malformed JSON."},
    {70003, 400, "unsupported_grant_type", "The app requested an unsupported grant type '{}'."},
    {70011,
     400,
     "invalid_scope",
     "The provided request must include a 'scope' input parameter. The provided value for the "
     "input "
     "parameter 'scope' is not valid. The scope {} is not valid."},
    {500011,
     400,
     "invalid_resource",
     "The resource principal named {} was not found in the tenant."},
    {50027, 400, "invalid_request", "JWT token is invalid or malformed."},
    {700027,
     401,
     "invalid_client",
     "The certificate with identifier used to sign the client assertion is not registered on "
     "application. [Reason - {}]"},
    {700023,
     401,
     "invalid_client",
     "Client assertion audience claim does not match Realm issuer. {}"},
    {700021,
     401,
     "invalid_client",
     "Client assertion application identifier doesn't match 'client_id' parameter. {}"},
    {700024, 401, "invalid_client", "Client assertion is not within its valid time range. {}"},
    {70021, 400, "invalid_request", "No matching federated identity record found. {}"},
    {700211, 401, "invalid_client", "issuer '{}'."},
    {700212, 401, "invalid_client", "audience '{}'."},
    {700213, 401, "invalid_client", "subject '{}'."},
    {53003,
     400,
     "interaction_required",
     "Access has been blocked by Conditional Access policies. The access policy does not allow "
     "token issuance."},
    {90033, 503, "temporarily_unavailable", "A transient error has occurred. Please try again."},
    {50196,
     400,
     "invalid_grant",
     "The server terminated an operation because it encountered a client request loop."},
});

} // namespace

std::optional<login_error> find_login_error(int code, std::string_view about) {
  for (const row& r : rows) {
    if (r.code != code) {
      continue;
    }
    std::string text(r.text);
    if (const auto at = text.find("{}"); at != std::string::npos) {
      text.replace(at, 2, about);
    }
    if (code >= 700211 && code <= 700213) {
      text.insert(0, no_federated);
    }
    return login_error{r.status, std::string(r.name), code, text};
  }
  return std::nullopt;
}

login_error refused(int code, std::string_view about) {
  auto found = find_login_error(code, about);
  if (!found) {
    throw std::logic_error("no such refusal: " + std::to_string(code));
  }
  return *found;
}

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

} // namespace siteagent::azure_emulator
