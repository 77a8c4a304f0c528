// SPDX-License-Identifier: MIT
// Admitting the fleet's addresses: the application group of a location, the rule of its subnet's
// security group, the group of each host. Everything else in those networks stays as it is.
#pragma once

#include "plugins/azure/cloud_host/host_settings.hpp"
#include "plugins/azure/cloud_host/rules.hpp"
#include "plugins/azure/services.hpp"

#include <string>
#include <vector>

namespace siteagent::azure::cloud_host {

struct admitted_host {
  std::string name;
  std::string location;
  std::string vm_id;
  base::json resources;
};

struct admission_order {
  std::vector<std::string> addresses;
  std::string group; // of rules and application groups
  std::int64_t port = 22;
  std::string ensure_location;        // "": none
  std::vector<std::string> locations; // normalised, distinct, ensure_location among them
  std::vector<admitted_host> hosts;
  base::json tags;
};

// `invalid` for what is no IPv4 address, so that nothing wider is ever admitted.
base::result<admission_order> read_admission(const base::json& body);
base::result<std::vector<std::string>> read_addresses(const base::json& list);

struct admission {
  const services& cloud;
  const host_settings& s;
  const arm::scope& call;
  bool dry_run = false;
};

// The answer of admit_addresses.
base::result<base::json> admit(const admission& a, const admission_order& order);

} // namespace siteagent::azure::cloud_host
