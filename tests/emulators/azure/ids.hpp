// SPDX-License-Identifier: MIT
// Resource ids and the kinds of resources this emulator stores. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

enum class kind : std::uint8_t {
  virtual_network,
  subnet,
  public_ip,
  security_group,
  security_rule,
  application_group,
  network_interface,
  virtual_machine,
  disk,
  ssh_key,
  availability_set,
};

struct kind_info {
  azure_emulator::kind kind;
  std::string_view provider;  // "Microsoft.Network"
  std::string_view type;      // "virtualNetworks"
  std::string_view child;     // "subnets", "" for a resource of its own
  std::string_view list_name; // its key in the inventory and in a seed
  std::string_view since;     // the api-version that first had it
};

const std::vector<kind_info>& all_kinds();
const kind_info& info_of(kind k);
// The versions that a provider names for a kind, the newest first; others since then are taken too.
std::vector<std::string> versions_of(kind k);
// Names compared without case; nullopt: not one of ours.
std::optional<kind>
find_kind(std::string_view provider, std::string_view type, std::string_view child);
// "Microsoft.Network/virtualNetworks/subnets"
std::string type_name(kind k);
bool is_network(kind k);

// Ids compare without case: the key is what maps are keyed with.
std::string key_of(std::string_view id);

std::string group_id(std::string_view subscription, std::string_view group);

// Names keep the case they were written with.
struct resource_path {
  azure_emulator::kind kind = azure_emulator::kind::virtual_network;
  std::string subscription;
  std::string group;
  std::string name;
  std::string child; // "" unless the kind has one

  std::string id() const;

  std::string key() const { return key_of(id()); }

  std::string parent_id() const;

  // The last segment.
  const std::string& own_name() const { return child.empty() ? name : child; }

  std::string group_key() const { return key_of(group_id(subscription, group)); }
};

// A whole id of one of our kinds; nullopt otherwise.
std::optional<resource_path> parse_resource_id(std::string_view id);

// "West Europe" -> "westeurope"
std::string normalized_location(std::string_view text);

} // namespace siteagent::azure_emulator
