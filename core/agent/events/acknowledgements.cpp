// SPDX-License-Identifier: MIT
// Messages in hand.
#include "core/agent/events/acknowledgements.hpp"

#include <utility>
#include <vector>

namespace siteagent::agent {

void acknowledgements::open(std::uint64_t generation, std::shared_ptr<net::stomp_session> session) {
  const std::lock_guard lock(mutex_);
  sessions_[generation] = std::move(session);
}

void acknowledgements::close(std::uint64_t generation) {
  std::shared_ptr<net::stomp_session> gone; // its end waits for its thread: not under the lock
  const std::lock_guard lock(mutex_);
  if (const auto found = sessions_.find(generation); found != sessions_.end()) {
    gone = std::move(found->second);
    sessions_.erase(found);
  }
}

std::shared_ptr<void>
acknowledgements::issue(std::uint64_t generation, net::stomp_message message) {
  message.body = {};
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
    entries_.emplace(id, entry{generation, std::move(message), clock_.steady()});
  }
  return {this, [self = shared_from_this(), id](void*) { self->finish(id); }};
}

std::shared_ptr<net::stomp_session> acknowledgements::session_for(const entry& e) const {
  const auto found = sessions_.find(e.generation);
  return found == sessions_.end() || is_over_() ? nullptr : found->second;
}

void acknowledgements::finish(std::uint64_t id) {
  entry done;
  std::shared_ptr<net::stomp_session> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    done = std::move(found->second);
    entries_.erase(found);
    if (!done.is_settled) {
      session = session_for(done);
    }
  }
  if (session) {
    session->acknowledge(done.message);
  }
}

void acknowledgements::settle(std::chrono::milliseconds held_for) {
  std::vector<std::pair<std::shared_ptr<net::stomp_session>, net::stomp_message>> old;
  {
    const base::steady_time now = clock_.steady();
    const std::lock_guard lock(mutex_);
    for (auto& [id, e] : entries_) {
      if (now - e.since < held_for) {
        break; // the ids grow with time
      }
      if (e.is_settled) {
        continue;
      }
      e.is_settled = true;
      if (auto session = session_for(e)) {
        old.emplace_back(std::move(session), e.message);
      }
    }
  }
  for (const auto& [session, message] : old) {
    session->acknowledge(message);
  }
}

std::size_t acknowledgements::in_hand() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

} // namespace siteagent::agent
