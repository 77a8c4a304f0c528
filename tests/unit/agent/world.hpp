// SPDX-License-Identifier: MIT
// The agent's surroundings for its tests: a portal that keeps Waldur's rules, a scripted cloud, a
// clock that moves when somebody waits.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/registration.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::agent::test {

base::uuid uuid_of(unsigned n); // 000...n
base::error failure(base::error_code code, std::string message = "scripted");
base::error http_failure(int status, std::string message = "scripted");

// Waldur in memory. Every write is journaled as "name uuid [argument]", also when it fails.
class fake_portal final : public portal, public registry {
public:
  people* find_people() override { return members; }

  people* members = nullptr;

  waldur::order& add_order(unsigned n, const std::string& type, const std::string& state);
  waldur::resource& add_resource(unsigned n, const std::string& state = "Creating");
  // The next calls of that name fail so, one after the other.
  void fail(const std::string& call, const base::error& e, unsigned times = 1);
  void always_fail(const std::string& call, const base::error& e);
  void heal(const std::string& call);
  // Runs before every call of that name.
  void before(const std::string& call, std::function<void()> hook);

  std::string state_of(unsigned order);
  waldur::resource resource_of(unsigned n);
  void set_order_state(unsigned order, const std::string& state);
  std::vector<std::string> writes();
  // Writes whose name begins so.
  std::vector<std::string> writes(const std::string& prefix);
  unsigned calls(const std::string& call);

  std::string state_after_approval = "executing";
  waldur::offering offering;
  std::map<base::uuid, waldur::plan> plans;
  std::map<std::string, std::string> keys;
  std::map<std::string, std::vector<waldur::component_usage>> usages; // by billing period
  std::vector<std::string> erred_texts;
  std::vector<waldur::agent_build> builds;
  std::vector<base::json> statistics;
  std::map<base::uuid, std::vector<waldur::endpoint>> endpoints;

  base::result<std::vector<waldur::order>> list_orders() override;
  base::result<waldur::order> get_order(const base::uuid& order) override;
  base::result<std::string> get_order_state(const base::uuid& order) override;
  base::result<void> approve(const base::uuid& order) override;
  base::result<void> reject(const base::uuid& order, std::string_view comment) override;
  base::result<void> set_done(const base::uuid& order) override;
  base::result<void> set_erred(const base::uuid& order, std::string_view message) override;
  base::result<waldur::offering> get_offering() override;
  base::result<waldur::plan> get_plan(const base::uuid& plan) override;
  base::result<std::map<std::string, std::string>> list_ssh_keys(const base::uuid& customer
  ) override;
  base::result<waldur::resource> get_resource(const base::uuid& resource) override;
  base::result<std::vector<waldur::resource>> list_resources(const std::vector<std::string>& states
  ) override;
  base::result<void>
  set_backend_id(const base::uuid& resource, std::string_view backend_id) override;
  base::result<void>
  set_backend_metadata(const base::uuid& resource, const base::json& metadata) override;
  base::result<void> set_limits(const base::uuid& resource, const waldur::limits& l) override;
  base::result<void>
  set_endpoints(const base::uuid& resource, const std::vector<waldur::endpoint>& list) override;
  base::result<void>
  set_resource_erred(const base::uuid& resource, std::string_view message) override;
  base::result<void> set_resource_ok(const base::uuid& resource) override;
  base::result<void> refresh_last_sync(const base::uuid& resource) override;
  base::result<std::vector<waldur::component_usage>>
  list_usages(const base::uuid& resource, std::string_view billing_period) override;
  base::result<void> set_usage(
      const base::uuid& resource,
      std::string_view date,
      const std::vector<waldur::usage_item>& items
  ) override;

  registry* find_registry() override { return this; }

  usage_books* find_usage_books() override { return books; }

  usage_books* books = nullptr;

  base::result<base::uuid> register_service(
      const waldur::agent_build& build, std::string_view name, std::string_view mode
  ) override;
  base::result<void> register_processor(
      const base::uuid& service,
      std::string_view name,
      std::string_view backend_type,
      std::string_view backend_version
  ) override;
  base::result<void> set_statistics(const base::uuid& service, const base::json& given) override;

private:
  // Hook, count, scripted failure.
  std::optional<base::error> enter(const std::string& call);
  base::result<void> close_order(const base::uuid& order, const std::string& state);
  base::result<waldur::order*> find_order(const base::uuid& order);
  base::result<waldur::resource*> find_resource(const base::uuid& resource);
  void note(std::string line);

  std::mutex mutex_;
  std::map<base::uuid, waldur::order> orders_;
  std::map<base::uuid, waldur::resource> resources_;
  std::map<std::string, std::deque<base::error>> failures_;
  std::map<std::string, base::error> lasting_;
  std::map<std::string, std::shared_ptr<std::function<void()>>> hooks_; // they keep their state
  std::map<std::string, unsigned> counts_;
  std::vector<std::string> writes_;
};

// A cloud that keeps a machine per resource. Operations can be replaced by scripts.
class fake_cloud final : public backend {
public:
  using emitted = base::result<std::vector<base::json>>;
  using script = std::function<emitted(const host::call_request&, const host::call_options&)>;

  struct seen_call {
    host::operation op;
    host::call_request request;
    std::chrono::milliseconds deadline;
  };

  void on(host::operation op, script s);
  // The next calls fail so, before any script.
  void fail(host::operation op, const base::error& e, unsigned times = 1);
  std::vector<seen_call> calls();
  std::vector<seen_call> calls(host::operation op);
  bool has_machine(unsigned resource);
  void put_machine(unsigned resource);
  void drop_machine(unsigned resource);

  emitted call(
      host::operation op, const host::call_request& request, const host::call_options& options
  ) override;
  std::chrono::milliseconds deadline_of(host::operation op) const override;

  std::string plugin_id() const override { return "fake"; }

  std::string plugin_version() const override { return "1.2.3"; }

private:
  emitted behave(host::operation op, const host::call_request& request);

  std::mutex mutex_;
  std::map<host::operation, script> scripts_;
  std::map<host::operation, std::deque<base::error>> failures_;
  std::vector<seen_call> calls_;
  std::set<std::string> machines_; // resource uuids, hex
};

// Waiting moves the clock and takes no time.
class fast_waiter final : public waiter {
public:
  explicit fast_waiter(base::manual_clock& clock) : clock_(clock) {}

  bool wait_for(std::chrono::milliseconds time, const std::stop_token& stop) override {
    clock_.advance(time);
    return !stop.stop_requested();
  }

private:
  base::manual_clock& clock_;
};

config::offering make_offering();

struct world {
  explicit world(unsigned workers = 8);

  base::manual_clock clock;
  fast_waiter waits{clock};
  std::stop_source stop;
  progress_board board{clock};
  resource_locks locks;
  worker_pool pool;
  environment env;
  fake_portal waldur;
  std::shared_ptr<fake_cloud> cloud = std::make_shared<fake_cloud>();
  agent_settings settings;
  std::unique_ptr<offering_context> offering; // made with the settings as they are then

  // For settings changed after construction.
  void renew_offering(config::offering c = make_offering());
};

} // namespace siteagent::agent::test
