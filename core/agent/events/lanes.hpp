// SPDX-License-Identifier: MIT
// Work in lanes over a pool: what has the same key runs one after the other, in the order it came;
// different keys run beside each other. So one slow resource delays nobody else's messages.
#pragma once

#include "core/agent/worker_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace siteagent::agent {

// [any thread]
class lanes {
public:
  enum class outcome : std::uint8_t {
    done,
    busy, // not begun: somebody else has the object. The lane rests until resume().
  };

  using work = std::function<outcome()>;
  // Kept until the work is done; what hangs on it is the caller's business (an acknowledgement).
  using ticket = std::shared_ptr<void>;

  explicit lanes(worker_pool& pool) : pool_(pool) {} // the pool must outlive it

  // Waits for what runs; what rests or waits is dropped.
  ~lanes();
  lanes(const lanes&) = delete;
  lanes& operator=(const lanes&) = delete;

  // `identity`: equal ones in one lane are the same work; of those that have not begun one is
  // enough, because work reads the present state. "" is equal to nothing. False: joined to such.
  // An exception out of `w` is a bug: logged, the lane goes on.
  bool submit(const std::string& key, const std::string& identity, work w, ticket t);
  // Lanes that rest try again.
  void resume();

  // Until nothing runs or can run: what rests, stays.
  void wait() { group_.wait(); }

  // Nothing runs or can run.
  bool is_idle() const { return group_.is_idle(); }

  // Begun or not.
  std::size_t size() const;

private:
  struct entry {
    std::string identity;
    work run;
    std::vector<ticket> tickets;
  };

  struct lane {
    std::deque<entry> queue;
    bool is_running = false;
  };

  void start(const std::string& key, lane& l);
  void run(const std::string& key);

  worker_pool& pool_;
  mutable std::mutex mutex_;
  std::map<std::string, lane> lanes_;
  std::size_t running_ = 0;
  bool closing_ = false;
  task_group group_;
};

} // namespace siteagent::agent
