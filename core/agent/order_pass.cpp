// SPDX-License-Identifier: MIT
// One look at all orders of an offering.
#include "core/agent/order_pass.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

void sort_by_creation(std::vector<waldur::order>& orders) {
  std::stable_sort(
      orders.begin(),
      orders.end(),
      [](const waldur::order& a, const waldur::order& b) {
        return a.created && b.created ? *a.created < *b.created : a.created && !b.created;
      }
  );
}

} // namespace

order_pass::order_pass(offering_context& offering, portal& waldur, environment& env)
    : offering_(offering), waldur_(waldur), env_(env) {}

order_pass::~order_pass() {
  group_.wait();
}

base::result<order_machine*> order_pass::open() {
  const std::lock_guard lock(open_mutex_);
  if (machine_) {
    return machine_.get();
  }
  base::result<std::shared_ptr<backend>> cloud =
      offering_.backend_for(offering_.config().order_processing_backend);
  if (!cloud) {
    return std::move(cloud).error();
  }
  cloud_ = *std::move(cloud);
  machine_ = std::make_unique<order_machine>(offering_, waldur_, cloud_, env_);
  return machine_.get();
}

order_inputs order_pass::read_inputs(
    std::shared_ptr<const offering_info> info, const std::vector<waldur::order>& orders
) {
  order_inputs inputs{std::move(info), std::nullopt};
  const bool wanted = std::any_of(orders.begin(), orders.end(), [](const waldur::order& o) {
    return o.type == "Create";
  });
  if (!wanted) {
    return inputs;
  }
  if (!inputs.info->server.customer) {
    inputs.ssh_keys.emplace();
    return inputs;
  }
  base::result<std::map<std::string, std::string>> keys =
      waldur_.list_ssh_keys(*inputs.info->server.customer);
  if (!keys) {
    offering_.log().failure(
        observe::level::warning, "the provider's SSH keys cannot be read", keys.error()
    );
    return inputs;
  }
  inputs.ssh_keys.emplace();
  for (auto& [uuid, text] : *keys) {
    const std::optional<base::uuid> parsed = base::uuid::parse(uuid);
    inputs.ssh_keys->emplace(parsed ? parsed->hex() : uuid, std::move(text));
  }
  return inputs;
}

base::result<void> order_pass::start() {
  look_again_ = false;
  skipped_busy_ = false;
  base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return std::move(info).error();
  }
  if (base::result<order_machine*> opened = open(); !opened) {
    return std::move(opened).error();
  }
  base::result<std::vector<waldur::order>> orders = waldur_.list_orders();
  if (!orders) {
    return base::with_context(std::move(orders).error(), "list orders");
  }
  sort_by_creation(*orders);
  std::set<base::uuid> known;
  std::map<base::uuid, lane> lanes;
  for (const waldur::order& order : *orders) {
    known.insert(order.uuid);
    // An order without a resource has a lane of its own; it only waits for its resource.
    lanes[order.resource.value_or(order.uuid)].push_back(order);
  }
  machine_->book().keep_only(known);
  for (const waldur::order& order : *orders) {
    machine_->book().see(order);
  }
  if (orders->empty()) {
    return {};
  }
  if (base::result<void> admitted = offering_.admit(*cloud_); !admitted) {
    return admitted;
  }
  const order_inputs inputs = read_inputs(*std::move(info), *orders);
  for (auto& [resource, orders_of_it] : lanes) {
    if (machine_->book().is_due(orders_of_it.front().uuid)) {
      env_.pool.submit(group_, [this, inputs, lane_orders = std::move(orders_of_it)] {
        run_lane(lane_orders, inputs);
      });
    }
  }
  return {};
}

void order_pass::run_lane(const lane& orders, const order_inputs& inputs) {
  if (!may_begin()) {
    return;
  }
  const base::uuid key = orders.front().resource.value_or(orders.front().uuid);
  {
    const std::optional<resource_locks::guard> lock = env_.locks.try_lock(key);
    if (!lock) {
      skipped_busy_ = true;
      return;
    }
    run_orders(orders, inputs);
  }
  if (skipped_busy_.exchange(false)) {
    look_again_ = true;
  }
}

// The caller holds the resource's lock.
void order_pass::run_orders(const lane& orders, const order_inputs& inputs) {
  for (const waldur::order& order : orders) {
    if (!may_begin() || machine_->process(order, inputs) == order_step::waiting) {
      return;
    }
  }
}

base::result<bool> order_pass::look(const base::uuid& resource, const order_list& list) {
  const std::optional<resource_locks::guard> lock = env_.locks.try_lock(resource);
  if (!lock) {
    return false;
  }
  base::result<lane> orders = list();
  if (!orders) {
    return base::with_context(std::move(orders).error(), "list orders");
  }
  sort_by_creation(*orders);
  if (orders->empty()) {
    return true;
  }
  base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return std::move(info).error();
  }
  const base::result<order_machine*> machine = open();
  if (!machine) {
    return machine.error();
  }
  // A message about an order that failed a moment ago is no reason to try earlier.
  if (!(*machine)->book().is_due(orders->front().uuid)) {
    return true;
  }
  if (base::result<void> admitted = offering_.admit(*cloud_); !admitted) {
    return std::move(admitted).error();
  }
  run_orders(*orders, read_inputs(*std::move(info), *orders));
  return true;
}

bool order_pass::may_begin() const {
  return !env_.stop.stop_requested() && offering_.may_begin();
}

std::vector<order_view> order_pass::orders() const {
  const std::lock_guard lock(open_mutex_);
  return machine_ ? machine_->book().views() : std::vector<order_view>();
}

std::optional<base::steady_time> order_pass::next_due() const {
  if (look_again_) {
    return env_.clock.steady();
  }
  const std::lock_guard lock(open_mutex_);
  return machine_ ? machine_->book().next_due() : std::nullopt;
}

} // namespace siteagent::agent
