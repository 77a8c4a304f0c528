// SPDX-License-Identifier: MIT
// What one host is made of: names by the scheme, ids as recorded.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/cloud_host/host_settings.hpp"
#include "plugins/azure/kinds.hpp"

#include <array>
#include <string>
#include <string_view>

namespace siteagent::azure::cloud_host {

// In order of creation; deletion goes backward, with the disk right behind its machine.
inline constexpr std::array<kind_id, 5> host_kinds{
    kind_id::public_ip_address,
    kind_id::network_security_group,
    kind_id::network_interface,
    kind_id::disk,
    kind_id::virtual_machine};

struct host_objects {
  resource_id machine;
  resource_id disk;
  resource_id interface;
  resource_id group;
  resource_id address;
  std::string application_group; // id, or ""

  const resource_id& of(kind_id which) const;
  resource_id& of(kind_id which);
};

// <name>, <name>-os, <name>-nic, <name>-nsg, <name>-ip in the resource group of the bindings.
host_objects objects_named(const host_settings& s, std::string_view name);

// For the registry, and back. What is not recorded has the name of the scheme. `invalid` for ids of
// another type or subscription: nothing may be done by such a record.
base::json to_json(const host_objects& o);
base::result<host_objects>
objects_of(const host_settings& s, std::string_view name, const base::json& resources);

resource_id
application_group_id(const host_settings& s, std::string_view group, std::string_view location);

// "public ip address" of a kind, for sentences.
std::string words_of(const kind& k);

// Wraps a failure to make an object: "the <words> <name> was not made: ...".
base::error not_made(const kind& k, const resource_id& id, base::error why);

base::json object_json(const kind& k, const resource_id& id);

} // namespace siteagent::azure::cloud_host
