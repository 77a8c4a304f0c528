// SPDX-License-Identifier: MIT
#include "plugins/azure/kinds.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view resources_version = "2021-04-01";
constexpr std::string_view network_version = "2024-05-01";

// kind_id is the index.
constexpr std::array<kind, 8> table{{
    {kind_id::resource_group,
     "resource-group",
     "Microsoft.Resources/resourceGroups",
     resources_version,
     "",
     true,
     true,
     false,
     milliseconds(15'000),
     ""},
    {kind_id::disk,
     "disk",
     "Microsoft.Compute/disks",
     "2024-03-02",
     "osdisk",
     false,
     true,
     false,
     milliseconds(3'000),
     ""},
    {kind_id::virtual_network,
     "virtual-network",
     "Microsoft.Network/virtualNetworks",
     network_version,
     "net",
     true,
     true,
     true,
     milliseconds(3'000),
     ""},
    {kind_id::subnet,
     "subnet",
     "Microsoft.Network/virtualNetworks/subnets",
     network_version,
     "subnet",
     true,
     false,
     true,
     milliseconds(3'000),
     ""},
    {kind_id::public_ip_address,
     "public-ip-address",
     "Microsoft.Network/publicIPAddresses",
     network_version,
     "pubip",
     true,
     true,
     true,
     milliseconds(3'000),
     ""},
    {kind_id::network_security_group,
     "network-security-group",
     "Microsoft.Network/networkSecurityGroups",
     network_version,
     "nsg",
     true,
     true,
     true,
     milliseconds(3'000),
     ""},
    {kind_id::network_interface,
     "network-interface",
     "Microsoft.Network/networkInterfaces",
     network_version,
     "nic",
     true,
     true,
     true,
     milliseconds(3'000),
     ""},
    {kind_id::virtual_machine,
     "virtual-machine",
     "Microsoft.Compute/virtualMachines",
     "2024-07-01",
     "",
     true,
     true,
     true,
     milliseconds(10'000),
     "&forceDeletion=true"},
}};

// The rest of kind_id.
constexpr std::array<kind, 2> host_kinds{{
    {kind_id::application_security_group,
     "application-security-group",
     "Microsoft.Network/applicationSecurityGroups",
     network_version,
     "asg",
     true,
     true,
     true,
     milliseconds(3'000),
     ""},
    {kind_id::security_rule,
     "security-rule",
     "Microsoft.Network/networkSecurityGroups/securityRules",
     network_version,
     "rule",
     true,
     false,
     true,
     milliseconds(3'000),
     ""},
}};

} // namespace

const std::array<kind, 8>& all_kinds() {
  return table;
}

const kind& kind_of(kind_id id) {
  const auto index = static_cast<std::size_t>(id);
  return index < table.size() ? table.at(index) : host_kinds.at(index - table.size());
}

const kind* find_kind(std::string_view type) {
  const auto* const it = std::find_if(table.begin(), table.end(), [&](const kind& k) {
    return base::equals_ignoring_case(k.type, type);
  });
  return it == table.end() ? nullptr : it;
}

resource_id companion(const resource_id& machine, kind_id which) {
  const kind& k = kind_of(which);
  if (which == kind_id::resource_group) {
    return resource_id::of_group(machine.subscription, machine.group);
  }
  if (which == kind_id::subnet) {
    return companion(machine, kind_id::virtual_network)
        .child("subnets", std::string(k.prefix) + machine.name());
  }
  return machine.in_same_group(k.type, std::string(k.prefix) + machine.name());
}

std::optional<std::string> machine_of_companion(const resource_id& id) {
  const kind* k = find_kind(id.type());
  if (k == nullptr || id.is_group() || id.parts.size() != 1) {
    return std::nullopt;
  }
  const std::string& name = id.name();
  if (name.size() <= k->prefix.size() ||
      !base::equals_ignoring_case(std::string_view(name).substr(0, k->prefix.size()), k->prefix)) {
    return std::nullopt;
  }
  return name.substr(k->prefix.size());
}

int deletion_rank(const resource_id& id) {
  const kind* known = id.is_group() ? &kind_of(kind_id::resource_group) : find_kind(id.type());
  return known == nullptr ? static_cast<int>(kind_id::virtual_machine) * 2 - 1
                          : static_cast<int>(known->id) * 2;
}

std::string url_of(const resource_id& id, const kind& k) {
  return id.path() + "?api-version=" + std::string(k.api_version);
}

std::string describe(std::string_view verb, const kind& k, const resource_id& id) {
  std::string words(k.name);
  std::replace(words.begin(), words.end(), '-', ' ');
  std::string out = std::string(verb) + " " + words + " " + id.name();
  return id.is_group() ? out : out + " in group " + id.group;
}

} // namespace siteagent::azure
