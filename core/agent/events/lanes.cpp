// SPDX-License-Identifier: MIT
// Work in lanes over a pool.
#include "core/agent/events/lanes.hpp"

#include "core/observe/log.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace siteagent::agent {

namespace {

lanes::outcome run_guarded(const lanes::work& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    observe::logger("events").error(
        "the handling of a message ended with an exception; this is a bug, please report it",
        {{"error", e.what()}}
    );
  }
  return lanes::outcome::done;
}

} // namespace

lanes::~lanes() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  group_.wait();
}

bool lanes::submit(const std::string& key, const std::string& identity, work w, ticket t) {
  const std::lock_guard lock(mutex_);
  if (closing_) {
    return true;
  }
  lane& l = lanes_[key];
  if (!identity.empty()) {
    const auto same = std::find_if(l.queue.begin(), l.queue.end(), [&](const entry& e) {
      return e.identity == identity;
    });
    if (same != l.queue.end()) {
      same->tickets.push_back(std::move(t));
      return false;
    }
  }
  l.queue.push_back({identity, std::move(w), {std::move(t)}});
  // A lane that rests has a front that is not to be tried before resume().
  if (!l.is_running && l.queue.size() == 1) {
    start(key, l);
  }
  return true;
}

void lanes::start(const std::string& key, lane& l) {
  l.is_running = true;
  pool_.submit(group_, [this, key] { run(key); });
}

void lanes::resume() {
  const std::lock_guard lock(mutex_);
  if (closing_) {
    return;
  }
  for (auto& [key, l] : lanes_) {
    if (!l.is_running) {
      start(key, l);
    }
  }
}

void lanes::run(const std::string& key) {
  for (;;) {
    entry next;
    {
      const std::lock_guard lock(mutex_);
      lane& l = lanes_[key];
      if (l.queue.empty() || closing_) {
        lanes_.erase(key);
        return;
      }
      next = std::move(l.queue.front());
      l.queue.pop_front();
      ++running_;
    }
    const outcome how = run_guarded(next.run);
    {
      const std::lock_guard lock(mutex_);
      --running_;
      if (how == outcome::busy) {
        lane& l = lanes_[key];
        l.queue.push_front(std::move(next));
        l.is_running = false;
        return;
      }
    }
  } // tickets go here, outside the lock: they call back
}

std::size_t lanes::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = running_;
  for (const auto& [key, l] : lanes_) {
    count += l.queue.size();
  }
  return count;
}

} // namespace siteagent::agent
