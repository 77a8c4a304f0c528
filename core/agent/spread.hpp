// SPDX-License-Identifier: MIT
// A loop over many independent items, on the calling thread and on whichever workers are free. The
// caller works too, so it may itself be a task of that pool: nobody waits for a worker.
#pragma once

#include "core/agent/worker_pool.hpp"

#include <cstddef>
#include <functional>

namespace siteagent::agent {

// Calls `work` once for each of 0 .. count-1 and returns when all of them have ended. `helpers`
// counts the tasks that come too late to find anything; it must outlive them. `work` must not
// throw. [any thread]
void spread(
    worker_pool& pool,
    task_group& helpers,
    std::size_t count,
    const std::function<void(std::size_t)>& work
);

} // namespace siteagent::agent
