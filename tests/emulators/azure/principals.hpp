// SPDX-License-Identifier: MIT
// Who may log in, beside a client secret: certificates, federated tokens, managed identities.
// Values only; a seed replaces them.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// A token of another issuer that an application trusts.
struct federated_entry {
  std::string issuer;
  std::string subject;
  std::string audience = "api://AzureADTokenExchange";
  std::string key; // PEM, a public key or a certificate; or empty
  base::json jwks; // {"keys": [...]}; or null
};

// What an application has besides its secret.
struct login_part {
  std::vector<std::string> certificates; // PEM
  std::vector<federated_entry> federated;
  int refused_with = 0; // the AADSTS number that every request of it gets; 0 = none
};

// An identity of the machine that asks the metadata service.
struct identity_entry {
  std::string client_id;
  std::string object_id;
  std::string resource_id; // empty: the machine's own (system-assigned)
  std::string tenant;
};

struct login_settings {
  std::vector<identity_entry> identities;
  bool continuous_access = false;    // ARM takes only tokens asked for with the claims it demands
  bool assertions_only_once = false; // the real service takes an assertion as often as it comes
  bool adfs_in_metadata = false;     // the loginEndpoint of the newer metadata documents
  std::map<std::string, base::wall_time> used_assertions; // state: their ids, until they expire
};

// The login part of one element of "applications". Errors name what cannot be read.
base::result<login_part> read_login(const base::json& application);

// One key of a seed document; false: none of these.
base::result<bool> seed_login(login_settings& out, std::string_view key, const base::json& value);

} // namespace siteagent::azure_emulator
