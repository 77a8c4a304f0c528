// SPDX-License-Identifier: MIT
// What event processing of one offering has seen, for the operator: counted where it happens, read
// by whoever shows it.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace siteagent::agent {

struct event_snapshot {
  std::string offering;         // its name
  std::string protocol;         // "unified" or "legacy"; "" = not registered
  std::string queue;            // the first one's name
  bool is_connected = false;    // all of its connections
  base::wall_time since{};      // of is_connected as it is
  std::uint64_t reconnects = 0; // connections after the first
  std::uint64_t received = 0;
  std::uint64_t handled = 0;                 // with success
  std::uint64_t failed = 0;                  // left to the timers
  std::uint64_t ignored = 0;                 // nothing to do for them, or no message at all
  std::uint64_t joined = 0;                  // the same as one that waits: handled with it
  std::map<std::string, std::uint64_t> seen; // received, by object type
  std::size_t behind = 0;                    // received and not handled yet
  std::optional<base::wall_time> last_message;
  std::string last_error; // of the connection, the registration or a handler; "" = none yet
  std::optional<base::wall_time> last_error_at;
  std::optional<base::wall_time> next_attempt; // of registering or connecting
};

// For `status` and for the statistics in Waldur.
base::json to_json(const event_snapshot& s);

// [any thread]
class event_ledger {
public:
  event_ledger(std::string offering, const base::clock& clock) : clock_(clock) {
    s_.offering = std::move(offering);
    s_.since = clock.wall();
  }

  void note_registered(std::string_view protocol, const std::string& queue);
  void note_connected(bool is_connected);
  void note_reconnected();
  void note_next_attempt(std::optional<std::chrono::milliseconds> pause);
  void note_received(const std::string& object_type); // "" = no message at all
  void note_ignored();
  void note_joined();
  void note_handled();
  void note_failed(const base::error& e);
  void note_error(const base::error& e); // of connection or registration

  event_snapshot snapshot(std::size_t behind) const;

private:
  const base::clock& clock_;
  mutable std::mutex mutex_;
  event_snapshot s_;
};

} // namespace siteagent::agent
