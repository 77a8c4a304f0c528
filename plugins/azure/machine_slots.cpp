// SPDX-License-Identifier: MIT
#include "plugins/azure/machine_slots.hpp"

#include <algorithm>

namespace siteagent::azure {

std::size_t machine_slots::count(
    creates& mine,
    const std::string& resource,
    const std::set<std::string>& present,
    base::steady_time begun
) {
  std::erase_if(mine, [&](const auto& c) { return c.second && *c.second <= begun; });
  return static_cast<std::size_t>(std::count_if(mine.begin(), mine.end(), [&](const auto& c) {
    return c.first != resource && present.count(c.first) == 0;
  }));
}

bool machine_slots::take(
    const std::string& offering,
    const std::string& resource,
    const std::set<std::string>& present,
    base::steady_time begun,
    std::size_t limit
) {
  const std::lock_guard guard(mutex_);
  creates& mine = offerings_[offering];
  const std::size_t others = present.size() - present.count(resource);
  if (others + count(mine, resource, present, begun) >= limit) {
    return false;
  }
  mine[resource] = std::nullopt;
  return true;
}

void machine_slots::end(
    const std::string& offering, const std::string& resource, base::steady_time now
) {
  const std::lock_guard guard(mutex_);
  offerings_[offering][resource] = now;
}

std::size_t machine_slots::beside(
    const std::string& offering,
    const std::string& resource,
    const std::set<std::string>& present,
    base::steady_time begun
) {
  const std::lock_guard guard(mutex_);
  return count(offerings_[offering], resource, present, begun);
}

} // namespace siteagent::azure
