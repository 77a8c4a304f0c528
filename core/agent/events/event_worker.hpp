// SPDX-License-Identifier: MIT
// One offering in event mode (Waldur contract section 6.8): the queue is registered first, then
// everything is looked at once, then messages are followed, and timers look at everything again in
// case one was missed.
#pragma once

#include "core/agent/events/event_handlers.hpp"
#include "core/agent/events/event_options.hpp"
#include "core/agent/events/event_portal.hpp"
#include "core/agent/events/event_stream.hpp"
#include "core/agent/mode_worker.hpp"
#include "core/agent/order_pass.hpp"
#include "core/agent/sweep.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace siteagent::agent {

// snapshot(): [any thread]
class event_worker final : public mode_worker {
public:
  // References must outlive it. `events`: of the same Waldur. `members`: null = membership is off,
  // or polled.
  event_worker(
      offering_context& offering,
      portal& waldur,
      event_portal& events,
      std::unique_ptr<member_events> members,
      environment& env,
      environment& upkeep,
      worker_extras extras
  );
  ~event_worker() override;

  base::result<void> pass() override;
  void wait() override;
  bool is_idle() const override;

  void retire() override { stream_.request_stop(); }

  std::optional<base::steady_time> next_due() const override;
  void reconcile() override;

  // Agents share out the messages of one queue between them.
  bool needs_lease() const override { return false; }

  std::vector<service_record> services() const override;
  std::string plugin_id() const override;

  std::vector<order_view> orders() const override { return orders_.orders(); }

  base::json events() const override { return to_json(snapshot()); }

  event_snapshot snapshot() const { return ledger_.snapshot(stream_.behind()); }

private:
  // The handlers, with the timers beside them.
  class sink final : public event_sink {
  public:
    explicit sink(event_worker& owner) : owner_(owner) {}

    void take(event_message message, std::shared_ptr<void> ticket) override;
    void tick() override;

  private:
    event_worker& owner_;
  };

  bool handles_orders() const;
  void run_timers();
  std::optional<base::steady_time> next_status(base::steady_time now) const;

  offering_context& offering_;
  environment& env_;
  const event_timers timers_;
  const bool once_;
  const std::unique_ptr<member_events> members_;
  const wanted_types types_;
  event_ledger ledger_;
  order_pass orders_;
  sweep sweep_;
  event_handlers handlers_;
  sink sink_;
  event_stream stream_;

  bool has_begun_ = false;
  std::atomic<unsigned> seen_gaps_{0};
  // Of the stream's thread.
  base::steady_time last_status_{};
  std::optional<base::steady_time> status_at_;
  base::steady_time users_at_{};
  base::steady_time ping_at_{};
  unsigned gaps_synced_ = 0;
};

} // namespace siteagent::agent
