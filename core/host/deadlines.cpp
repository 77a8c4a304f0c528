// SPDX-License-Identifier: MIT
#include "core/host/deadlines.hpp"

#include <algorithm>
#include <string>

namespace siteagent::host {

namespace {

using namespace std::chrono_literals;

struct rule {
  operation op;
  std::string_view name;
  std::string_view own_key; // "": no setting
  std::string_view group_key;
  std::chrono::seconds time;
};

// In the order of the enumeration.
constexpr std::array<rule, operation_count> rules = {{
    {operation::ping, "ping", "ping_s", "ping_s", 10s},
    {operation::evaluate_order, "evaluate_order", "evaluate_order_s", "read_s", 60s},
    {operation::create_resource, "create_resource", "create_resource_s", "create_s", 45min},
    {operation::delete_resource, "delete_resource", "delete_resource_s", "delete_s", 120min},
    {operation::pause, "pause", "pause_s", "power_s", 20min},
    {operation::downscale, "downscale", "downscale_s", "power_s", 20min},
    {operation::restore, "restore", "restore_s", "power_s", 20min},
    {operation::pull_resources, "pull_resources", "pull_resources_s", "bulk_s", 10min},
    {operation::report_usage, "report_usage", "report_usage_s", "bulk_s", 10min},
    {operation::list_resources, "list_resources", "list_resources_s", "bulk_s", 10min},
    {operation::set_resource_limits, "set_resource_limits", "set_resource_limits_s", "read_s", 60s},
    {operation::diagnostics, "diagnostics", "diagnostics_s", "read_s", 60s},
    {operation::add_members, "add_members", "add_members_s", "read_s", 60s},
    {operation::remove_members, "remove_members", "remove_members_s", "read_s", 60s},
    {operation::describe, "describe", "describe_s", "bulk_s", 10min},
    {operation::validate_host, "validate_host", "", "", 60s},
    {operation::price_size, "price_size", "", "", 10min},
    {operation::credit_balance, "credit_balance", "", "", 60s},
    {operation::admit_addresses, "admit_addresses", "", "", 20min},
    {operation::create_host, "create_host", "", "", 60min},
    {operation::host_state, "host_state", "", "", 60s},
    {operation::list_hosts, "list_hosts", "", "", 10min},
    {operation::delete_host, "delete_host", "", "", 120min},
    {operation::check, "check", "", "", 60s},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (static_cast<std::size_t>(rules[i].op) != i) {
      return false;
    }
  }
  return true;
}

static_assert(is_in_order());

const rule& rule_of(operation op) {
  return rules.at(static_cast<std::size_t>(op));
}

} // namespace

std::string_view name_of(operation op) {
  return rule_of(op).name;
}

std::chrono::milliseconds default_deadline(operation op) {
  return rule_of(op).time;
}

std::vector<std::string_view> limit_keys() {
  std::vector<std::string_view> keys;
  for (const auto member : {&rule::group_key, &rule::own_key}) {
    for (const rule& r : rules) {
      if (!(r.*member).empty() && std::find(keys.begin(), keys.end(), r.*member) == keys.end()) {
        keys.push_back(r.*member);
      }
    }
  }
  return keys;
}

std::array<std::chrono::milliseconds, operation_count> deadlines(const base::json& limits) {
  static constexpr std::int64_t most = 604800;
  std::array<std::chrono::milliseconds, operation_count> made{};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    made[i] = rules[i].time;
    for (const std::string_view key : {rules[i].group_key, rules[i].own_key}) {
      if (const auto seconds = limits[key].integer(); seconds && *seconds > 0) {
        made[i] = std::chrono::seconds(std::min(*seconds, most));
      }
    }
  }
  return made;
}

} // namespace siteagent::host
