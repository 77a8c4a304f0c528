// SPDX-License-Identifier: MIT
// Long-running operations: starting them, their monitor URLs and documents, ending them.
#pragma once

#include "context.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

struct operation_plan {
  azure_emulator::action action = azure_emulator::action::write;
  azure_emulator::pace pace = azure_emulator::pace::network_write;
  std::string subject;
  std::vector<std::string> also = {};
  std::vector<std::string> locks = {};
  std::string location;
  bool is_new = true;
};

// Registers the operation, locks its resources and applies the call's operation fault. The
// reference stays valid until the operation expires.
operation& begin(context& c, const operation_plan& plan);

enum class monitors : std::uint8_t { async, async_and_location, location };
// Adds Azure-AsyncOperation, Location, Azure-AsyncNotification and Retry-After.
void add_monitor_headers(const context& c, const operation& op, monitors which, reply& r);

// Ends an operation now: as its fault script says, else with success.
void finish(world& w, operation& op, base::wall_time now);
// Ends what is due and drops monitors that ended more than 24 h ago.
void advance(world& w, base::wall_time now);
// A GET looked at these resources or groups: in instant timing their operations end.
void settle(world& w, const std::vector<std::string>& keys, base::wall_time now);
// The same for what a list of the resources below a prefix shows.
void settle_below(
    world& w,
    const std::string& prefix,
    const std::function<bool(const resource& r)>& shows,
    base::wall_time now
);
// The same for every group that is being deleted, before a list is read.
void settle_groups(world& w, base::wall_time now);
// Ends an operation as Canceled, because another one took over.
void preempt(world& w, const std::string& operation_id, base::wall_time now);

// With "rule_writes_supersede" a write to a rule cancels the running one of the same security
// group instead of being refused. The id of that operation, "" = none.
std::string superseded_write(const context& c, const resource_path& path);
// Ends `old` (unless "") as canceled in favour of `by`, and takes back what it wrote.
void supersede(world& w, const std::string& old, const operation& by, base::wall_time now);

// 202 for the removal of a deployment's history, which is over by then: its Location says 204.
reply deployment_removal(context& c, std::string_view group, std::string_view name);

// Answers a GET on a monitor URL. `result`: the Location form.
reply read_monitor(context& c, std::string_view id, bool result);

// Refuses a write while another operation holds the resource; nullopt: free.
std::optional<reply> refuse_if_locked(const context& c, const resource& r);

// What an operation does at its end, by area.
void complete_machine(world& w, operation& op, bool ok, base::wall_time now);
void complete_group_removal(world& w, operation& op, bool ok, base::wall_time now);

} // namespace siteagent::azure_emulator
