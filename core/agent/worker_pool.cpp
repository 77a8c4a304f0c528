// SPDX-License-Identifier: MIT
// The pool of blocking workers.
#include "core/agent/worker_pool.hpp"

#include "core/observe/log.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace siteagent::agent {

namespace {

void run_guarded(const std::function<void()>& task) {
  try {
    task();
  } catch (const std::exception& e) {
    observe::logger("worker").error(
        "a task ended with an exception; this is a bug, please report it", {{"error", e.what()}}
    );
  } catch (...) {
    observe::logger("worker").error("a task ended with an unknown exception; this is a bug");
  }
}

} // namespace

void task_group::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return running_ == 0; });
}

void task_group::add() {
  const std::lock_guard lock(mutex_);
  ++running_;
}

void task_group::remove() {
  // Notified under the lock: the waiter may destroy the group as soon as it sees zero.
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

worker_pool::worker_pool(unsigned limit) : limit_(std::max(limit, 1U)) {}

worker_pool::~worker_pool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void worker_pool::submit(task_group& group, std::function<void()> task) {
  group.add();
  const std::lock_guard lock(mutex_);
  queue_.push_back({&group, std::move(task)});
  if (idle_ < queue_.size() && threads_.size() < limit_) {
    threads_.emplace_back([this] { work(); });
  }
  wake_.notify_one();
}

bool worker_pool::is_idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && running_ == 0;
}

void worker_pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) {
      return;
    }
    entry next = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    run_guarded(next.task);
    next.task = nullptr; // what it captured goes before the group is told
    next.group->remove();
    lock.lock();
    --running_;
  }
}

} // namespace siteagent::agent
