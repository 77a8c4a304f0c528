// SPDX-License-Identifier: MIT
// The rights the plugin's calls need, in ONE table, and what a principal may really do. The role an
// operator creates and the diagnosis of a missing right both come from here.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/arm/pipeline.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/settings.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

// Where rights must hold: what the subscription tells, and where machines are made.
enum class right_area : std::uint8_t {
  subscription,
  machines, // the shared group, else the subscription
  network,  // the site's own, when the settings name one of its subnets
  subnet,   // that subnet
};

inline constexpr std::array<right_area, 4> all_areas{
    right_area::subscription, right_area::machines, right_area::network, right_area::subnet};

struct right {
  std::string action; // "Microsoft.Compute/virtualMachines/start/action"
  right_area area = right_area::subscription;
};

inline constexpr std::array<std::string_view, 2> providers{
    "Microsoft.Compute", "Microsoft.Network"};

// What Azure says about the site, as far as rights depend on it.
struct circumstances {
  bool group_exists = true; // false: a shared group that is still to be made
  // Of `providers`, those the plugin may have to register.
  std::vector<std::string_view> unregistered{providers.begin(), providers.end()};
  bool meters_hours = false; // some component is metered in hours: the activity log is read
};

// Every action the plugin performs with these settings, each once per area. Narrower when a shared
// group (its subscription is only read), an existing subnet or no public address is configured;
// reading is always among them, since clean-up looks before it deletes.
std::vector<right> required_rights(const settings& s, const circumstances& c = {});

// The same for one area, sorted.
std::vector<std::string> actions_in(const std::vector<right>& rights, right_area area);

// One assignment of a role, as the permissions API shows it.
struct allowance {
  std::vector<std::string> actions;
  std::vector<std::string> not_actions;
};

// "Microsoft.Compute/*/read" against an action, without case; "*" stands for any text, also with
// slashes.
bool matches_action(std::string_view pattern, std::string_view action);

// Azure's rule: some assignment grants the action and does not itself take it away again.
bool is_allowed(const std::vector<allowance>& all, std::string_view action);

// What the credentials may do at a scope (an ARM id, percent-encoded), inherited rights included.
base::result<std::vector<allowance>>
read_allowances(const arm::pipeline& arm, const arm::scope& call, const std::string& scope);

// The scope of an area as text: "/subscriptions/.../resourceGroups/..."
std::string scope_of(right_area area, const settings& s);

} // namespace siteagent::azure
