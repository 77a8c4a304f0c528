// SPDX-License-Identifier: MIT
// What costs money with nobody behind it, and what is paid for and not there: the cloud's tagged
// objects beside Waldur's resources. Waldur not showing a resource proves nothing: such an object
// is reported as unknown and never deleted.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::agent {

// Younger objects may belong to an order that is just being carried out.
inline constexpr std::chrono::hours youngest_orphan{24};

struct orphan_object {
  std::string id;   // the cloud's
  std::string kind; // the plugin's word
  std::optional<base::uuid> resource;
  std::optional<base::wall_time> created;
  std::string price_month; // decimal text; empty: unknown
  std::string currency;
  std::string why;     // "resource web-1 is Terminated"
  std::string why_not; // why it may not be deleted; empty: it may
};

struct missing_machine {
  base::uuid resource;
  std::string name;
  std::string state; // of the resource in Waldur
  std::string backend_id;
};

struct orphan_report {
  std::vector<orphan_object> objects; // in an order in which they can be deleted
  std::vector<missing_machine> missing;
};

// Reads only.
base::result<orphan_report>
find_orphans(offering_context& offering, portal& waldur, environment& env);

struct deletion {
  std::string id;
  std::optional<base::error> failure; // none: deleted, or gone already
};

// Deletes these objects of the report, each after another look at its resource in Waldur; again
// as long as some of them can be deleted, because some wait for others. One line per object.
base::result<std::vector<deletion>> delete_orphans(
    offering_context& offering,
    portal& waldur,
    environment& env,
    const std::vector<orphan_object>& chosen
);

} // namespace siteagent::agent
