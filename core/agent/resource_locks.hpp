// SPDX-License-Identifier: MIT
// One lock per resource, for everything that changes it: orders, status sync, sweep. Nobody waits
// for one: a busy resource is left to its next turn.
#pragma once

#include "core/base/uuid.hpp"

#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace siteagent::agent {

// [any thread]
class resource_locks {
public:
  class guard {
  public:
    guard(guard&& other) noexcept
        : locks_(std::exchange(other.locks_, nullptr)), resource_(other.resource_) {}

    guard& operator=(guard&&) = delete;

    ~guard() {
      if (locks_ != nullptr) {
        locks_->unlock(resource_);
      }
    }

  private:
    friend class resource_locks;

    guard(resource_locks* locks, base::uuid resource) : locks_(locks), resource_(resource) {}

    resource_locks* locks_;
    base::uuid resource_;
  };

  // nullopt: somebody else works on that resource.
  std::optional<guard> try_lock(const base::uuid& resource) {
    const std::lock_guard lock(mutex_);
    if (!held_.insert(resource).second) {
      return std::nullopt;
    }
    return guard(this, resource);
  }

private:
  void unlock(const base::uuid& resource) {
    const std::lock_guard lock(mutex_);
    held_.erase(resource);
  }

  std::mutex mutex_;
  std::set<base::uuid> held_;
};

} // namespace siteagent::agent
