// SPDX-License-Identifier: MIT
// One look at all orders of an offering: those of one resource in created order, those of different
// resources in parallel on the pool.
#pragma once

#include "core/agent/order_machine.hpp"
#include "core/agent/worker_pool.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace siteagent::agent {

// start() is called by one thread at a time.
class order_pass {
public:
  // References must outlive it.
  order_pass(offering_context& offering, portal& waldur, environment& env);
  ~order_pass(); // waits for the work it began

  // Lists and hands out; returns while the work goes on. An error: nothing could be done (Waldur
  // unreadable, plugin refused, credentials refused).
  base::result<void> start();

  void wait() { group_.wait(); }

  bool is_idle() const { return group_.is_idle(); }

  // What is known of the orders in hand. [any thread]
  std::vector<order_view> orders() const;

  // The orders of one resource, on the caller's thread and for as long as they take; `list` gives
  // them, oldest first, and is asked once the resource is ours. False: somebody else has it, and
  // nothing was asked. An error: as of start(). [any thread]
  using order_list = std::function<base::result<std::vector<waldur::order>>()>;
  base::result<bool> look(const base::uuid& resource, const order_list& list);

  // When the next look is due earlier than the period: a postponed order, or an order that was
  // skipped because its resource was busy and is not any more. [any thread]
  std::optional<base::steady_time> next_due() const;

private:
  using lane = std::vector<waldur::order>;

  base::result<order_machine*> open();
  order_inputs
  read_inputs(std::shared_ptr<const offering_info> info, const std::vector<waldur::order>& orders);
  void run_lane(const lane& orders, const order_inputs& inputs);
  bool may_begin() const;
  void run_orders(const lane& orders, const order_inputs& inputs);

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  mutable std::mutex open_mutex_;
  std::shared_ptr<backend> cloud_;         // shared with the offering's other roles
  std::unique_ptr<order_machine> machine_; // stays once made
  std::atomic<bool> skipped_busy_{false};
  std::atomic<bool> look_again_{false};
  task_group group_;
};

} // namespace siteagent::agent
