// SPDX-License-Identifier: MIT
// The running agent: single passes, loops, offerings that cannot run, stopping.
#include "world.hpp"

#include "core/agent/scheduler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <thread>
#include <utility>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using host::operation;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The clock moves on when the pool has nothing left to do.
class patient_waiter final : public waiter {
public:
  explicit patient_waiter(base::manual_clock& clock) : clock_(clock) {}

  bool wait_for(std::chrono::milliseconds time, const std::stop_token& stop) override {
    while (pool_owner_ != nullptr && !pool_owner_->is_idle()) {
      std::this_thread::yield();
    }
    clock_.advance(std::min(time, longest_));
    return !stop.stop_requested();
  }

  // `longest`: what the clock moves at most per wait.
  void follow(const agent* owner, std::chrono::milliseconds longest = std::chrono::hours(1)) {
    pool_owner_ = owner;
    longest_ = longest;
  }

private:
  base::manual_clock& clock_;
  const agent* pool_owner_ = nullptr; // set before any loop runs
  std::chrono::milliseconds longest_{std::chrono::hours(1)};
};

class scheduler_test : public ::testing::Test {
protected:
  scheduler_test() {
    config.offerings.push_back(make_offering());
    options.once = true;
    options.modes = {mode::order_process, mode::membership_sync, mode::report};
    options.workers = 8;
    w.waldur.add_order(1, "Create", "pending-provider");
    w.waldur.add_resource(1001);
  }

  bool run() {
    agent a(config, options, parts(), w.clock, waits, w.stop.get_token());
    if (patient && !options.once) {
      waits.follow(&a);
    }
    return a.run();
  }

  agent_parts parts() {
    return {
        [this](const config::offering& offering, mode) -> base::result<std::unique_ptr<portal>> {
          if (offering.name == "No Waldur") {
            return failure(error_code::invalid, "no such address");
          }
          return make_view();
        },
        [this](const config::offering& offering, const std::string&)
            -> base::result<std::shared_ptr<backend>> {
          if (offering.name == "No plugin") {
            return failure(error_code::invalid, "plugin refused");
          }
          return std::shared_ptr<backend>(w.cloud);
        }};
  }

  std::unique_ptr<portal> make_view();

  world w;
  patient_waiter waits{w.clock};
  bool patient = true;
  config::agent_config config;
  agent_options options;
};

// The loops own their portals; this one only points to the world's.
class portal_view final : public portal {
public:
  explicit portal_view(fake_portal& p) : p_(p) {}

  base::result<std::vector<waldur::order>> list_orders() override { return p_.list_orders(); }

  base::result<waldur::order> get_order(const base::uuid& o) override { return p_.get_order(o); }

  base::result<std::string> get_order_state(const base::uuid& o) override {
    return p_.get_order_state(o);
  }

  base::result<void> approve(const base::uuid& o) override { return p_.approve(o); }

  base::result<void> reject(const base::uuid& o, std::string_view c) override {
    return p_.reject(o, c);
  }

  base::result<void> set_done(const base::uuid& o) override { return p_.set_done(o); }

  base::result<void> set_erred(const base::uuid& o, std::string_view m) override {
    return p_.set_erred(o, m);
  }

  base::result<waldur::offering> get_offering() override { return p_.get_offering(); }

  base::result<waldur::plan> get_plan(const base::uuid& p) override { return p_.get_plan(p); }

  base::result<std::map<std::string, std::string>> list_ssh_keys(const base::uuid& c) override {
    return p_.list_ssh_keys(c);
  }

  base::result<waldur::resource> get_resource(const base::uuid& r) override {
    return p_.get_resource(r);
  }

  base::result<std::vector<waldur::resource>> list_resources(const std::vector<std::string>& s
  ) override {
    return p_.list_resources(s);
  }

  base::result<void> set_backend_id(const base::uuid& r, std::string_view b) override {
    return p_.set_backend_id(r, b);
  }

  base::result<void> set_backend_metadata(const base::uuid& r, const base::json& m) override {
    return p_.set_backend_metadata(r, m);
  }

  base::result<void> set_limits(const base::uuid& r, const waldur::limits& l) override {
    return p_.set_limits(r, l);
  }

  base::result<void>
  set_endpoints(const base::uuid& r, const std::vector<waldur::endpoint>& e) override {
    return p_.set_endpoints(r, e);
  }

  base::result<void> set_resource_erred(const base::uuid& r, std::string_view m) override {
    return p_.set_resource_erred(r, m);
  }

  base::result<void> set_resource_ok(const base::uuid& r) override { return p_.set_resource_ok(r); }

  base::result<void> refresh_last_sync(const base::uuid& r) override {
    return p_.refresh_last_sync(r);
  }

  base::result<std::vector<waldur::component_usage>>
  list_usages(const base::uuid& r, std::string_view b) override {
    return p_.list_usages(r, b);
  }

  base::result<void> set_usage(
      const base::uuid& r, std::string_view d, const std::vector<waldur::usage_item>& u
  ) override {
    return p_.set_usage(r, d, u);
  }

  registry* find_registry() override { return p_.find_registry(); }

private:
  fake_portal& p_;
};

std::unique_ptr<portal> scheduler_test::make_view() {
  return std::make_unique<portal_view>(w.waldur);
}

TEST_F(scheduler_test, one_pass_of_everything_carries_out_sweeps_and_registers) {
  EXPECT_TRUE(run());
  EXPECT_EQ(w.waldur.state_of(1), "done");
  EXPECT_EQ(w.cloud->calls(operation::list_resources).size(), 2U);
  EXPECT_THAT(
      w.waldur.writes("register"),
      ElementsAre(
          "register service order_process order_process",
          "register processor OfferingOrderProcessor siteagent.fake 1.2.3",
          "register service membership_sync membership_sync",
          "register processor OfferingMembershipProcessor siteagent.fake 1.2.3",
          "register service report report",
          "register processor OfferingReportProcessor siteagent.fake 1.2.3"
      )
  );
}

TEST_F(scheduler_test, an_order_that_erred_is_no_failure_of_the_pass) {
  w.cloud->fail(operation::create_resource, failure(error_code::refused));
  EXPECT_TRUE(run());
  EXPECT_EQ(w.waldur.state_of(1), "erred");
}

TEST_F(scheduler_test, a_single_pass_does_not_repeat_what_failed_transiently) {
  w.cloud->fail(operation::create_resource, failure(error_code::transient), 5);
  options.modes = {mode::order_process};
  EXPECT_TRUE(run());
  EXPECT_EQ(w.cloud->calls(operation::create_resource).size(), 1U);
  EXPECT_EQ(w.waldur.state_of(1), "executing");
}

TEST_F(scheduler_test, offerings_that_cannot_run_do_not_stop_the_others) {
  for (const char* name : {"No plugin", "No Waldur"}) {
    config::offering bad = make_offering();
    bad.name = name;
    config.offerings.insert(config.offerings.begin(), bad);
  }
  EXPECT_FALSE(run());
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

TEST_F(scheduler_test, refused_credentials_are_an_offering_that_could_not_run) {
  w.cloud->fail(operation::create_resource, failure(error_code::auth));
  EXPECT_FALSE(run());
}

TEST_F(scheduler_test, roles_that_are_off_and_offerings_by_events_are_left_out) {
  config.offerings[0].reporting_backend.clear();
  config.offerings[0].stomp_enabled = true;
  EXPECT_TRUE(run());
  EXPECT_EQ(w.waldur.state_of(1), "pending-provider");
  EXPECT_THAT(
      w.waldur.writes("register"),
      ElementsAre(
          "register service membership_sync membership_sync",
          "register processor OfferingMembershipProcessor siteagent.fake 1.2.3"
      )
  );
}

TEST_F(scheduler_test, a_registration_that_fails_is_no_failure) {
  w.waldur.always_fail("register", http_failure(404));
  EXPECT_TRUE(run());
}

TEST_F(scheduler_test, the_loop_repeats_what_failed_and_ends_when_asked) {
  options.once = false;
  options.modes = {mode::order_process};
  w.cloud->fail(operation::create_resource, failure(error_code::transient), 2);
  w.waldur.before("set_done", [this] { w.stop.request_stop(); });
  EXPECT_TRUE(run());
  EXPECT_EQ(w.cloud->calls(operation::create_resource).size(), 3U);
  EXPECT_GE(w.waldur.calls("list_orders"), 3U);
  EXPECT_LE(w.waldur.calls("list_orders"), 12U);
}

TEST_F(scheduler_test, a_pause_does_not_queue_up_behind_a_long_create) {
  options.once = false;
  options.workers = 1;
  options.modes = {mode::order_process, mode::membership_sync};
  waldur::resource& other = w.waldur.add_resource(2, "OK");
  other.backend_id = "/vm/2";
  other.paused = true;
  w.cloud->put_machine(2);
  patient = false;
  waits.follow(nullptr, std::chrono::milliseconds(1));
  std::promise<void> paused;
  w.cloud->on(operation::pause, [&, once = false](const auto&, const auto&) mutable {
    if (!std::exchange(once, true)) {
      paused.set_value();
    }
    return fake_cloud::emitted(std::vector<base::json>{});
  });
  w.cloud->on(operation::create_resource, [&](const auto&, const auto&) {
    EXPECT_EQ(paused.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    w.stop.request_stop();
    return fake_cloud::emitted(failure(error_code::cancelled));
  });
  EXPECT_TRUE(run());
}

TEST_F(scheduler_test, the_loop_sweeps_and_registers_again_and_again) {
  options.once = false;
  options.modes = {mode::order_process};
  w.waldur.before("register", [this, n = 0]() mutable {
    if (++n == 7) { // half an hour
      w.stop.request_stop();
    }
  });
  EXPECT_TRUE(run());
  EXPECT_GE(w.waldur.calls("list_orders"), 6U);
  EXPECT_GE(w.cloud->calls(operation::list_resources).size(), 4U);
}

TEST_F(scheduler_test, the_loop_survives_a_waldur_that_is_away) {
  options.once = false;
  options.modes = {mode::order_process};
  w.waldur.fail("list_orders", http_failure(503), 3);
  w.waldur.before("set_done", [this] { w.stop.request_stop(); });
  EXPECT_TRUE(run());
  EXPECT_EQ(w.waldur.calls("list_orders"), 4U);
}

TEST_F(scheduler_test, an_agent_asked_to_stop_before_it_began_does_nothing) {
  w.stop.request_stop();
  EXPECT_TRUE(run());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST(periods_from_environment, takes_fractions_and_ignores_nonsense) {
  ::setenv("WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES", "0.5", 1);
  ::setenv("WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES", "often", 1);
  const periods p = periods_from_environment();
  ::unsetenv("WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES");
  ::unsetenv("WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES");
  EXPECT_EQ(p.order_process, std::chrono::seconds(30));
  EXPECT_EQ(p.report, std::chrono::minutes(30));
  EXPECT_EQ(p.membership_sync, std::chrono::minutes(5));
}

} // namespace

} // namespace siteagent::agent::test
