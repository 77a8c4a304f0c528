// SPDX-License-Identifier: MIT
// The bodies of the writes that make a host. Pure.
#pragma once

#include "core/base/json.hpp"
#include "plugins/azure/clients/compute.hpp"
#include "plugins/azure/cloud_host/objects.hpp"
#include "plugins/azure/cloud_host/rules.hpp"
#include "plugins/azure/settings.hpp"

#include <cstdint>
#include <string>

namespace siteagent::azure::cloud_host {

struct host_plan {
  std::string name;
  std::string location; // normalised
  std::string size;
  std::int64_t disk_gb = 0;
  std::string login;
  std::string public_key; // one line
  std::string user_data;
  resource_id subnet;
  image_reference image;
  image_info resolved;
  admitting_rule rule; // of the host's own group
  host_objects objects;
  base::json tags;
};

// "b.1_x" -> "b-1-x": Linux takes no dot and no underscore in a host name.
std::string computer_name_of(std::string_view name);

base::json body_of(kind_id which, const host_plan& p);

} // namespace siteagent::azure::cloud_host
