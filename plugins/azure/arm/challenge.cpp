// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/challenge.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "plugins/azure/base64.hpp"

#include <algorithm>

namespace siteagent::azure::arm {

namespace {

// The value of one parameter in any of the challenges; each header line may hold several.
std::string parameter(const net::response& r, std::string_view name) {
  const std::string key = std::string(name) + "=\"";
  for (const auto& [header, value] : r.headers) {
    if (header != "www-authenticate") {
      continue;
    }
    const std::string lower = base::to_lower(value);
    for (std::size_t at = lower.find(key); at != std::string::npos; at = lower.find(key, at + 1)) {
      const bool is_word_start = at == 0 || lower[at - 1] == ' ' || lower[at - 1] == ',';
      const auto from = at + key.size();
      const auto to = value.find('"', from);
      if (is_word_start && to != std::string::npos) {
        return value.substr(from, to - from);
      }
    }
  }
  return "";
}

// The first path segment of an authority, if it is a directory's id.
std::string directory_in(std::string_view url) {
  for (const std::string_view part : base::split(url, '/')) {
    if (base::uuid::parse(part)) {
      return std::string(part);
    }
  }
  return "";
}

} // namespace

std::string claims_of(const net::response& refusal) {
  return base64_decode(parameter(refusal, "claims")).value_or("");
}

std::string tenant_of(const net::response& refusal) {
  const std::string challenged = directory_in(parameter(refusal, "authorization_uri"));
  if (!challenged.empty()) {
    return challenged;
  }
  // "... is from the wrong issuer 'https://…/A/'. It must match the tenant 'https://…/B/' ..."
  const auto body = base::json::parse(refusal.body);
  const std::string message = body ? body->at({"error", "message"}).string_or("") : std::string();
  const auto at = message.find("must match the tenant '");
  if (at == std::string::npos) {
    return "";
  }
  const auto from = message.find('\'', at) + 1;
  return directory_in(std::string_view(message).substr(from, message.find('\'', from) - from));
}

base::error explain(base::error e, const net::response& refusal) {
  if (base::equals_ignoring_case(e.provider_code, "InvalidAuthenticationTokenTenant")) {
    if (const std::string tenant = tenant_of(refusal); !tenant.empty()) {
      e.message += " (it belongs to tenant " + tenant + ": set tenant_id to it)";
    }
  }
  return e;
}

} // namespace siteagent::azure::arm
