// SPDX-License-Identifier: MIT
// Can hosts be rented at all, and could this one be made: every check by itself, nothing written.
#pragma once

#include "plugins/azure/cloud_host/access.hpp"
#include "plugins/azure/cloud_host/create_host.hpp"

#include <string>
#include <vector>

namespace siteagent::azure::cloud_host {

struct check_line {
  std::string name;
  bool ok = false;
  std::string detail;
  bool needed = true; // create cannot do without
};

base::json to_json(const check_line& line);

// The checks of a dry run of create_host.
std::vector<check_line> check_plan(
    const services& cloud, const arm::scope& call, const host_settings& s, const host_plan& plan
);

// The checks of the whole site.
std::vector<check_line> check_site(
    const services& cloud,
    const arm::scope& call,
    const host_settings& s,
    const std::vector<std::string>& locations
);

check_line check_billing(const access& entrance, const arm::scope& call, const host_settings& s);

} // namespace siteagent::azure::cloud_host
