// SPDX-License-Identifier: MIT
// Instant timing: operations end when somebody looks.
#include "operations.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

void settle(world& w, const std::vector<std::string>& keys, base::wall_time now) {
  if (!w.timing.ends_at_first_poll) {
    return;
  }
  for (const auto& key : keys) {
    std::string id;
    if (const auto* r = w.find(key)) {
      id = r->operation;
    } else if (const auto g = w.groups.find(key); g != w.groups.end()) {
      id = g->second.operation;
    }
    const auto it = id.empty() ? w.operations.end() : w.operations.find(key_of(id));
    if (it != w.operations.end() && !it->second.is_stuck) {
      finish(w, it->second, now);
    }
  }
}

void settle_below(
    world& w,
    const std::string& prefix,
    const std::function<bool(const resource& r)>& shows,
    base::wall_time now
) {
  if (!w.timing.ends_at_first_poll) {
    return;
  }
  // By what runs, which is little, not by what is there.
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    const auto it = key.starts_with(prefix) ? w.resources.find(key) : w.resources.end();
    if (it != w.resources.end() && shows(it->second)) {
      keys.push_back(key);
    }
  };
  for (const auto& [when, id] : w.due) {
    const auto& op = w.operations.at(id);
    add(op.subject);
    std::for_each(op.also.begin(), op.also.end(), add);
    std::for_each(op.locks.begin(), op.locks.end(), add);
  }
  settle(w, keys, now);
}

void settle_groups(world& w, base::wall_time now) {
  if (!w.timing.ends_at_first_poll) {
    return;
  }
  std::vector<std::string> keys;
  for (const auto& [key, g] : w.groups) {
    if (!g.operation.empty()) {
      keys.push_back(key);
    }
  }
  settle(w, keys, now);
}

} // namespace siteagent::azure_emulator
