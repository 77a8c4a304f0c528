// SPDX-License-Identifier: MIT
// The scripted cloud and the surroundings.
#include "world.hpp"

namespace siteagent::agent::test {

using base::json;

void fake_cloud::on(host::operation op, script s) {
  const std::lock_guard lock(mutex_);
  scripts_[op] = std::move(s);
}

void fake_cloud::fail(host::operation op, const base::error& e, unsigned times) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < times; ++i) {
    failures_[op].push_back(e);
  }
}

std::vector<fake_cloud::seen_call> fake_cloud::calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<fake_cloud::seen_call> fake_cloud::calls(host::operation op) {
  std::vector<seen_call> some = calls();
  std::erase_if(some, [&](const seen_call& c) { return c.op != op; });
  return some;
}

bool fake_cloud::has_machine(unsigned resource) {
  const std::lock_guard lock(mutex_);
  return machines_.contains(uuid_of(resource).hex());
}

void fake_cloud::put_machine(unsigned resource) {
  const std::lock_guard lock(mutex_);
  machines_.insert(uuid_of(resource).hex());
}

void fake_cloud::drop_machine(unsigned resource) {
  const std::lock_guard lock(mutex_);
  machines_.erase(uuid_of(resource).hex());
}

std::chrono::milliseconds fake_cloud::deadline_of(host::operation op) const {
  return host::default_deadline(op);
}

fake_cloud::emitted fake_cloud::call(
    host::operation op, const host::call_request& request, const host::call_options& options
) {
  script scripted;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back({op, request, options.deadline});
    std::deque<base::error>& next = failures_[op];
    if (!next.empty()) {
      const base::error e = next.front();
      next.pop_front();
      return e;
    }
    if (const auto found = scripts_.find(op); found != scripts_.end()) {
      scripted = found->second;
    }
  }
  return scripted ? scripted(request, options) : behave(op, request);
}

fake_cloud::emitted fake_cloud::behave(host::operation op, const host::call_request& request) {
  const std::lock_guard lock(mutex_);
  switch (op) {
  case host::operation::evaluate_order:
    return std::vector{json::object({{"decision", "accept"}})};
  case host::operation::create_resource: {
    const bool adopted = !machines_.insert(request.idempotency_key).second;
    json made = json::object({{"backend_id", "/vm/" + request.idempotency_key}});
    made.set("metadata", json::object({{"size", "small"}}));
    made.set(
        "endpoints", json::array({json::object({{"name", "ssh"}, {"url", "ssh://me@192.0.2.1"}})})
    );
    made.set("adopted", adopted);
    return std::vector{made};
  }
  case host::operation::delete_resource:
    machines_.erase(request.idempotency_key);
    return std::vector{json::object({{"deleted", json::array()}, {"remaining", json::array()}})};
  case host::operation::pull_resources: {
    std::vector<json> rows;
    for (const json& wanted : request.body["resources"].items()) {
      json row = json::object({{"uuid", wanted["uuid"]}});
      const bool there = machines_.contains(wanted["uuid"].string_or(""));
      row.set("presence", there ? "present" : "absent");
      if (there) {
        row.set("state", "ok");
        row.set("power", "running");
        row.set("metadata", json::object({{"size", "small"}}));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }
  case host::operation::restore:
    return std::vector{json::object({{"power", "running"}, {"changed", true}})};
  case host::operation::pause:
  case host::operation::downscale:
    return std::vector{json::object({{"power", "deallocated"}, {"changed", true}})};
  case host::operation::set_resource_limits:
    return failure(base::error_code::unsupported, "this backend does not resize");
  default:
    return std::vector<json>{};
  }
}

config::offering make_offering() {
  config::offering c;
  c.name = "Machines";
  c.uuid = uuid_of(77);
  c.backend_type = "fake";
  c.order_processing_backend = "fake";
  c.membership_sync_backend = "fake";
  c.reporting_backend = "fake";
  for (const char* type : {"cpu", "ram"}) {
    config::component component;
    component.type = type;
    component.accounting_type = "limit";
    component.raw.type = config::value::kind::map;
    c.components.push_back(component);
  }
  return c;
}

world::world(unsigned workers)
    : pool(workers), env{clock, waits, stop.get_token(), board, locks, pool} {
  waldur.offering.customer = uuid_of(5);
  for (const char* type : {"cpu", "ram"}) {
    waldur::offering_component c;
    c.type = type;
    c.billing_type = "limit";
    waldur.offering.components.push_back(c);
  }
  renew_offering();
}

void world::renew_offering(config::offering c) {
  offering = std::make_unique<offering_context>(
      std::move(c),
      settings,
      [this](const config::offering&, const std::string&)
          -> base::result<std::shared_ptr<backend>> { return std::shared_ptr<backend>(cloud); },
      env
  );
}

} // namespace siteagent::agent::test
