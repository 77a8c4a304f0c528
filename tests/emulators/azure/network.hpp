// SPDX-License-Identifier: MIT
// What the kinds of network resources have in common, and the table of what differs.
#pragma once

#include "context.hpp"
#include "operations.hpp"

#include "core/base/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// One PUT while it is handled.
struct network_put {
  context& c;
  const resource_path& path;
  resource* existing; // nullptr: a create
  resource* parent;   // of a subnet or rule, else nullptr
  std::string location;
  const base::json& wanted; // "properties" of the request
};

// One kind. Hooks that are nullptr do nothing.
struct network_kind {
  azure_emulator::kind kind;
  std::string_view operation; // "PutSubnetOperation", as errors name it
  // Refuses what the request may not ask for.
  std::optional<reply> (*check)(const network_put& p);
  // Fills body and uses of what will be stored, and may refuse for want of room. The rest of `r`
  // is set, and existing is still there.
  std::optional<reply> (*build)(const network_put& p, resource& r);
  // Stores the children that the request names, drops the others, adds their keys to `also`.
  // True: any of them changed. The parent is stored, `p.existing` must not be used any more.
  bool (*store_children)(const network_put& p, std::vector<std::string>& also);
  // Refuses to remove what is in use.
  std::optional<reply> (*refuse_removal)(const context& c, resource& r);
};

// The rows of the table, by file.
const network_kind& virtual_network_kind();
const network_kind& subnet_kind();
const network_kind& public_ip_kind();
const network_kind& security_group_kind();
const network_kind& security_rule_kind();
const network_kind& application_group_kind();
const network_kind& interface_kind();

const network_kind& network_kind_of(kind k);

// The domain that the platform shows for an interface, by the interface's resourceGuid.
std::string internal_domain(std::string_view guid);

// 400 from the network provider, which always adds an empty "details".
reply network_refusal(std::string_view code, const std::string& message);

// How many of something there may be: "networkSecurityGroups", "securityRules", ...; a seed may
// lower it.
std::int64_t network_limit(const world& w, std::string_view name);
// Refuses `count` when it is above the limit `name`; `what` completes the sentence "Cannot have
// more than 10 ...".
std::optional<reply> refuse_over_limit(
    const context& c,
    std::string_view name,
    std::int64_t count,
    std::string_view code,
    const std::string& what
);

// Two children of one name in a list of {"name": ...}.
std::optional<reply> refuse_duplicate_names(const std::string& owner, const base::json& list);

// Stores one child of a parent that is stored already; true: it is new or changed.
bool store_child(
    context& c,
    const resource_path& path,
    const base::json& body,
    const std::vector<std::string>& uses,
    std::string_view location
);
// Erases the children of a parent whose keys are not in `kept`.
bool drop_other_children(
    context& c, const resource_path& parent, const std::vector<std::string>& kept
);

// Ids of a list of {"id": ...}.
std::vector<std::string> ids_in(const base::json& list);

// The virtual networks (keys) of the members of an application security group, without the
// interface `except`.
std::vector<std::string>
networks_of_group(const world& w, const std::string& group_key, std::string_view except = {});
// The groups a security rule names, both sides.
std::vector<std::string> groups_of_rule(const base::json& properties);
// How many ipConfigurations a group has, without those of the interface `except`.
std::int64_t
members_of_group(const world& w, const std::string& group_key, std::string_view except);
// The groups that an interface's request names: one set, few enough, all within its network.
std::optional<reply> check_application_groups(const network_put& p);
reply groups_in_two_networks(const std::string& rule);
// Ids of all ipConfigurations of an interface that name `id` as one of their groups.
std::vector<std::string> configurations_in_group(const resource& interface, std::string_view id);

// For a while after an interface is gone, what it used still counts as used, where a seed says so.
void remember_references(world& w, const resource& r, base::wall_time now);
// The ipConfiguration that still holds `key`, "" = none.
std::string lingering_reference(const world& w, const std::string& key, base::wall_time now);

} // namespace siteagent::azure_emulator
