// SPDX-License-Identifier: MIT
// The running agent: single passes, loops, offerings that cannot run, stopping.
#include "world.hpp"

#include "core/agent/board.hpp"
#include "core/agent/checkpoint.hpp"
#include "core/agent/scheduler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <sstream>
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
    if (on_wait) {
      on_wait();
    }
    if (time < std::chrono::seconds(1)) { // between requests: the pool may be waiting for us
      return !stop.stop_requested();
    }
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

  std::function<void()> on_wait; // set before any loop runs; on any thread that waits

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
    running = &a;
    if (patient && !options.once) {
      waits.follow(&a);
    }
    return a.run();
  }

  // Ends the run when every offering is gone, or when a condition holds.
  void stop_when(const std::function<bool()>& condition) {
    waits.on_wait = [this, condition] {
      if (condition()) {
        w.stop.request_stop();
      }
    };
  }

  std::size_t offerings_at_work() const { return running->describe()["offerings"].size(); }

  agent_parts parts() {
    return {
        [this](const config::offering& offering, mode) -> base::result<std::unique_ptr<portal>> {
          ++portals_made;
          if (offering.name.starts_with("Slow")) {
            return make_view(slow);
          }
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

  std::unique_ptr<portal> make_view(std::shared_future<void> gate = {});

  world w;
  patient_waiter waits{w.clock};
  bool patient = true;
  agent* running = nullptr;
  std::shared_future<void> slow; // what offerings named "Slow" wait for
  std::atomic<unsigned> portals_made{0};
  config::agent_config config;
  agent_options options;
};

// The loops own their portals; this one only points to the world's.
class portal_view final : public portal {
public:
  portal_view(fake_portal& p, std::shared_future<void> gate) : p_(p), gate_(std::move(gate)) {}

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

  base::result<waldur::offering> get_offering() override {
    if (gate_.valid()) {
      gate_.wait();
    }
    return p_.get_offering();
  }

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
  std::shared_future<void> gate_;
};

std::unique_ptr<portal> scheduler_test::make_view(std::shared_future<void> gate) {
  return std::make_unique<portal_view>(w.waldur, std::move(gate));
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
  stop_when([this] {
    return w.waldur.calls("list_orders") >= 6 && w.waldur.calls("register_processor") >= 6 &&
           w.cloud->calls(operation::list_resources).size() >= 4;
  });
  EXPECT_TRUE(run());
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

TEST_F(scheduler_test, offerings_whose_waldur_hangs_hold_up_nobody) {
  options.once = false;
  options.modes = {mode::order_process};
  std::promise<void> released;
  slow = released.get_future().share();
  config.offerings.clear();
  for (int i = 0; i < 70; ++i) { // more than may begin at once, twice
    config.offerings.push_back(make_offering());
    config.offerings.back().name = "Slow " + std::to_string(i);
  }
  config.offerings.push_back(make_offering());
  patient = false;
  waits.follow(nullptr, std::chrono::milliseconds(1));
  w.waldur.before("set_done", [&, once = false]() mutable {
    if (!std::exchange(once, true)) {
      w.stop.request_stop();
      released.set_value();
    }
  });
  EXPECT_TRUE(run());
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

class scripted_lease final : public offering_lease {
public:
  bool is_held() const override { return held; }

  base::json describe() const override {
    return base::json::object({{"name", "scripted"}, {"held", held.load()}, {"holder", nullptr}});
  }

  std::atomic<bool> held{false};
};

// Reloading

class reload_test : public scheduler_test {
protected:
  reload_test() {
    options.once = false;
    options.modes = {mode::order_process};
    options.workers = 1; // the second order waits for the first
    w.waldur.add_order(2, "Create", "pending-provider");
    w.waldur.add_resource(1002);
  }

  // While the first create is under way.
  void during_create(std::function<void()> what) {
    w.cloud->on(
        operation::create_resource,
        [this, what = std::move(what)](const auto& request, const auto&) {
          if (!has_begun.exchange(true)) {
            what();
          }
          w.cloud->put_machine(request.idempotency_key == uuid_of(1001).hex() ? 1001 : 1002);
          return fake_cloud::emitted(std::vector<base::json>{
              base::json::object({{"backend_id", "/vm/" + request.idempotency_key}})});
        }
    );
  }

  std::vector<std::string> states() { return {w.waldur.state_of(1), w.waldur.state_of(2)}; }

  config::agent_config changed;
  std::atomic<bool> has_begun{false};
};

TEST_F(reload_test, an_offering_that_left_ends_what_it_began_and_begins_nothing) {
  during_create([this] {
    const auto done = running->reconfigure(changed, parts());
    ASSERT_TRUE(done);
    EXPECT_EQ(done->retired, 1U);
  });
  stop_when([this] { return offerings_at_work() == 0; });
  EXPECT_TRUE(run());
  EXPECT_THAT(states(), UnorderedElementsAre("done", "pending-provider"));
}

TEST_F(reload_test, a_changed_offering_has_its_new_settings_for_new_work_only) {
  const auto other = std::make_shared<fake_cloud>();
  changed = config;
  changed.offerings[0].digest = 7;
  during_create([&] {
    agent_parts fresh = parts();
    fresh.backends = [&](const auto&, const auto&) -> base::result<std::shared_ptr<backend>> {
      return std::shared_ptr<backend>(other);
    };
    const auto done = running->reconfigure(changed, fresh);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->added, 1U);
    EXPECT_EQ(done->retired, 1U);
    EXPECT_EQ(done->kept, 0U);
  });
  stop_when([this] {
    const std::vector<std::string> now = states();
    return now[0] == "done" && now[1] == "done";
  });
  EXPECT_TRUE(run());
  EXPECT_EQ(w.cloud->calls(operation::create_resource).size(), 1U);
  EXPECT_EQ(other->calls(operation::create_resource).size(), 1U);
}

TEST_F(reload_test, an_offering_without_a_change_goes_on_undisturbed) {
  config.offerings[0].digest = 1;
  changed = config;
  changed.offerings.push_back(make_offering());
  changed.offerings[1].name = "Second";
  changed.offerings[1].digest = 2;
  during_create([this] {
    const auto done = running->reconfigure(changed, parts());
    ASSERT_TRUE(done);
    EXPECT_EQ(done->kept, 1U);
    EXPECT_EQ(done->added, 1U);
    EXPECT_EQ(done->retired, 0U);
  });
  stop_when([this] {
    const std::vector<std::string> now = states();
    return now[0] == "done" && now[1] == "done";
  });
  EXPECT_TRUE(run());
  EXPECT_EQ(portals_made, 2U) << "one for each offering, none again";
}

TEST_F(reload_test, a_change_outside_the_offerings_concerns_all_of_them) {
  changed = config;
  changed.digest = 5;
  during_create([this] {
    const auto done = running->reconfigure(changed, parts());
    ASSERT_TRUE(done);
    EXPECT_EQ(done->added, 1U);
    w.stop.request_stop();
  });
  EXPECT_TRUE(run());
}

TEST_F(reload_test, is_refused_as_a_whole_when_one_offering_cannot_run) {
  for (const char* name : {"No plugin", "No Waldur"}) {
    changed.offerings.push_back(make_offering());
    changed.offerings.back().name = name;
    changed.offerings.back().digest = 9;
  }
  during_create([this] {
    const auto done = running->reconfigure(changed, parts());
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("offering 'No plugin'"));
    EXPECT_EQ(offerings_at_work(), 1U);
  });
  stop_when([this] {
    const std::vector<std::string> now = states();
    return now[0] == "done" && now[1] == "done";
  });
  EXPECT_TRUE(run());
  EXPECT_EQ(w.cloud->calls(operation::create_resource).size(), 2U);
}

// Status

TEST_F(reload_test, what_status_shows_of_orders_in_hand_is_as_its_schema_says) {
  std::ifstream file(SITEAGENT_SCHEMA_DIR "/status.schema.json");
  std::ostringstream text;
  text << file.rdbuf();
  const auto schema = base::json_schema::compile(text.str());
  ASSERT_TRUE(schema);
  const auto lease = std::make_shared<scripted_lease>();
  lease->held = true;
  agent_parts with_lease = parts();
  with_lease.leases = [&](const config::offering&) { return lease; };
  w.waldur.fail("get_resource", failure(error_code::throttled, "too many calls"));
  agent a(config, options, with_lease, w.clock, waits, w.stop.get_token());
  waits.follow(&a);
  base::json shown;
  w.cloud->on(operation::create_resource, [&](const auto&, const host::call_options& o) {
    EXPECT_TRUE(o.checkpoint(base::json::object(
        {{"phase", "poll"}, {"verb", "put"}, {"kind", "virtual-machine"}, {"percent", 60}}
    )));
    shown = a.describe();
    w.stop.request_stop();
    return fake_cloud::emitted(failure(error_code::cancelled));
  });
  EXPECT_TRUE(a.run());
  for (const auto& [key, member] :
       {base::json::member{"schema", 1},
        {"version", SITEAGENT_VERSION},
        {"pid", 1},
        {"process_start", 1},
        {"written_at", base::to_rfc3339(w.clock.wall())},
        {"config_file", "/site.yaml"},
        {"mode", "all"}}) {
    shown.set(key, member);
  }
  const auto wrong = schema->check(base::json::object({{"agents", base::json::array({shown})}}));
  EXPECT_FALSE(wrong) << wrong->pointer << ' ' << wrong->keyword << ' ' << shown.pretty();
  const base::json& offering = shown["offerings"][0];
  std::vector<std::string> states;
  for (const base::json& order : offering["orders"].items()) {
    states.push_back(order["state"].string_or(""));
    if (states.back() == "running") {
      EXPECT_EQ(order["step"].string_or(""), "create_resource: put virtual-machine, 60 %");
    } else {
      EXPECT_THAT(order["reason"].string_or(""), HasSubstr("too many calls"));
      EXPECT_EQ(offering["throttled_until"], order["next_attempt"]);
    }
  }
  EXPECT_THAT(states, UnorderedElementsAre("running", "waiting"));
  EXPECT_TRUE(offering["lease"]["held"].boolean().value_or(false));
  EXPECT_EQ(shown["workers"]["running"].integer(), 1);
  shown.erase("workers");
  EXPECT_TRUE(schema->check(base::json::object({{"agents", base::json::array({shown})}})));
}

TEST_F(reload_test, status_shows_a_call_that_waits_for_the_clouds_limits_and_until_when) {
  agent a(config, options, parts(), w.clock, waits, w.stop.get_token());
  waits.follow(&a);
  base::json shown;
  base::wall_time told_at;
  w.cloud->on(operation::create_resource, [&](const auto&, const host::call_options& o) {
    EXPECT_TRUE(o.checkpoint(base::json::object({{"phase", "before"}, {"verb", "put"}})));
    told_at = w.clock.wall();
    EXPECT_TRUE(o.checkpoint(base::json::object(
        {{"phase", "wait"}, {"reason", "throttled"}, {"class", "reads of all"}, {"for_ms", 90'000}}
    )));
    shown = a.describe();
    w.stop.request_stop();
    return fake_cloud::emitted(failure(error_code::cancelled));
  });
  EXPECT_TRUE(a.run());
  const std::string until = base::to_rfc3339(told_at + std::chrono::seconds(90));
  const base::json& offering = shown["offerings"][0];
  EXPECT_EQ(offering["throttled_until"].string_or(""), until);
  const auto& orders = offering["orders"].items();
  const auto at_work = std::find_if(orders.begin(), orders.end(), [](const base::json& o) {
    return o["state"].string_or("") == "running";
  });
  ASSERT_NE(at_work, orders.end()) << shown.pretty();
  EXPECT_EQ((*at_work)["step"].string_or(""), "create_resource: put");
  EXPECT_EQ((*at_work)["throttled"], base::json(true));
  EXPECT_EQ((*at_work)["reason"].string_or(""), "the cloud limits reads of all");
  EXPECT_EQ((*at_work)["next_attempt"].string_or(""), until);
}

TEST_F(reload_test, status_shows_the_limits_of_the_cloud_that_a_pass_without_orders_waits_for) {
  ASSERT_FALSE(w.offering->throttled_until());
  progress_board::activity activity = w.board.begin("pass", std::chrono::minutes(1));
  const auto go_on =
      make_checkpoint(w.env, *w.offering, activity, nullptr, w.offering->log(), "reference");
  for (const int ms : {60'000, 10'000}) {
    EXPECT_TRUE(go_on(base::json::object(
        {{"phase", "wait"}, {"reason", "throttled"}, {"class", "reads"}, {"for_ms", ms}}
    )));
  }
  EXPECT_TRUE(go_on(base::json::object({{"phase", "wait"}, {"reason", "other"}, {"for_ms", 99}})));
  EXPECT_EQ(w.offering->throttled_until(), w.clock.steady() + std::chrono::minutes(1));
  EXPECT_EQ(
      describe_offering(*w.offering, {}, nullptr, w.clock)["throttled_until"].string_or(""),
      base::to_rfc3339(w.clock.wall() + std::chrono::minutes(1))
  );
  w.clock.advance(std::chrono::minutes(1));
  EXPECT_FALSE(w.offering->throttled_until());
}

// Leases

TEST_F(reload_test, without_its_lease_an_offering_is_left_alone_and_a_lost_one_ends_new_work) {
  const auto lease = std::make_shared<scripted_lease>();
  agent_parts with_lease = parts();
  with_lease.leases = [&](const config::offering&) { return lease; };
  agent a(config, options, with_lease, w.clock, waits, w.stop.get_token());
  waits.follow(&a);
  std::atomic<int> looks{0};
  waits.on_wait = [&] {
    ++looks;
    if (looks == 100) {
      EXPECT_EQ(w.waldur.calls("list_orders"), 0U);
      lease->held = true;
    }
    if (looks == 1'000) {
      w.stop.request_stop();
    }
  };
  during_create([&] { lease->held = false; });
  EXPECT_TRUE(a.run());
  EXPECT_THAT(states(), UnorderedElementsAre("done", "pending-provider"));
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
