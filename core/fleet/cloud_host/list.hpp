// SPDX-License-Identifier: MIT
// `stado cloud host list`: the declared hosts with the power state of their machines, those being
// created, and tagged machines the registry lacks. Reads only, and opens no SSH connection.
#pragma once

#include "core/fleet/cloud_host/context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::fleet::cloud_host {

struct listed_row {
  std::string name;
  std::string state; // the power state; unread, creating, interrupted, unregistered
  std::string power; // of the last three: the machine's state, "" when the cloud has none
  std::string cause; // of unread
  std::string location;
  std::string size;
  std::string address;
  std::optional<base::decimal> hourly;
  std::optional<std::int64_t> idle_minutes;
  std::string created_at;
  bool is_registered = true;

  std::string shown_state() const; // "unread: <cause>", "unregistered (running)"
};

struct list_report {
  std::string provider;
  std::vector<listed_row> hosts;         // registered ones first, in the registry's order
  std::vector<std::string> without_hour; // running ones that the burn lacks
  base::decimal burn;                    // of the registered ones that are exactly "running"
  std::map<std::string, egress_record> egress;
};

base::json to_json(const list_report& r);

// Errors: only those of reading the registry. What the provider does not tell is in the rows.
base::result<list_report> list(const context& c);

} // namespace siteagent::fleet::cloud_host
