// SPDX-License-Identifier: MIT
// The inside of the order machine: one look at one order. Not for other folders.
#pragma once

#include "core/agent/checkpoint.hpp"
#include "core/agent/order_machine.hpp"

#include <functional>
#include <string>
#include <vector>

namespace siteagent::agent {

inline constexpr const char* executing = "executing";

// Waldur's validators found the order in another state; 400 and 409 mean the same.
bool is_state_conflict(const base::error& e);

// Repeats an idempotent Waldur write up to 3 times on transient failures.
base::result<void>
repeat_write(const environment& env, const std::function<base::result<void>()>& write);

class order_run {
public:
  order_run(
      offering_context& offering,
      portal& waldur,
      backend& cloud,
      environment& env,
      order_book& book,
      const order_inputs& inputs,
      waldur::order listed
  );

  order_step go();

private:
  using emitted = base::result<std::vector<base::json>>;

  // order_run.cpp: from the list to the dispatch.
  order_step decide();
  order_step approve();
  order_step reject(std::string_view comment);
  order_step dispatch();

  // order_report.cpp
  order_step report();
  base::result<bool> close(const order_memory::verdict& verdict);
  order_step done();
  order_step erred(const base::error& why, bool clear_resource = false);
  order_step later(const base::error& why);
  order_step finished();
  // As later(), but an order that may be erred and is over its time is erred.
  order_step
  later_or_erred(const base::error& why, host::operation op, bool clear_resource = false);
  bool is_overdue(host::operation op) const;

  // order_request.cpp
  base::result<waldur::resource> read_resource();
  base::result<base::json> body(const waldur::resource& resource);
  base::result<void> add_plans(base::json& order, const waldur::resource& resource);
  base::result<waldur::limits> quotas_of(const std::optional<base::uuid>& plan);
  emitted call(
      host::operation op,
      const std::string& target,
      base::json request_body,
      order_watch* watch,
      std::chrono::milliseconds deadline = {}
  );

  // create_order.cpp
  order_step create();
  order_step provision(const waldur::resource& resource);
  order_step provision_failed(const waldur::resource& resource, base::error why, bool overdue);
  order_step record_machine(const waldur::resource& resource);
  order_step adopt(const waldur::resource& resource);
  order_step clean_up();
  order_step cleaned(const emitted& answer);
  order_step abandon(const std::string& state);
  void post_facts(
      const waldur::resource& resource, const base::json& facts, const waldur::limits& limits
  );

  // other_orders.cpp
  order_step update();
  order_step terminate();
  order_step restore();
  order_step restore_present(const waldur::resource& resource);
  // The resource's row; absent only after two looks agree. An error means unknown.
  base::result<base::json> look(const waldur::resource& resource);
  base::result<base::json> look_once(const waldur::resource& resource);

  offering_context& offering_;
  portal& waldur_;
  backend& cloud_;
  environment& env_;
  order_book& book_;
  const order_inputs& inputs_;
  waldur::order order_;
  std::shared_ptr<order_memory> memory_;
  observe::logger log_;
  std::string reference_; // trace id of this look: in the log and in the customer's text
};

} // namespace siteagent::agent
