// SPDX-License-Identifier: MIT
// The creates of this process that count against a limit beside the machines a list showed: those
// that run, and those that ended after the list was begun. [any thread]
#pragma once

#include "core/base/clock.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace siteagent::azure {

class machine_slots {
public:
  // Counts the create of `resource` in when the machines in `present` (by their resources; the list
  // was begun at `begun`) and the other creates of that offering leave room below `limit`.
  bool take(
      const std::string& offering,
      const std::string& resource,
      const std::set<std::string>& present,
      base::steady_time begun,
      std::size_t limit
  );
  // The create ended, well or badly: lists begun from now on show what it left.
  void end(const std::string& offering, const std::string& resource, base::steady_time now);
  // Creates of other resources that the list does not show yet.
  std::size_t beside(
      const std::string& offering,
      const std::string& resource,
      const std::set<std::string>& present,
      base::steady_time begun
  );

private:
  using creates = std::map<std::string, std::optional<base::steady_time>>; // ended, by resource

  static std::size_t count(
      creates& mine,
      const std::string& resource,
      const std::set<std::string>& present,
      base::steady_time begun
  );

  std::mutex mutex_;
  std::map<std::string, creates> offerings_;
};

} // namespace siteagent::azure
