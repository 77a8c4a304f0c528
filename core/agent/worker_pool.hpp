// SPDX-License-Identifier: MIT
// Blocking workers: threads started on demand up to a limit, kept until the pool goes. They wait
// for clouds, they do not compute, so the limit may be far above the number of processors.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace siteagent::agent {

// Counts tasks so that somebody can wait for them. Must outlive its tasks. [any thread]
class task_group {
public:
  void wait(); // until every task submitted with this group has ended

private:
  friend class worker_pool;
  void add();
  void remove();

  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned long running_ = 0;
};

class worker_pool {
public:
  explicit worker_pool(unsigned limit); // at least 1
  // Runs what was submitted to its end and joins.
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  // An exception out of a task is a bug: it is logged, the worker goes on. [any thread]
  void submit(task_group& group, std::function<void()> task);
  // Nothing is running or waiting to run.
  bool is_idle() const;

private:
  struct entry {
    task_group* group;
    std::function<void()> task;
  };

  void work();

  const unsigned limit_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<entry> queue_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  unsigned running_ = 0;
  bool closing_ = false;
};

} // namespace siteagent::agent
