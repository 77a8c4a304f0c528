// SPDX-License-Identifier: MIT
// Taking things away again: one object to its proven absence, a resource by its machine's id, or
// everything that carries its tag. What is not ours stays.
#pragma once

#include "plugins/azure/ownership.hpp"
#include "plugins/azure/services.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

struct removal {
  const services& cloud;
  const settings& s;
  const arm::scope& call;
  owner who;                 // an empty tag: ownership is not known, only names count
  std::string resource_name; // to look directly at the names it would have; "" = unknown
  bool keep_working_machine = false;
  bool dry_run = false;
};

struct left_over {
  std::string id;
  std::string reason;
};

struct removal_report {
  std::vector<std::string> deleted;
  std::vector<left_over> remaining;
  std::optional<base::error> failure; // the first one, or why nothing was done
};

// Everything tagged for the resource. With keep_working_machine: `conflict`, nothing deleted, when
// its machine works.
removal_report remove_by_tag(const removal& r);
// By the machine's id; the group goes too when it is the machine's own.
removal_report remove_machine(const removal& r, const resource_id& machine);
// One object out of list_resources; it must carry `tags`.
removal_report remove_listed(const removal& r, const resource_id& id, const base::json& tags);

} // namespace siteagent::azure
