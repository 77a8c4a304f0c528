// SPDX-License-Identifier: MIT
#include "ids.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;

const std::vector<kind_info>& all_kinds() {
  static const std::vector<kind_info> kinds = {
      {kind::virtual_network,
       "Microsoft.Network",
       "virtualNetworks",
       "",
       "virtualNetworks",
       "2014-12-01-preview"},
      {kind::subnet,
       "Microsoft.Network",
       "virtualNetworks",
       "subnets",
       "subnets",
       "2014-12-01-preview"},
      {kind::public_ip,
       "Microsoft.Network",
       "publicIPAddresses",
       "",
       "publicIPAddresses",
       "2014-12-01-preview"},
      {kind::security_group,
       "Microsoft.Network",
       "networkSecurityGroups",
       "",
       "networkSecurityGroups",
       "2014-12-01-preview"},
      {kind::security_rule,
       "Microsoft.Network",
       "networkSecurityGroups",
       "securityRules",
       "securityRules",
       "2014-12-01-preview"},
      {kind::application_group,
       "Microsoft.Network",
       "applicationSecurityGroups",
       "",
       "applicationSecurityGroups",
       "2017-09-01"},
      {kind::network_interface,
       "Microsoft.Network",
       "networkInterfaces",
       "",
       "networkInterfaces",
       "2014-12-01-preview"},
      {kind::virtual_machine,
       "Microsoft.Compute",
       "virtualMachines",
       "",
       "virtualMachines",
       "2015-05-01-preview"},
      {kind::disk, "Microsoft.Compute", "disks", "", "disks", "2016-04-30-preview"},
      {kind::ssh_key, "Microsoft.Compute", "sshPublicKeys", "", "sshPublicKeys", "2019-12-01"},
      {kind::availability_set,
       "Microsoft.Compute",
       "availabilitySets",
       "",
       "availabilitySets",
       "2015-05-01-preview"},
  };
  return kinds;
}

const kind_info& info_of(kind k) {
  return all_kinds()[static_cast<std::size_t>(k)];
}

std::vector<std::string> versions_of(kind k) {
  if (is_network(k)) {
    return {"2024-05-01", "2023-09-01"};
  }
  return k == kind::disk ? std::vector<std::string>{"2024-03-02", "2023-04-02"}
                         : std::vector<std::string>{"2024-07-01", "2023-09-01"};
}

std::optional<kind>
find_kind(std::string_view provider, std::string_view type, std::string_view child) {
  for (const auto& info : all_kinds()) {
    if (equals_ignoring_case(info.provider, provider) && equals_ignoring_case(info.type, type) &&
        equals_ignoring_case(info.child, child)) {
      return info.kind;
    }
  }
  return std::nullopt;
}

std::string type_name(kind k) {
  const auto& info = info_of(k);
  std::string text = std::string(info.provider) + "/" + std::string(info.type);
  if (!info.child.empty()) {
    text += "/" + std::string(info.child);
  }
  return text;
}

bool is_network(kind k) {
  return info_of(k).provider == "Microsoft.Network";
}

std::string key_of(std::string_view id) {
  return base::to_lower(id);
}

std::string group_id(std::string_view subscription, std::string_view group) {
  return "/subscriptions/" + std::string(subscription) + "/resourceGroups/" + std::string(group);
}

std::string resource_path::parent_id() const {
  const auto& info = info_of(kind);
  return group_id(subscription, group) + "/providers/" + std::string(info.provider) + "/" +
         std::string(info.type) + "/" + name;
}

std::string resource_path::id() const {
  const auto& info = info_of(kind);
  std::string text = parent_id();
  if (!info.child.empty()) {
    text += "/" + std::string(info.child) + "/" + child;
  }
  return text;
}

std::optional<resource_path> parse_resource_id(std::string_view id) {
  std::vector<std::string_view> parts;
  for (const auto part : base::split(id, '/')) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  if ((parts.size() != 8 && parts.size() != 10) ||
      !equals_ignoring_case(parts[0], "subscriptions") ||
      !equals_ignoring_case(parts[2], "resourceGroups") ||
      !equals_ignoring_case(parts[4], "providers")) {
    return std::nullopt;
  }
  const bool has_child = parts.size() == 10;
  const auto k = find_kind(parts[5], parts[6], has_child ? parts[8] : std::string_view());
  if (!k) {
    return std::nullopt;
  }
  resource_path path;
  path.kind = *k;
  path.subscription = parts[1];
  path.group = parts[3];
  path.name = parts[7];
  path.child = has_child ? std::string(parts[9]) : std::string();
  return path;
}

std::string normalized_location(std::string_view text) {
  std::string out;
  for (const char c : base::to_lower(text)) {
    if (c != ' ') {
      out += c;
    }
  }
  return out;
}

} // namespace siteagent::azure_emulator
