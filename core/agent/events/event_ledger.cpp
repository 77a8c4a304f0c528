// SPDX-License-Identifier: MIT
// What event processing has seen.
#include "core/agent/events/event_ledger.hpp"

#include "core/base/secret.hpp"

namespace siteagent::agent {

namespace {

// A sender of nonsense must not fill our memory with names of types.
constexpr std::size_t most_types = 50;

base::json time_or_null(const std::optional<base::wall_time>& t) {
  return t ? base::json(base::to_rfc3339(*t)) : base::json();
}

} // namespace

base::json to_json(const event_snapshot& s) {
  base::json seen = base::json::object();
  for (const auto& [type, count] : s.seen) {
    seen.set(type, count);
  }
  return base::json::object(
      {{"protocol", s.protocol},
       {"queue", s.queue},
       {"connected", s.is_connected},
       {"since", base::to_rfc3339(s.since)},
       {"reconnects", s.reconnects},
       {"received", s.received},
       {"handled", s.handled},
       {"failed", s.failed},
       {"ignored", s.ignored},
       {"joined", s.joined},
       {"seen", std::move(seen)},
       {"behind", s.behind},
       {"last_message", time_or_null(s.last_message)},
       {"last_error", s.last_error},
       {"last_error_at", time_or_null(s.last_error_at)},
       {"next_attempt", time_or_null(s.next_attempt)}}
  );
}

void event_ledger::note_registered(std::string_view protocol, const std::string& queue) {
  const std::lock_guard lock(mutex_);
  s_.protocol = protocol;
  s_.queue = queue;
}

void event_ledger::note_connected(bool is_connected) {
  const std::lock_guard lock(mutex_);
  if (s_.is_connected != is_connected) {
    s_.is_connected = is_connected;
    s_.since = clock_.wall();
  }
}

void event_ledger::note_reconnected() {
  const std::lock_guard lock(mutex_);
  ++s_.reconnects;
}

void event_ledger::note_next_attempt(std::optional<std::chrono::milliseconds> pause) {
  const std::lock_guard lock(mutex_);
  s_.next_attempt = pause ? std::optional(clock_.wall() + *pause) : std::nullopt;
}

void event_ledger::note_received(const std::string& object_type) {
  const std::lock_guard lock(mutex_);
  ++s_.received;
  s_.last_message = clock_.wall();
  if (!object_type.empty() && (s_.seen.size() < most_types || s_.seen.contains(object_type))) {
    ++s_.seen[object_type];
  }
}

void event_ledger::note_ignored() {
  const std::lock_guard lock(mutex_);
  ++s_.ignored;
}

void event_ledger::note_joined() {
  const std::lock_guard lock(mutex_);
  ++s_.joined;
}

void event_ledger::note_handled() {
  const std::lock_guard lock(mutex_);
  ++s_.handled;
}

void event_ledger::note_failed(const base::error& e) {
  note_error(e);
  const std::lock_guard lock(mutex_);
  ++s_.failed;
}

void event_ledger::note_error(const base::error& e) {
  const std::lock_guard lock(mutex_);
  s_.last_error = base::global_redactor().scrub(e.message);
  s_.last_error_at = clock_.wall();
}

event_snapshot event_ledger::snapshot(std::size_t behind) const {
  const std::lock_guard lock(mutex_);
  event_snapshot out = s_;
  out.behind = behind;
  return out;
}

} // namespace siteagent::agent
