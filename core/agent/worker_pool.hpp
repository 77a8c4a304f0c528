// SPDX-License-Identifier: MIT
// Blocking workers: threads started on demand up to a limit, which leave when they were idle for a
// minute. They wait for clouds, they do not compute, so the limit may be far above the number of
// processors.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace siteagent::agent {

// Counts tasks so that somebody can wait for them. Must outlive its tasks. [any thread]
class task_group {
public:
  void wait(); // until every task submitted with this group has ended
  bool is_idle() const;

private:
  friend class worker_pool;
  void add();
  void remove();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  unsigned long running_ = 0;
};

// Groups share the workers: one group alone has `limit` of them; several share up to twice that,
// each getting another only while it holds fewer than are free, and the groups that wait take
// turns. A group with nothing running gets a worker in any case, however long the tasks of the
// others take.
class worker_pool {
public:
  explicit worker_pool(unsigned limit); // at least 1
  // Runs what was submitted to its end and joins.
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  // An exception out of a task is a bug: it is logged, the worker goes on. What the task does
  // counts for the activity (heartbeat.hpp) of the thread that submits it. [any thread]
  void submit(task_group& group, std::function<void()> task);
  // Nothing is running or waiting to run.
  bool is_idle() const;

  struct load {
    unsigned limit = 0;
    unsigned running = 0;
    std::size_t waiting = 0;
  };

  load current_load() const;

private:
  struct share {
    task_group* group;
    std::deque<std::function<void()>> waiting;
    unsigned running = 0;
  };

  using shares = std::list<share>;

  shares::iterator find_share(task_group* group); // needs the lock, as the next ones
  shares::iterator find_admissible();
  void start_workers();
  void run_next(std::unique_lock<std::mutex>& lock, shares::iterator next);
  void work();

  const unsigned limit_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  shares shares_; // only those with something; the next in turn first
  std::size_t waiting_ = 0;
  std::list<std::thread> threads_;
  std::list<std::thread> ended_; // idle ones that left, to be joined
  unsigned starting_ = 0;
  unsigned idle_ = 0;
  unsigned running_ = 0;
  bool closing_ = false;
};

} // namespace siteagent::agent
