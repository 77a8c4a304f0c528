// SPDX-License-Identifier: MIT
#include "plugins/azure/credential_settings.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/arm/managed_identity.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/settings.hpp"
#include "plugins/azure/settings_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace siteagent::azure {

namespace {

using parts::bad;
using parts::text_of;

struct kind_row {
  credential_kind kind;
  std::string_view name;
  std::string_view needs;               // the key it cannot do without, or ""
  std::array<std::string_view, 3> keys; // keys that only this kind reads
};

constexpr std::array<kind_row, 4> kinds{
    {{credential_kind::client_secret, "client_secret", "client_secret", {"client_secret"}},
     {credential_kind::client_certificate,
      "client_certificate",
      "client_certificate",
      {"client_certificate", "client_certificate_password", "send_certificate_chain"}},
     {credential_kind::workload_identity,
      "workload_identity",
      "federated_token_file",
      {"federated_token_file"}},
     {credential_kind::managed_identity,
      "managed_identity",
      "",
      {"managed_identity_object_id", "managed_identity_resource_id"}}}};

const kind_row& row_of(credential_kind k) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const kind_row& r) { return r.kind == k; });
}

// The first key of a kind that the settings hold; "" when none.
std::string_view key_present(const base::json& d, const kind_row& row) {
  for (const std::string_view key : row.keys) {
    const bool is_text = d[key].is_string();
    if (!key.empty() && !d[key].is_null() && (!is_text || !text_of(d, key).empty())) {
      return key;
    }
  }
  return "";
}

base::result<credential_kind> choose(const base::json& d) {
  std::vector<const kind_row*> present;
  for (const kind_row& row : kinds) {
    if (!key_present(d, row).empty()) {
      present.push_back(&row);
    }
  }
  const std::string asked = text_of(d, "credential");
  if (asked.empty()) {
    if (present.size() > 1) {
      return bad(
          key_present(d, *present[0]),
          "and " + std::string(key_present(d, *present[1])) +
              " are two credentials; keep one of them"
      );
    }
    return present.empty() ? credential_kind::client_secret : present[0]->kind;
  }
  const auto* const chosen =
      std::find_if(kinds.begin(), kinds.end(), [&](const kind_row& r) { return r.name == asked; });
  if (chosen == kinds.end()) {
    return bad(
        "credential",
        "'" + asked +
            "' is none of client_secret, client_certificate, workload_identity, managed_identity"
    );
  }
  for (const kind_row* other : present) {
    if (other != chosen) {
      return bad(
          key_present(d, *other),
          "belongs to another credential than 'credential: " + asked + "'; keep one of them"
      );
    }
  }
  return chosen->kind;
}

// What the settings leave open and the environment convention of workload identities fills.
void fill_from(const environment& env, settings& out) {
  const auto fill = [&](std::string& target, const char* name) {
    if (target.empty()) {
      target = env(name).value_or("");
    }
  };
  fill(out.tenant_id, "AZURE_TENANT_ID");
  fill(out.client_id, "AZURE_CLIENT_ID");
  fill(out.credentials.federated_token_file, "AZURE_FEDERATED_TOKEN_FILE");
}

// The variable gives way to cloud.authority and cloud.name, which are read later.
base::result<void> read_authority(settings& out, const environment& env) {
  constexpr const char* name = "AZURE_AUTHORITY_HOST";
  const base::json given = base::json::object({{name, env(name).value_or("")}});
  return parts::read_origin(given, name, out.authority);
}

base::result<void> check_missing(const settings& s, const credential_settings& c) {
  const kind_row& row = row_of(c.kind);
  const bool is_managed = c.kind == credential_kind::managed_identity;
  const std::string& proof = c.kind == credential_kind::workload_identity ? c.federated_token_file
                                                                          : c.reference(row.needs);
  std::vector<std::string> missing;
  const auto need = [&](std::string_view key, bool is_there) {
    if (!is_there) {
      missing.emplace_back(key);
    }
  };
  need("subscription_id", !s.subscription_id.empty());
  need("tenant_id", is_managed || !s.tenant_id.empty());
  need("client_id", is_managed || !s.client_id.empty());
  need(row.needs, row.needs.empty() || !proof.empty());
  if (missing.empty()) {
    return {};
  }
  return make_error(
      reason::invalid,
      base::error_code::invalid,
      "Azure backend requires " + base::join(missing, ", ") + " in backend_settings"
  );
}

base::result<void>
read_metadata_origin(const base::json& d, settings& out, const environment& env) {
  credential_settings& c = out.credentials;
  std::string name = "cloud.metadata";
  c.metadata_origin = text_of(d["cloud"], "metadata");
  if (c.metadata_origin.empty()) {
    name = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
    c.metadata_origin = env(name.c_str()).value_or(std::string(arm::metadata_origin));
  }
  while (!c.metadata_origin.empty() && c.metadata_origin.back() == '/') {
    c.metadata_origin.pop_back();
  }
  const std::string objection = arm::objection_to_metadata_origin(c.metadata_origin);
  if (!objection.empty()) {
    return bad(name, "'" + c.metadata_origin + "' " + objection);
  }
  c.metadata_origin = net::parse_url(c.metadata_origin)->origin.text();
  return {};
}

base::result<void> read_managed(const base::json& d, settings& out, const environment& env) {
  const int given = (out.client_id.empty() ? 0 : 1) +
                    (out.credentials.managed_identity_object_id.empty() ? 0 : 1) +
                    (out.credentials.managed_identity_resource_id.empty() ? 0 : 1);
  if (given > 1) {
    return bad(
        "client_id",
        "managed_identity_object_id and managed_identity_resource_id each name a managed identity; "
        "keep one of them"
    );
  }
  return read_metadata_origin(d, out, env);
}

struct named_cloud {
  std::array<std::string_view, 3> names; // the first is the one of "az cloud list"
  cloud_endpoints endpoints;
};

constexpr std::array<named_cloud, 3> clouds{
    {{{"AzureCloud", "AzurePublic", "AzurePublicCloud"},
      {"https://management.azure.com",
       "https://login.microsoftonline.com",
       "https://management.azure.com"}},
     {{"AzureChinaCloud", "AzureChina", "AzureChinaCloud"},
      {"https://management.chinacloudapi.cn",
       "https://login.chinacloudapi.cn",
       "https://management.chinacloudapi.cn"}},
     {{"AzureUSGovernment", "AzureUSGovernmentCloud", "AzureGovernment"},
      {"https://management.usgovcloudapi.net",
       "https://login.microsoftonline.us",
       "https://management.usgovcloudapi.net"}}}};

} // namespace

std::string_view name_of(credential_kind k) {
  return row_of(k).name;
}

std::string credential_settings::reference(std::string_view key) const {
  return key == "client_secret"                 ? client_secret
         : key == "client_certificate"          ? client_certificate
         : key == "client_certificate_password" ? client_certificate_password
                                                : std::string();
}

environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
  };
}

base::result<void> read_credentials(const base::json& d, settings& out, const environment& env) {
  const auto kind = choose(d);
  if (!kind) {
    return kind.error();
  }
  out.subscription_id = text_of(d, "subscription_id");
  out.tenant_id = text_of(d, "tenant_id");
  out.client_id = text_of(d, "client_id");
  credential_settings& c = out.credentials;
  c.kind = *kind;
  c.client_secret = text_of(d, "client_secret");
  c.client_certificate = text_of(d, "client_certificate");
  c.client_certificate_password = text_of(d, "client_certificate_password");
  c.send_certificate_chain = d["send_certificate_chain"].boolean().value_or(false);
  c.federated_token_file = text_of(d, "federated_token_file");
  c.managed_identity_object_id = text_of(d, "managed_identity_object_id");
  c.managed_identity_resource_id = text_of(d, "managed_identity_resource_id");
  const bool is_asked_for = !text_of(d, "credential").empty();
  if (c.kind == credential_kind::workload_identity && is_asked_for) {
    fill_from(env, out);
    if (auto r = read_authority(out, env); !r) {
      return r;
    }
  }
  if (auto r = check_missing(out, c); !r) {
    return r;
  }
  if (!c.federated_token_file.empty() && c.federated_token_file.front() != '/') {
    return bad("federated_token_file", "'" + c.federated_token_file + "' must be an absolute path");
  }
  return c.kind == credential_kind::managed_identity ? read_managed(d, out, env)
                                                     : base::result<void>();
}

base::result<cloud_endpoints> find_cloud(std::string_view name) {
  for (const named_cloud& c : clouds) {
    for (const std::string_view known : c.names) {
      if (base::equals_ignoring_case(name, known)) {
        return c.endpoints;
      }
    }
  }
  if (base::to_lower(name).find("german") != std::string::npos) {
    return bad(
        "cloud.name",
        "'" + std::string(name) +
            "' was closed in October 2021; use AzureCloud with a region of Germany, or the "
            "origins of another cloud"
    );
  }
  return bad(
      "cloud.name",
      "'" + std::string(name) +
          "' is none of AzureCloud, AzureChinaCloud, AzureUSGovernment; for a private cloud set "
          "cloud.resource_manager and cloud.authority"
  );
}

} // namespace siteagent::azure
