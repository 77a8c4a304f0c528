// SPDX-License-Identifier: MIT
// The one table of what a machine is made of. Creation walks it forward, clean-up and the deletion
// inside a shared group walk it backward; cloud hosts are made and deleted by the same rows.
#pragma once

#include "core/base/json.hpp"
#include "plugins/azure/resource_id.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure {

enum class kind_id : std::uint8_t {
  resource_group,
  disk,
  virtual_network,
  subnet,
  public_ip_address,
  network_security_group,
  network_interface,
  virtual_machine,
  // Only cloud hosts have these; they are part of no order.
  application_security_group,
  security_rule,
};

struct kind {
  kind_id id;
  std::string_view name; // in checkpoints, errors and lists: "virtual-machine"
  std::string_view type; // "Microsoft.Compute/virtualMachines"
  std::string_view api_version;
  std::string_view prefix; // before the machine's name
  bool created;            // by the walk; a disk comes with its machine
  bool taggable;           // a subnet belongs to its network
  bool create_only;        // takes If-None-Match
  std::chrono::milliseconds usual_poll;
  std::string_view delete_query; // appended to DELETE
};

// What orders are made of, in order of creation.
const std::array<kind, 8>& all_kinds();
const kind& kind_of(kind_id id);
// By ARM type, any case; nullptr: not one of ours.
const kind* find_kind(std::string_view type);

// The companion of a machine in its group. `resource_group`: the group itself.
resource_id companion(const resource_id& machine, kind_id which);
// The machine name a companion's name was made from; nullopt: not by this scheme.
std::optional<std::string> machine_of_companion(const resource_id& id);

// Objects can be deleted from the highest rank down; what is none of our kinds goes right after the
// machines.
int deletion_rank(const resource_id& id);

std::string url_of(const resource_id& id, const kind& k);
// "create" + kind + name, for errors.
std::string describe(std::string_view verb, const kind& k, const resource_id& id);

} // namespace siteagent::azure
