// SPDX-License-Identifier: MIT
// What an operator wants to know before the first order.
#pragma once

#include "plugins/azure/permissions.hpp"
#include "plugins/azure/services.hpp"

#include <optional>
#include <string>
#include <vector>

namespace siteagent::azure {

struct check_result {
  std::string name;
  bool ok = false;
  std::string detail; // of a failed check: what is wrong, and what to do
};

// A read that failed, with what to do where Azure's own words do not say it.
check_result failed_check(std::string name, const base::error& e);

// `meters_hours`: some component is metered in hours.
// Read-only. Never fails as a whole: what cannot be checked is a check that failed, and what one
// check misses does not hide the others.
std::vector<check_result>
diagnose(const services& cloud, const settings& s, const arm::scope& call, bool meters_hours);

// Can the cloud be used at all? The error says why not.
base::result<void> ping(const services& cloud, const settings& s, const arm::scope& call);

// The parts of diagnose, for those with a subject of their own.

// An unauthenticated question to the resource manager: can it be reached (name, connection, TLS),
// do the clocks agree, and which tenant owns the subscription? `reached`: the rest makes sense.
struct first_contact {
  std::vector<check_result> checks;
  bool reached = false;
};

first_contact greet(const services& cloud, const settings& s, const arm::scope& call);

// Every missing right, by scope. `group_exists`: of a shared group.
std::vector<check_result>
check_rights(const services& cloud, const settings& s, const arm::scope& call, bool group_exists);

// The default location, size and image; the quota left for machines of the default size; and
// whether an order that names nothing would be accepted.
std::vector<check_result>
check_defaults(const services& cloud, const settings& s, const arm::scope& call);

} // namespace siteagent::azure
