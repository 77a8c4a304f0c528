// SPDX-License-Identifier: MIT
// Values read from Azure and kept for a while; one thread reads, the others wait for it. [any
// thread]
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/arm/scope.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace siteagent::azure::arm {

template <class T>
class cached {
public:
  using value = std::shared_ptr<const T>; // shared with readers: a refresh must not pull it away

  // `not_older_than`: read again when the kept value is older. Failures are not kept.
  template <class Fetch>
  base::result<value>
  get(const scope& call,
      const base::clock& clock,
      const std::string& key,
      milliseconds not_older_than,
      Fetch&& fetch) {
    std::unique_lock lock(mutex_);
    for (;;) {
      entry& e = entries_[key];
      if (e.held && clock.steady() - e.at <= not_older_than) {
        return e.held;
      }
      if (!e.busy) {
        e.busy = true;
        break;
      }
      changed_.wait_for(lock, milliseconds(50));
      if (auto go_on = call.check(); !go_on) {
        return go_on.error();
      }
    }
    lock.unlock();
    const finally_idle idle{*this, key};
    base::result<T> fresh = fetch();
    if (!fresh) {
      return fresh.error();
    }
    auto made = std::make_shared<const T>(std::move(fresh).value());
    lock.lock();
    entries_[key].held = made;
    entries_[key].at = clock.steady();
    lock.unlock();
    return value(made);
  }

  // What is kept, however old; null: nothing.
  value kept(const std::string& key) {
    const std::lock_guard guard(mutex_);
    const auto it = entries_.find(key);
    return it == entries_.end() ? nullptr : it->second.held;
  }

  // The next reader asks again: what was kept turned out to be wrong.
  void forget(const std::string& key) {
    const std::lock_guard guard(mutex_);
    const auto it = entries_.find(key);
    if (it != entries_.end()) {
      it->second.held.reset();
    }
  }

  void clear() {
    const std::lock_guard guard(mutex_);
    for (auto& [key, kept] : entries_) {
      kept.held.reset();
    }
  }

private:
  struct entry {
    value held;
    base::steady_time at{};
    bool busy = false;
  };

  struct finally_idle {
    cached& owner;
    const std::string& key;

    ~finally_idle() {
      const std::lock_guard guard(owner.mutex_);
      owner.entries_[key].busy = false;
      owner.changed_.notify_all();
    }
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, entry> entries_;
};

} // namespace siteagent::azure::arm
