// SPDX-License-Identifier: MIT
// What an operator wants to know before the first order.
#pragma once

#include "plugins/azure/services.hpp"

#include <string>
#include <vector>

namespace siteagent::azure {

struct check_result {
  std::string name;
  bool ok = false;
  std::string detail;
};

// Read-only. Never fails as a whole: what cannot be checked is a check that failed.
std::vector<check_result>
diagnose(const services& cloud, const settings& s, const arm::scope& call);

// Can the cloud be used at all? The error says why not.
base::result<void> ping(const services& cloud, const settings& s, const arm::scope& call);

} // namespace siteagent::azure
