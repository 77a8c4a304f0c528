// SPDX-License-Identifier: MIT
#include "principals.hpp"

#include "keys.hpp"
#include "login_errors.hpp"

namespace siteagent::azure_emulator {

using base::json;
using base::result;

namespace {

base::error wrong(const std::string& what) {
  return {.code = base::error_code::invalid, .message = "seed: " + what};
}

result<federated_entry> read_federated(const json& item) {
  federated_entry f;
  f.issuer = item["issuer"].string_or("");
  f.subject = item["subject"].string_or("");
  f.audience = item["audience"].string_or(f.audience);
  f.key = item["key"].string_or("");
  f.jwks = item["jwks"];
  if (f.issuer.empty() || f.subject.empty()) {
    return wrong("federated_credentials: each element needs issuer and subject");
  }
  if (f.key.empty() == f.jwks.is_null()) {
    return wrong("federated_credentials: each element needs either key or jwks");
  }
  if (!f.key.empty() && public_key(f.key) == nullptr) {
    return wrong("federated_credentials: key is no PEM public key or certificate");
  }
  return f;
}

} // namespace

result<login_part> read_login(const json& application) {
  login_part out;
  for (const auto& item : application["certificates"].items()) {
    out.certificates.push_back(item.string_or(""));
    if (!certificate_of(out.certificates.back())) {
      return wrong("applications: certificates must be PEM texts");
    }
  }
  for (const auto& item : application["federated_credentials"].items()) {
    auto read = read_federated(item);
    if (!read) {
      return read.error();
    }
    out.federated.push_back(std::move(*read));
  }
  if (const auto& code = application["refused_with"]; !code.is_null()) {
    out.refused_with = static_cast<int>(code.integer().value_or(0));
    if (!find_login_error(out.refused_with)) {
      return wrong("applications: refused_with must be a number of the README's table");
    }
  }
  return out;
}

result<bool> seed_login(login_settings& out, std::string_view key, const json& value) {
  if (key == "identities") {
    if (!value.is_array()) {
      return wrong("identities must be an array");
    }
    std::vector<identity_entry> identities;
    for (const auto& item : value.items()) {
      identity_entry i;
      i.client_id = item["client_id"].string_or("");
      i.object_id = item["object_id"].string_or(i.client_id);
      i.resource_id = item["resource_id"].string_or("");
      i.tenant = item["tenant"].string_or("22222222-2222-2222-2222-222222222222");
      if (i.client_id.empty()) {
        return wrong("identities: each element needs client_id");
      }
      identities.push_back(std::move(i));
    }
    out.identities = std::move(identities);
    return true;
  }
  bool* target = key == "continuous_access"      ? &out.continuous_access
                 : key == "assertions_only_once" ? &out.assertions_only_once
                 : key == "adfs_in_metadata"     ? &out.adfs_in_metadata
                                                 : nullptr;
  if (target == nullptr) {
    return false;
  }
  if (!value.is_bool()) {
    return wrong(std::string(key) + " must be true or false");
  }
  *target = *value.boolean();
  return true;
}

} // namespace siteagent::azure_emulator
