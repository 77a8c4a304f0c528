// SPDX-License-Identifier: MIT
// `stado cloud host reap`: the fleet's addresses admitted anew, every host judged, and with `apply`
// the idle ones returned.
#pragma once

#include "core/fleet/cloud_host/context.hpp"
#include "core/fleet/egress.hpp"
#include "core/fleet/runs.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

struct judgement {
  std::string state;                        // busy, idle, reapable, unread
  std::string cause;                        // why it is busy or unread; "" = nothing to say
  std::optional<std::int64_t> idle_seconds; // idle and reapable
  std::string since;                        // idle since, RFC 3339; "" when it is not idle
};

// Pure. Run activity is told by the host's clock on both sides; only a host where no run ever came
// is judged by this machine's clock, and then the two must agree to an hour. A first boot counts as
// work for `longest_boot` after the host was created.
judgement judge(
    const cloud_declaration& cloud,
    const host_reading& reading,
    base::wall_time now,
    std::chrono::milliseconds longest_boot = std::chrono::minutes(45)
);

struct reaped_host {
  std::string name;
  std::string state; // those of judgement, reaped, reap_failed
  std::string cause;
  std::optional<std::int64_t> idle_seconds;
  std::int64_t idle_minutes = 0;
  std::string since;
  std::vector<standing_run> runs;
  std::int64_t cargo = 0;
  std::int64_t rustc = 0;
  std::vector<released_object> released;
  // Of a host that is unread, or busy only by kept runs: since when, and what it cost since.
  std::string standing_since;
  std::optional<std::int64_t> standing_hours;
  std::optional<base::decimal> standing_usd;
};

struct reap_report {
  std::string provider;
  bool applied = false;
  std::string read_at;
  bool is_any_declared = false;
  std::map<std::string, egress_record> egress;
  std::vector<egress_failure> egress_errors;
  std::optional<base::error> admission_error; // of recording or admitting the addresses
  std::vector<reaped_host> hosts;
  bool was_cut_short = false; // stopped, or the pass's time ran out: hosts left for the next one

  bool is_clean() const; // no reap_failed, no failure about addresses
};

base::json to_json(const reap_report& r);

// One pass. `wait` false: `conflict` at once when another command holds the lock. Errors before the
// hosts are read: registry, admit_from, lock. `c.stop` ends the pass between hosts.
base::result<reap_report> reap(const context& c, bool apply, bool wait = true);

// cloud_hosts_reaped.<provider>.at
std::optional<base::wall_time>
last_applied_pass(const base::json& registry, std::string_view provider);

} // namespace siteagent::fleet::cloud_host
