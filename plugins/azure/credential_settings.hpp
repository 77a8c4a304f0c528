// SPDX-License-Identifier: MIT
// The part of backend_settings that says who the agent is in Azure, and in which cloud.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure {

enum class credential_kind : std::uint8_t {
  client_secret,
  client_certificate,
  workload_identity, // a token of another issuer, in a file
  managed_identity,  // of the Azure machine the agent runs on
};

// As in the settings: "client_secret", ...
std::string_view name_of(credential_kind k);

// Secrets are references for the host's secrets service, never the secrets.
struct credential_settings {
  credential_kind kind = credential_kind::client_secret;
  std::string client_secret;
  std::string client_certificate;
  std::string client_certificate_password; // "": none
  bool send_certificate_chain = false;
  std::string federated_token_file; // absolute
  // Which managed identity, besides client_id; both empty: that of client_id, or the machine's own.
  std::string managed_identity_object_id;
  std::string managed_identity_resource_id;
  std::string metadata_origin; // where managed identities get their tokens

  // The reference behind a key, "" for other keys.
  std::string reference(std::string_view key) const;
};

// An environment variable; nullopt when unset or empty.
using environment = std::function<std::optional<std::string>(const char* name)>;
environment process_environment();

struct settings;

// Reads subscription_id, tenant_id, client_id and the credential into `out`. `credential` selects;
// without it, the one kind whose keys are there. The variables AZURE_TENANT_ID, AZURE_CLIENT_ID,
// AZURE_FEDERATED_TOKEN_FILE, AZURE_AUTHORITY_HOST (workload_identity) and
// AZURE_POD_IDENTITY_AUTHORITY_HOST (managed_identity) count only if `credential` asks for that
// kind, and keys of the settings win over them. Errors: invalid, naming the keys.
base::result<void> read_credentials(const base::json& d, settings& out, const environment& env);

struct cloud_endpoints {
  std::string_view resource_manager;
  std::string_view authority;
  std::string_view audience;
};

// By Azure's own name, in the spellings its tools use; case does not matter. `invalid` for unknown
// and closed clouds, with the reason.
base::result<cloud_endpoints> find_cloud(std::string_view name);

} // namespace siteagent::azure
