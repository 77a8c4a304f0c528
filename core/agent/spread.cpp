// SPDX-License-Identifier: MIT
// Items taken one by one by everybody who is there.
#include "core/agent/spread.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace siteagent::agent {

namespace {

constexpr std::size_t most_helpers = 63;

struct progress {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t next = 0;
  std::size_t done = 0;
  std::size_t count = 0;
  const std::function<void(std::size_t)>* work = nullptr; // valid while items are left
};

void take_part(progress& p) {
  std::unique_lock lock(p.mutex);
  while (p.next < p.count) {
    const std::size_t mine = p.next++;
    lock.unlock();
    (*p.work)(mine);
    lock.lock();
    if (++p.done == p.count) {
      p.ended.notify_all();
    }
  }
}

} // namespace

void spread(
    worker_pool& pool,
    task_group& helpers,
    std::size_t count,
    const std::function<void(std::size_t)>& work
) {
  const auto shared = std::make_shared<progress>(); // late helpers look at it after we are gone
  shared->count = count;
  shared->work = &work;
  for (std::size_t i = 1; i < std::min(count, most_helpers + 1); ++i) {
    pool.submit(helpers, [shared] { take_part(*shared); });
  }
  take_part(*shared);
  std::unique_lock lock(shared->mutex);
  shared->ended.wait(lock, [&] { return shared->done == count; });
}

} // namespace siteagent::agent
