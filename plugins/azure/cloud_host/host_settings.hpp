// SPDX-License-Identifier: MIT
// Settings of the cloud host provider, checked: bindings, credentials, options and limits.
#pragma once

#include "plugins/azure/settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::cloud_host {

// A service principal out of the credential store. The secret is a reference.
struct principal_settings {
  std::string tenant_id;
  std::string client_id;
  std::string client_secret;
};

// Who may read the credit, and where it is; the fields of the store's item.
struct billing_settings {
  principal_settings who;
  std::string account;
  std::string profile_system_id;
  std::string profile;
  std::string subscription_id;
};

struct host_settings {
  settings azure; // endpoints, subscription, waits; its credentials are the managed identity
  std::string group;
  std::string network; // the location's network is <network>-<location>
  std::string subnet;
  image_reference image;
  std::string login;
  std::vector<std::string> locations; // configured ones, normalised; perhaps none
  std::optional<principal_settings> control;
  std::optional<billing_settings> billing;

  // The same Azure, entered by the stored service principal. Needs `control`.
  settings by_principal() const;
  std::string network_in(std::string_view location) const;
};

// JSON Schema, draft 4.
const char* host_settings_schema();

// What the provider says about itself: static JSON text.
const char* description();

// The user names Azure refuses, in lower case.
const std::vector<std::string>& reserved_logins();

// `invalid` with a text naming the key, its value and the remedy. Offline.
base::result<host_settings> parse_host_settings(std::string_view json_text);

} // namespace siteagent::azure::cloud_host
