// SPDX-License-Identifier: MIT
// Things kept for reuse under a key, the last used first, for a limited time.
#pragma once

#include "core/base/clock.hpp"

#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace siteagent::net {

// [any thread]
template <class T>
class idle_pool {
public:
  explicit idle_pool(std::chrono::milliseconds longest_idle) : longest_idle_(longest_idle) {}

  // nullptr: none left. What idled too long, under any key, is destroyed: nobody may come back for
  // a key.
  std::unique_ptr<T> take(const std::string& key, base::steady_time now) {
    std::deque<idle> expired; // destroyed after the lock is gone
    const std::lock_guard lock(mutex_);
    for (auto entry = idle_.begin(); entry != idle_.end();) {
      auto& list = entry->second;
      while (!list.empty() && now - list.front().since >= longest_idle_) {
        expired.push_back(std::move(list.front()));
        list.pop_front();
      }
      entry = list.empty() ? idle_.erase(entry) : std::next(entry);
    }
    const auto found = idle_.find(key);
    if (found == idle_.end()) {
      return nullptr;
    }
    auto thing = std::move(found->second.back().thing);
    found->second.pop_back();
    return thing;
  }

  void give_back(const std::string& key, std::unique_ptr<T> thing, base::steady_time now) {
    const std::lock_guard lock(mutex_);
    idle_[key].push_back({std::move(thing), now});
  }

private:
  struct idle {
    std::unique_ptr<T> thing;
    base::steady_time since;
  };

  const std::chrono::milliseconds longest_idle_;
  std::mutex mutex_;
  std::map<std::string, std::deque<idle>> idle_; // the last used at the back
};

} // namespace siteagent::net
