// SPDX-License-Identifier: MIT
// Waldur's objects, decoded tolerantly: unknown enum values stay text, absent fields stay absent.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/uuid.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::waldur {

// component type -> amount, as text of an exact decimal
using limits = std::map<std::string, std::string>;

struct order {
  base::uuid uuid;
  std::string type;  // Create | Update | Terminate | Restore | anything newer
  std::string state; // pending-provider | executing | done | erred | canceled | rejected | ...
  std::string resource_name;
  std::optional<base::uuid> resource; // marketplace_resource_uuid
  std::optional<base::uuid> plan;     // plan_uuid: for Update the new plan
  std::optional<base::uuid> old_plan;
  waldur::limits limits;
  base::json attributes; // {} when absent
  std::string project_slug;
  std::optional<base::wall_time> created;
  base::json raw;
};

struct resource {
  base::uuid uuid;
  std::string name;
  std::string slug;
  std::string state; // Creating | OK | Erred | Updating | Terminating | Terminated
  std::string backend_id;
  base::json attributes;
  base::json backend_metadata;
  waldur::limits limits;
  std::optional<base::uuid> plan;
  std::string project_uuid;
  std::string project_slug;
  std::string customer_slug;
  bool paused = false;
  bool downscaled = false;
  // false: the answer lacked paused or downscaled, so their values above mean nothing and nobody
  // may start or stop a machine because of them.
  bool power_flags_known = false;
  base::json raw;
};

struct offering_component {
  base::uuid uuid;
  std::string type;
  std::string name;
  std::string billing_type;
  std::string measured_unit;
  std::optional<std::string> unit_factor;
  std::optional<std::string> limit_amount;
};

struct offering {
  std::string name;
  std::string type;  // Marketplace.Slurm | ...; "" = not shown
  std::string state; // Draft | Active | Paused | Archived | Unavailable; "" = not shown
  std::vector<offering_component> components;
  std::optional<base::uuid> customer;
  base::json plugin_options;
  base::json options; // the order form: {"order":[],"options":{}}; {} when absent
};

struct plan {
  std::string name;
  waldur::limits quotas; // zero values dropped
};

struct component_usage {
  base::uuid uuid;
  std::string type;
  std::string usage;               // decimal text
  std::string billing_period = {}; // "2026-11-01"; "" = not shown
};

struct usage_item {
  std::string type;
  std::string amount; // exactly two decimals
};

struct endpoint {
  std::string name;
  std::string url;
};

// Where the broker keeps what Waldur has to tell, and who may read it.
struct event_queue {
  std::string login;
  std::string queue;
  std::string virtual_host;
  std::vector<std::string> object_types; // those the queue receives, as the server says
};

// What an agent's identity shows of the process behind it.
struct agent_build {
  std::string version;
  std::string last_restarted;                                         // RFC 3339, of the process
  std::vector<std::pair<std::string, std::string>> dependencies = {}; // package, version
};

// A line of the agent's log, as Waldur keeps it.
struct log_line {
  std::chrono::system_clock::time_point time;
  std::string level; // DEBUG, INFO, WARNING, ERROR or CRITICAL
  std::string message;
  std::string module;
};

} // namespace siteagent::waldur
