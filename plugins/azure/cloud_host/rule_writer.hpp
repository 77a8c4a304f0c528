// SPDX-License-Identifier: MIT
// Bringing one rule of a security group up to date, and nothing else in it.
#pragma once

#include "plugins/azure/cloud_host/rules.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/services.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace siteagent::azure::cloud_host {

enum class rule_change : std::uint8_t { unchanged, updated, created };

struct rule_outcome {
  rule_change change = rule_change::unchanged;
  std::int64_t priority = 0;
  std::string id;
  std::vector<std::string> shadowed_by;
  std::vector<std::string> others; // that admit something, too
};

// Reads the group, writes only what differs, and looks again when somebody else was faster.
// `conflict` when the rule of that name admits to another target, `refused` when no priority is
// free, `not_found` when the group is not there. A dry run says what would be done.
base::result<rule_outcome> bring_up_to_date(
    const services& cloud,
    const arm::scope& call,
    const resource_id& security_group,
    const admitting_rule& wanted,
    bool dry_run
);

} // namespace siteagent::azure::cloud_host
