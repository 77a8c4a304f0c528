// SPDX-License-Identifier: MIT
// What each kind of message makes the agent do (Waldur contract sections 6.6 and 6.7). A message
// names an object; its handler reads that object's present state and acts on it, so that loss,
// duplicates and any order of messages do no harm.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/events/event_ledger.hpp"
#include "core/agent/events/event_portal.hpp"
#include "core/agent/events/event_stream.hpp"
#include "core/agent/events/lanes.hpp"
#include "core/agent/members/member_events.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/order_pass.hpp"
#include "core/agent/portal.hpp"

#include <atomic>
#include <chrono>
#include <string>

namespace siteagent::agent {

// References must outlive the handlers.
struct event_parts {
  offering_context& offering;
  portal& waldur;
  event_portal& events;
  order_pass* orders;     // null: no orders for this offering
  member_events* members; // null: membership is off or polled
  event_ledger& ledger;
  environment& env;    // its pool carries out orders
  environment& upkeep; // its pool does everything else
  std::chrono::milliseconds stuck_after{std::chrono::minutes(30)};
};

// take() and tick() never block: work goes to the pools, that of one object in the order of its
// messages, that of different objects beside each other.
class event_handlers final : public event_sink {
public:
  explicit event_handlers(event_parts parts);

  void take(event_message message, std::shared_ptr<void> ticket) override;
  void tick() override;

  // Until what was taken is handled.
  void wait();

  bool is_idle() const { return orders_.is_idle() && others_.is_idle(); }

  // What timers do, beside the messages; one that waits already is enough. The first three need
  // members.
  void sync_everything();
  void retry_members(); // what is owed from earlier
  void refresh_users();
  void ping();

  // True once after something made a pass over all orders worthwhile. [any thread]
  bool wants_order_pass() { return wants_order_pass_.exchange(false); }

  bool is_order_pass_wanted() const { return wants_order_pass_; }

private:
  // Nothing new is begun.
  bool is_over() const { return parts_.env.stop.stop_requested() || parts_.offering.is_retired(); }

  using handler = void (event_handlers::*)(const event_message&, lanes::ticket);
  static handler handler_for(const std::string& object_type);

  void on_order(const event_message& m, lanes::ticket ticket);
  void on_resource(const event_message& m, lanes::ticket ticket);
  void on_role(const event_message& m, lanes::ticket ticket);
  void on_offering_user(const event_message& m, lanes::ticket ticket);
  void on_account(const event_message& m, lanes::ticket ticket);
  void on_import(const event_message& m, lanes::ticket ticket);
  void on_forced_sync(const event_message& m, lanes::ticket ticket);
  void on_periodic_limits(const event_message& m, lanes::ticket ticket);
  void on_api_key(const event_message& m, lanes::ticket ticket);

  void find_resource_of(const base::uuid& order, const lanes::ticket& ticket);
  void look_at(const base::uuid& resource, lanes::ticket ticket);
  // `work` on the pool for upkeep, in that lane.
  void keep_up(
      const std::string& lane,
      const std::string& identity,
      std::string what,
      std::function<base::result<void>()> work,
      lanes::ticket ticket
  );
  void
  run_timer(const std::string& lane, std::string what, std::function<base::result<void>()> work);
  void ignore(const std::string& why, const std::string& detail = "");
  void settle(const base::result<void>& answer, const std::string& what);

  event_parts parts_;
  const observe::logger log_;
  std::atomic<bool> wants_order_pass_{false};
  base::steady_time resumed_{};
  lanes orders_;
  lanes others_;
};

} // namespace siteagent::agent
