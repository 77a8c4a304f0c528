// SPDX-License-Identifier: MIT
// Waldur in memory, with the state rules the agent meets.
#include "world.hpp"

#include <algorithm>

namespace siteagent::agent::test {

using base::result;
using base::uuid;

uuid uuid_of(unsigned n) {
  std::string text = std::to_string(n);
  text.insert(0, 32 - text.size(), '0');
  return *uuid::parse(text);
}

base::error failure(base::error_code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

base::error http_failure(int status, std::string message) {
  base::error e = failure(base::error_code::permanent, std::move(message));
  e.http_status = status;
  switch (status) {
  case 400:
    e.code = base::error_code::invalid;
    break;
  case 401:
    e.code = base::error_code::auth;
    break;
  case 403:
    e.code = base::error_code::forbidden;
    break;
  case 404:
    e.code = base::error_code::not_found;
    break;
  case 409:
    e.code = base::error_code::conflict;
    break;
  case 429:
    e.code = base::error_code::throttled;
    break;
  default:
    e.code = status >= 500 ? base::error_code::transient : base::error_code::permanent;
  }
  return e;
}

waldur::order&
fake_portal::add_order(unsigned n, const std::string& type, const std::string& state) {
  waldur::order o;
  o.uuid = uuid_of(n);
  o.type = type;
  o.state = state;
  o.resource = uuid_of(n + 1000);
  o.attributes = base::json::object();
  o.created = base::wall_time{std::chrono::seconds(1'700'000'000 + n)};
  const std::lock_guard lock(mutex_);
  return orders_[o.uuid] = o;
}

waldur::resource& fake_portal::add_resource(unsigned n, const std::string& state) {
  waldur::resource r;
  r.uuid = uuid_of(n);
  r.name = "machine " + std::to_string(n);
  r.state = state;
  r.project_slug = "project-1";
  r.attributes = base::json::object();
  r.backend_metadata = base::json::object();
  r.power_flags_known = true;
  const std::lock_guard lock(mutex_);
  return resources_[r.uuid] = r;
}

void fake_portal::fail(const std::string& call, const base::error& e, unsigned times) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < times; ++i) {
    failures_[call].push_back(e);
  }
}

void fake_portal::always_fail(const std::string& call, const base::error& e) {
  const std::lock_guard lock(mutex_);
  lasting_[call] = e;
}

void fake_portal::heal(const std::string& call) {
  const std::lock_guard lock(mutex_);
  lasting_.erase(call);
  failures_.erase(call);
}

void fake_portal::before(const std::string& call, std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  hooks_[call] = std::make_shared<std::function<void()>>(std::move(hook));
}

std::optional<base::error> fake_portal::enter(const std::string& call) {
  std::shared_ptr<std::function<void()>> hook;
  {
    const std::lock_guard lock(mutex_);
    ++counts_[call];
    if (const auto found = hooks_.find(call); found != hooks_.end()) {
      hook = found->second;
    }
  }
  if (hook) {
    (*hook)();
  }
  const std::lock_guard lock(mutex_);
  std::deque<base::error>& next = failures_[call];
  if (!next.empty()) {
    base::error e = next.front();
    next.pop_front();
    return e;
  }
  const auto lasting = lasting_.find(call);
  return lasting == lasting_.end() ? std::nullopt : std::optional(lasting->second);
}

void fake_portal::note(std::string line) {
  const std::lock_guard lock(mutex_);
  writes_.push_back(std::move(line));
}

std::string fake_portal::state_of(unsigned order) {
  const std::lock_guard lock(mutex_);
  return orders_.at(uuid_of(order)).state;
}

waldur::resource fake_portal::resource_of(unsigned n) {
  const std::lock_guard lock(mutex_);
  return resources_.at(uuid_of(n));
}

void fake_portal::set_order_state(unsigned order, const std::string& state) {
  const std::lock_guard lock(mutex_);
  orders_.at(uuid_of(order)).state = state;
}

std::vector<std::string> fake_portal::writes() {
  const std::lock_guard lock(mutex_);
  return writes_;
}

std::vector<std::string> fake_portal::writes(const std::string& prefix) {
  std::vector<std::string> some = writes();
  std::erase_if(some, [&](const std::string& w) { return !w.starts_with(prefix); });
  return some;
}

unsigned fake_portal::calls(const std::string& call) {
  const std::lock_guard lock(mutex_);
  return counts_[call];
}

result<waldur::order*> fake_portal::find_order(const uuid& order) {
  const auto found = orders_.find(order);
  if (found == orders_.end()) {
    return http_failure(404);
  }
  return &found->second;
}

result<waldur::resource*> fake_portal::find_resource(const uuid& resource) {
  const auto found = resources_.find(resource);
  if (found == resources_.end()) {
    return http_failure(404);
  }
  return &found->second;
}

result<std::vector<waldur::order>> fake_portal::list_orders() {
  if (auto e = enter("list_orders")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  std::vector<waldur::order> open;
  for (const auto& [id, o] : orders_) {
    if (o.state == "pending-provider" || o.state == "executing") {
      open.push_back(o);
    }
  }
  std::reverse(open.begin(), open.end()); // never the order the agent wants
  return open;
}

result<waldur::order> fake_portal::get_order(const uuid& order) {
  if (auto e = enter("get_order")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  const auto found = find_order(order);
  return found ? result<waldur::order>(**found) : found.error();
}

result<std::string> fake_portal::get_order_state(const uuid& order) {
  if (auto e = enter("get_order_state")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  const auto found = find_order(order);
  return found ? result<std::string>((*found)->state) : found.error();
}

result<void> fake_portal::approve(const uuid& order) {
  note("approve " + order.hex());
  if (auto e = enter("approve")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  const auto found = find_order(order);
  if (!found) {
    return found.error();
  }
  if ((*found)->state != "pending-provider") {
    return http_failure(409);
  }
  (*found)->state = state_after_approval;
  return {};
}

result<void> fake_portal::close_order(const uuid& order, const std::string& state) {
  const std::lock_guard lock(mutex_);
  const auto found = find_order(order);
  if (!found) {
    return found.error();
  }
  const std::string needed = state == "rejected" ? "pending-provider" : "executing";
  if ((*found)->state != needed) {
    return http_failure(409);
  }
  (*found)->state = state;
  return {};
}

result<void> fake_portal::reject(const uuid& order, std::string_view comment) {
  note("reject " + order.hex() + " " + std::string(comment));
  if (auto e = enter("reject")) {
    return *e;
  }
  return close_order(order, "rejected");
}

result<void> fake_portal::set_done(const uuid& order) {
  note("set_done " + order.hex());
  if (auto e = enter("set_done")) {
    return *e;
  }
  return close_order(order, "done");
}

result<void> fake_portal::set_erred(const uuid& order, std::string_view message) {
  note("set_erred " + order.hex());
  if (auto e = enter("set_erred")) {
    return *e;
  }
  {
    const std::lock_guard lock(mutex_);
    erred_texts.emplace_back(message);
  }
  return close_order(order, "erred");
}

result<waldur::offering> fake_portal::get_offering() {
  if (auto e = enter("get_offering")) {
    return *e;
  }
  return offering;
}

result<waldur::plan> fake_portal::get_plan(const uuid& plan) {
  if (auto e = enter("get_plan")) {
    return *e;
  }
  const auto found = plans.find(plan);
  return found == plans.end() ? result<waldur::plan>(http_failure(404)) : found->second;
}

result<std::map<std::string, std::string>> fake_portal::list_ssh_keys(const uuid&) {
  if (auto e = enter("list_ssh_keys")) {
    return *e;
  }
  return keys;
}

result<waldur::resource> fake_portal::get_resource(const uuid& resource) {
  if (auto e = enter("get_resource")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  const auto found = find_resource(resource);
  return found ? result<waldur::resource>(**found) : found.error();
}

result<std::vector<waldur::resource>>
fake_portal::list_resources(const std::vector<std::string>& states) {
  if (auto e = enter("list_resources")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  std::vector<waldur::resource> some;
  for (const auto& [id, r] : resources_) {
    if (std::find(states.begin(), states.end(), r.state) != states.end()) {
      some.push_back(r);
    }
  }
  return some;
}

result<void> fake_portal::set_backend_id(const uuid& resource, std::string_view backend_id) {
  note("set_backend_id " + resource.hex() + " " + std::string(backend_id));
  if (auto e = enter("set_backend_id")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  resources_.at(resource).backend_id = backend_id;
  return {};
}

result<void> fake_portal::set_backend_metadata(const uuid& resource, const base::json& metadata) {
  note("set_backend_metadata " + resource.hex() + " " + metadata.dump());
  if (auto e = enter("set_backend_metadata")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  resources_.at(resource).backend_metadata = metadata;
  return {};
}

result<void> fake_portal::set_limits(const uuid& resource, const waldur::limits& l) {
  note("set_limits " + resource.hex());
  if (auto e = enter("set_limits")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  resources_.at(resource).limits = l;
  return {};
}

result<void>
fake_portal::set_endpoints(const uuid& resource, const std::vector<waldur::endpoint>& list) {
  note("set_endpoints " + resource.hex());
  if (auto e = enter("set_endpoints")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  endpoints[resource] = list;
  return {};
}

result<void> fake_portal::set_resource_erred(const uuid& resource, std::string_view message) {
  note("set_resource_erred " + resource.hex() + " " + std::string(message));
  if (auto e = enter("set_resource_erred")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  resources_.at(resource).state = "Erred";
  return {};
}

result<void> fake_portal::set_resource_ok(const uuid& resource) {
  note("set_resource_ok " + resource.hex());
  if (auto e = enter("set_resource_ok")) {
    return *e;
  }
  const std::lock_guard lock(mutex_);
  resources_.at(resource).state = "OK";
  return {};
}

result<void> fake_portal::refresh_last_sync(const uuid& resource) {
  note("refresh_last_sync " + resource.hex());
  if (auto e = enter("refresh_last_sync")) {
    return *e;
  }
  return {};
}

result<std::vector<waldur::component_usage>>
fake_portal::list_usages(const uuid&, std::string_view billing_period) {
  if (auto e = enter("list_usages")) {
    return *e;
  }
  return usages[std::string(billing_period)];
}

result<void> fake_portal::set_usage(
    const uuid& resource, std::string_view date, const std::vector<waldur::usage_item>& items
) {
  std::string line = "set_usage " + resource.hex() + " " + std::string(date);
  for (const waldur::usage_item& item : items) {
    line += " " + item.type + "=" + item.amount;
  }
  note(std::move(line));
  if (auto e = enter("set_usage")) {
    return *e;
  }
  return {};
}

result<base::uuid> fake_portal::register_service(
    const waldur::agent_build& build, std::string_view name, std::string_view mode
) {
  {
    const std::lock_guard lock(mutex_);
    builds.push_back(build);
  }
  note("register service " + std::string(name) + " " + std::string(mode));
  if (auto e = enter("register")) {
    return *e;
  }
  return uuid_of(900);
}

result<void> fake_portal::register_processor(
    const base::uuid&,
    std::string_view name,
    std::string_view backend_type,
    std::string_view backend_version
) {
  note(
      "register processor " + std::string(name) + " " + std::string(backend_type) + " " +
      std::string(backend_version)
  );
  if (auto e = enter("register_processor")) {
    return *e;
  }
  return {};
}

result<void> fake_portal::set_statistics(const base::uuid&, const base::json& given) {
  {
    const std::lock_guard lock(mutex_);
    statistics.push_back(given);
  }
  note("set_statistics");
  if (auto e = enter("set_statistics")) {
    return *e;
  }
  return {};
}

} // namespace siteagent::agent::test
