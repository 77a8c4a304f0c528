// SPDX-License-Identifier: MIT
// Where a machine is, or will be: found by its tag, else by a free name.
#pragma once

#include "core/base/json.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/services.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace siteagent::azure {

// Everything that carries the resource's tag, as lists show it.
struct belongings {
  std::vector<base::json> objects;
  std::vector<base::json> groups;

  // The machines among them.
  std::vector<resource_id> machines() const;
};

// Both lists, to the end: an error means nothing is known. Groups are a list of their own in ARM.
base::result<belongings>
find_belongings(const services& cloud, const arm::scope& call, const owner& who);

struct place {
  resource_id machine; // id the machine has or will have
  bool shared_group = false;
  // What one look at the group showed: id_key of the group, if it is there, and of its members.
  // What is not in it was absent a moment ago and need not be read before it is written. nullopt:
  // nobody looked, so every object is read first.
  std::optional<std::set<std::string>> seen = {};
};

// The place of what was found; nullopt: nothing tells.
std::optional<place> place_of(const belongings& found, const settings& s);

// A free name, by the ladder. Names looked at are claimed in this process. `conflict` when the last
// rung is taken too, naming kind and id.
base::result<place> choose_place(
    const services& cloud,
    const arm::scope& call,
    const settings& s,
    const owner& who,
    std::string_view resource_name
);

// The places an order of this name may have used, by the ladder, without asking Azure.
std::vector<resource_id>
places_by_name(const settings& s, const owner& who, std::string_view resource_name);

} // namespace siteagent::azure
