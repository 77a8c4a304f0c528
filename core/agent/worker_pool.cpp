// SPDX-License-Identifier: MIT
// The pool of blocking workers.
#include "core/agent/worker_pool.hpp"

#include "core/agent/heartbeat.hpp"
#include "core/observe/log.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes idle_time{1};
constexpr unsigned most_firsts = 2048; // groups with one worker each, beyond the shared ones

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

bool task_group::is_idle() const {
  const std::lock_guard lock(mutex_);
  return running_ == 0;
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
  std::unique_lock lock(mutex_);
  closing_ = true;
  wake_.notify_all();
  // A worker that leaves moves its handle from one list to the other.
  while (!threads_.empty() || !ended_.empty()) {
    std::list<std::thread>& from = ended_.empty() ? threads_ : ended_;
    std::list<std::thread> one;
    one.splice(one.begin(), from, from.begin());
    lock.unlock();
    one.front().join();
    lock.lock();
  }
}

void worker_pool::submit(task_group& group, std::function<void()> task) {
  group.add();
  std::list<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    find_share(&group)->waiting.push_back([task = std::move(task),
                                           where = progress_board::here()]() mutable {
      const progress_board::guard part_of_it(where);
      run_guarded(task);
      task = nullptr; // what it captured goes before the group is told
    });
    ++waiting_;
    ended.swap(ended_);
    start_workers();
  }
  for (std::thread& thread : ended) {
    thread.join();
  }
}

bool worker_pool::is_idle() const {
  const std::lock_guard lock(mutex_);
  return waiting_ == 0 && running_ == 0;
}

worker_pool::load worker_pool::current_load() const {
  const std::lock_guard lock(mutex_);
  return {limit_, running_, waiting_};
}

worker_pool::shares::iterator worker_pool::find_share(task_group* group) {
  const auto known = std::find_if(shares_.begin(), shares_.end(), [&](const share& s) {
    return s.group == group;
  });
  return known != shares_.end() ? known : shares_.insert(shares_.end(), share{group, {}, 0});
}

worker_pool::shares::iterator worker_pool::find_admissible() {
  const unsigned shared = 2 * limit_;
  const unsigned free = running_ < shared ? shared - running_ : 0;
  const bool takes_first = running_ < shared + most_firsts;
  return std::find_if(shares_.begin(), shares_.end(), [&](const share& s) {
    return !s.waiting.empty() && (s.running < free || (s.running == 0 && takes_first));
  });
}

// One worker for what may run now. A worker that ends a task looks for the next by itself.
void worker_pool::start_workers() {
  if (find_admissible() == shares_.end()) {
    return;
  }
  if (idle_ + starting_ > 0) {
    wake_.notify_one();
    return;
  }
  try {
    threads_.push_back(std::thread([this] { work(); }));
    ++starting_;
  } catch (const std::system_error&) {
    if (threads_.empty()) {
      throw;
    }
    // The system gives no more threads; those that are there do it.
  }
}

void worker_pool::run_next(std::unique_lock<std::mutex>& lock, shares::iterator next) {
  std::function<void()> task = std::move(next->waiting.front());
  next->waiting.pop_front();
  --waiting_;
  ++next->running;
  ++running_;
  shares_.splice(shares_.end(), shares_, next); // the others first
  task_group* const group = next->group;
  start_workers(); // a wake-up meant for two may have reached us alone
  lock.unlock();
  task();
  lock.lock();
  --running_;
  --next->running;
  if (next->running == 0 && next->waiting.empty()) {
    shares_.erase(next);
  }
  group->remove(); // the group may be gone from here on
}

void worker_pool::work() {
  std::unique_lock lock(mutex_);
  --starting_;
  for (;;) {
    if (const auto next = find_admissible(); next != shares_.end()) {
      run_next(lock, next);
      continue;
    }
    // Closing, and tasks wait that may not start yet: whoever runs now takes them.
    if (closing_) {
      return;
    }
    ++idle_;
    const bool woken = wake_.wait_for(lock, idle_time, [this] {
      return closing_ || find_admissible() != shares_.end();
    });
    --idle_;
    if (!woken) {
      break;
    }
  }
  const auto self = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& t) {
    return t.get_id() == std::this_thread::get_id();
  });
  if (self != threads_.end()) { // not there: being joined
    ended_.splice(ended_.end(), threads_, self);
  }
}

} // namespace siteagent::agent
