// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/rights.hpp"

#include <algorithm>

namespace siteagent::azure::cloud_host {

namespace {

struct needed {
  host_area area;
  std::string_view action;
};

constexpr host_area subscription = host_area::subscription;
constexpr host_area group = host_area::group;
constexpr host_area security_group = host_area::security_group;

constexpr auto table = std::to_array<needed>({
    {group, "Microsoft.Authorization/permissions/read"},
    {group, "Microsoft.Compute/disks/delete"},
    {group, "Microsoft.Compute/disks/read"},
    {group, "Microsoft.Compute/disks/write"},
    {group, "Microsoft.Compute/virtualMachines/delete"},
    {group, "Microsoft.Compute/virtualMachines/instanceView/read"},
    {group, "Microsoft.Compute/virtualMachines/read"},
    {group, "Microsoft.Compute/virtualMachines/write"},
    {group, "Microsoft.Network/applicationSecurityGroups/joinIpConfiguration/action"},
    {group, "Microsoft.Network/applicationSecurityGroups/joinNetworkSecurityRule/action"},
    {group, "Microsoft.Network/applicationSecurityGroups/read"},
    {group, "Microsoft.Network/applicationSecurityGroups/write"},
    {group, "Microsoft.Network/networkInterfaces/delete"},
    {group, "Microsoft.Network/networkInterfaces/join/action"},
    {group, "Microsoft.Network/networkInterfaces/read"},
    {group, "Microsoft.Network/networkInterfaces/write"},
    {group, "Microsoft.Network/networkSecurityGroups/delete"},
    {group, "Microsoft.Network/networkSecurityGroups/join/action"},
    {group, "Microsoft.Network/networkSecurityGroups/read"},
    {group, "Microsoft.Network/networkSecurityGroups/securityRules/read"},
    {group, "Microsoft.Network/networkSecurityGroups/securityRules/write"},
    {group, "Microsoft.Network/networkSecurityGroups/write"},
    {group, "Microsoft.Network/publicIPAddresses/delete"},
    {group, "Microsoft.Network/publicIPAddresses/join/action"},
    {group, "Microsoft.Network/publicIPAddresses/read"},
    {group, "Microsoft.Network/publicIPAddresses/write"},
    {group, "Microsoft.Network/virtualNetworks/read"},
    {group, "Microsoft.Network/virtualNetworks/subnets/join/action"},
    {group, "Microsoft.Resources/subscriptions/resourceGroups/read"},
    {group, "Microsoft.Resources/subscriptions/resourceGroups/resources/read"},
    {security_group, "Microsoft.Authorization/permissions/read"},
    {security_group, "Microsoft.Network/networkSecurityGroups/read"},
    {security_group, "Microsoft.Network/networkSecurityGroups/securityRules/read"},
    {security_group, "Microsoft.Network/networkSecurityGroups/securityRules/write"},
    {subscription, "Microsoft.Authorization/permissions/read"},
    {subscription, "Microsoft.Compute/locations/diskOperations/read"},
    {subscription, "Microsoft.Compute/locations/operations/read"},
    {subscription, "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/read"},
    {subscription,
     "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"},
    {subscription, "Microsoft.Compute/locations/usages/read"},
    {subscription, "Microsoft.Compute/skus/read"},
    {subscription, "Microsoft.Network/locations/operationResults/read"},
    {subscription, "Microsoft.Network/locations/operations/read"},
    {subscription, "Microsoft.Network/locations/usages/read"},
    {subscription, "Microsoft.Resources/subscriptions/locations/read"},
    {subscription, "Microsoft.Resources/subscriptions/read"},
});

} // namespace

std::string_view name_of(host_area area) {
  switch (area) {
  case host_area::subscription:
    return "subscription";
  case host_area::group:
    return "resource group";
  case host_area::security_group:
    break;
  }
  return "security group of the subnet";
}

std::vector<std::string> actions_of(host_area area) {
  std::vector<std::string> out;
  for (const needed& n : table) {
    if (n.area == area) {
      out.emplace_back(n.action);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> missing_actions(host_area area, const std::vector<allowance>& allowed) {
  std::vector<std::string> out = actions_of(area);
  std::erase_if(out, [&](const std::string& action) { return is_allowed(allowed, action); });
  return out;
}

} // namespace siteagent::azure::cloud_host
