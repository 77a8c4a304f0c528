// SPDX-License-Identifier: MIT
// Which messages are in hand, and when the broker is told that they are handled.
//
// A message is acknowledged when the last copy of its ticket goes, on the session it came by and on
// no other: after a reconnection the broker delivers again what was not acknowledged, and an old
// id would mean another message. Nothing is acknowledged once the process is asked to stop or the
// offering is retired: what was interrupted comes again, to whoever is next.
//
// A message that stays in hand long (a machine takes its 45 minutes) is acknowledged before: the
// broker closes the connection of a consumer that keeps one for 30 minutes, and the window of
// unacknowledged messages would fill with long creates and hold up everybody else's. Nothing is
// lost by that: the order stays open in Waldur, and every start and every reconciliation lists
// those.
#pragma once

#include "core/base/clock.hpp"
#include "core/net/stomp.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace siteagent::agent {

// [any thread]
class acknowledgements : public std::enable_shared_from_this<acknowledgements> {
public:
  // `is_over`: nothing is acknowledged any more. [any thread]
  static std::shared_ptr<acknowledgements>
  make(const base::clock& clock, std::function<bool()> is_over) {
    return std::shared_ptr<acknowledgements>(new acknowledgements(clock, std::move(is_over)));
  }

  // A connection begins and ends; its number is never used again. Shared: a worker may be
  // acknowledging while the owner lets the session go.
  void open(std::uint64_t generation, std::shared_ptr<net::stomp_session> session);
  void close(std::uint64_t generation);

  // The ticket of a message; outliving the owner of this object does no harm.
  std::shared_ptr<void> issue(std::uint64_t generation, net::stomp_message message);
  // Acknowledges what is in hand for longer.
  void settle(std::chrono::milliseconds held_for);

  // Messages whose ticket is out.
  std::size_t in_hand() const;

private:
  struct entry {
    std::uint64_t generation = 0;
    net::stomp_message message; // without its body
    base::steady_time since{};
    bool is_settled = false;
  };

  acknowledgements(const base::clock& clock, std::function<bool()> is_over)
      : clock_(clock), is_over_(std::move(is_over)) {}

  void finish(std::uint64_t id);
  // The session to tell, if there is one for this entry.
  std::shared_ptr<net::stomp_session> session_for(const entry& e) const; // needs the lock

  const base::clock& clock_;
  const std::function<bool()> is_over_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<net::stomp_session>> sessions_; // by generation
  std::map<std::uint64_t, entry> entries_;
  std::uint64_t next_id_ = 1;
};

} // namespace siteagent::agent
