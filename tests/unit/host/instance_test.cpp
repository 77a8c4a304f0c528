// SPDX-License-Identifier: MIT
#include "core/host/deadlines.hpp"
#include "core/host/gate.hpp"

#include "support.hpp"

#include <future>
#include <thread>

namespace {

using namespace support;
using namespace std::chrono_literals;
using host::operation;
using siteagent::base::error;
using siteagent::base::error_code;
using siteagent::base::json;

error failure(host::instance& i, operation op, const host::call_options& o = {}) {
  auto answer = i.call(op, {}, o);
  EXPECT_FALSE(answer);
  return answer ? error{} : answer.error();
}

TEST(plugin_instance, calls_a_plugin_written_in_c) {
  const auto minimal = open("minimal", good_plugins());
  ASSERT_NE(minimal, nullptr);
  const auto decision = minimal->call(operation::evaluate_order, {});
  ASSERT_TRUE(decision) << decision.error().message;
  ASSERT_EQ(decision->size(), 1u);
  EXPECT_EQ((*decision)[0]["decision"].string_or(""), "accept");
  const error refused = failure(*minimal, operation::create_resource);
  EXPECT_EQ(refused.code, error_code::refused);
  EXPECT_EQ(refused.message.rfind("minimal: create_resource: minimal makes nothing", 0), 0u);
  EXPECT_EQ(failure(*minimal, operation::add_members).code, error_code::unsupported);
  EXPECT_EQ(minimal->plugin_id(), "minimal");
  EXPECT_EQ(host::info_of(minimal->plugin()).id, "minimal");
}

TEST(plugin_instance, needs_the_extension) {
  auto options = options_with(mapping({}));
  options.extension = "sagent.cloud-host-provider/1";
  const auto opened = host::instance::open(load("minimal", good_plugins()), options);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("does not offer sagent.cloud-host"), std::string::npos);
}

TEST(plugin_instance, with_wrong_settings_lists_every_finding) {
  std::vector<config::finding> findings;
  const auto opened = host::instance::open(
      load("null", SITEAGENT_PLUGINS),
      options_with(mapping({{"state_fiel", plain("/x", 3, 4)}, {"faults", plain("x", 5, 6)}})),
      &findings
  );
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::invalid);
  EXPECT_EQ(findings.size(), 2u);
  EXPECT_EQ(
      opened.error().message,
      "agent.yaml:3:4: error: offerings[0].backend_settings.state_fiel: unknown key; did you mean "
      "'state_file'?\nagent.yaml:5:6: error: offerings[0].backend_settings.faults: must be a list"
  );
}

TEST(plugin_instance, is_refused_by_the_plugin_with_its_own_text) {
  const auto opened = host::instance::open(
      load("null", SITEAGENT_PLUGINS),
      options_with(mapping(
          {{"faults", list({mapping({{"operation", plain("ping")}, {"code", plain("qouta")}})})}}
      ))
  );
  ASSERT_FALSE(opened);
  EXPECT_EQ(
      opened.error().message,
      "null: settings: faults: there is no code 'qouta'; use for example 'quota' or 301"
  );
}

TEST(plugin_instance, without_an_instance_is_a_bug_of_the_plugin) {
  const auto opened =
      host::instance::open(load("no-instance", broken_plugins()), options_with(mapping({})));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::plugin_bug);
}

TEST(broken_calls, become_plugin_bugs) {
  for (const auto& [id, word] :
       {std::pair("throws", "exception"),
        {"emits-after-fail", "after it had reported a failure"},
        {"fails-then-ok", "returned success: no room"},
        {"emits-too-much", "1 MiB"},
        {"emits-no-json", "no JSON"}}) {
    const captured_logs logs;
    const auto i = open(id, broken_plugins());
    ASSERT_NE(i, nullptr);
    const error e = failure(*i, operation::ping);
    EXPECT_EQ(e.code, error_code::plugin_bug) << id;
    EXPECT_NE(e.message.find(word), std::string::npos) << e.message;
    EXPECT_NE(logs.text().find("the plugin broke its contract"), std::string::npos);
  }
}

TEST(broken_calls, without_a_reason_keep_their_class) {
  const auto i = open("fails-silently", broken_plugins());
  ASSERT_NE(i, nullptr);
  const error later = failure(*i, operation::ping);
  EXPECT_EQ(static_cast<int>(later.code), 177) << "of a later version: passed on";
  EXPECT_EQ(siteagent::base::class_of(later.code), siteagent::base::error_class::transient);
  EXPECT_EQ(failure(*i, operation::create_resource).code, error_code::plugin_bug);
}

TEST(broken_calls, after_the_method_returned_meet_live_memory) {
  const auto i = open("late-callback", broken_plugins());
  ASSERT_NE(i, nullptr);
  ASSERT_TRUE(i->call(operation::ping, {}));
  const auto answers = i->call(operation::create_resource, {});
  ASSERT_TRUE(answers) << answers.error().message;
  const json& a = answers->at(0);
  EXPECT_EQ(a["remaining_ms"].integer(), 0);
  EXPECT_EQ(a["wait_ms"].integer(), SAGENT_E_CANCELLED);
  EXPECT_EQ(a["emit"].integer(), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(a["checkpoint"].integer(), SAGENT_E_CANCELLED);
}

TEST(plugin_quarantine, begins_after_five_breaches_in_a_row) {
  const captured_logs logs;
  const auto i = open("throws", broken_plugins());
  ASSERT_NE(i, nullptr);
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(failure(*i, operation::ping).code, error_code::plugin_bug);
  }
  EXPECT_TRUE(i->call(operation::pause, {})) << "one good call ends the row";
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(failure(*i, operation::create_resource).code, error_code::plugin_bug);
  }
  const error e = failure(*i, operation::pause);
  EXPECT_EQ(e.code, error_code::not_ready);
  EXPECT_NE(e.message.find("quarantined"), std::string::npos);
  EXPECT_NE(logs.text().find("is quarantined for this offering"), std::string::npos);
  EXPECT_TRUE(open("throws", broken_plugins())->call(operation::pause, {})) << "others go on";
}

TEST(plugin_deadlines, have_defaults_by_operation) {
  EXPECT_EQ(host::default_deadline(operation::ping), 10s);
  EXPECT_EQ(host::default_deadline(operation::evaluate_order), 60s);
  EXPECT_EQ(host::default_deadline(operation::pull_resources), 10min);
  EXPECT_EQ(host::default_deadline(operation::restore), 20min);
  EXPECT_EQ(host::default_deadline(operation::create_resource), 45min);
  EXPECT_EQ(host::default_deadline(operation::delete_resource), 120min);
  EXPECT_EQ(host::name_of(operation::remove_members), "remove_members");
}

TEST(plugin_deadlines, follow_the_group_and_then_the_operation) {
  const auto d = host::deadlines(json::object(
      {{"power_s", 5}, {"restore_s", 7}, {"create_s", "x"}, {"ping_s", 0}, {"delete_s", 99999999}}
  ));
  const auto of = [&d](operation op) { return d.at(static_cast<std::size_t>(op)); };
  EXPECT_EQ(of(operation::pause), 5s);
  EXPECT_EQ(of(operation::restore), 7s);
  EXPECT_EQ(of(operation::create_resource), 45min) << "no number: ignored";
  EXPECT_EQ(of(operation::ping), 10s) << "zero: ignored";
  EXPECT_EQ(of(operation::delete_resource), 604800s) << "at most a week";
}

config::value slow(const std::string& operation_name) {
  return mapping({{"latency_ms", mapping({{operation_name, plain("3600000")}})}});
}

TEST(plugin_call_end, comes_at_the_deadline_given) {
  const auto i = open("null", SITEAGENT_PLUGINS, slow("ping"));
  ASSERT_NE(i, nullptr);
  host::call_options o;
  o.deadline = 5ms;
  EXPECT_EQ(failure(*i, operation::ping, o).code, error_code::deadline);
}

TEST(plugin_call_end, comes_at_the_deadline_of_the_settings) {
  auto settings = slow("ping");
  settings.map.emplace_back("limits", mapping({{"ping_s", plain("1")}}));
  const auto i = open("null", SITEAGENT_PLUGINS, settings);
  ASSERT_NE(i, nullptr);
  EXPECT_EQ(failure(*i, operation::ping).code, error_code::deadline);
}

TEST(plugin_call_end, comes_when_told_to_stop) {
  const auto i = open("null", SITEAGENT_PLUGINS, slow("ping"));
  ASSERT_NE(i, nullptr);
  std::stop_source stop;
  host::call_options o;
  o.stop = stop.get_token();
  auto running = std::async(std::launch::async, [&] { return failure(*i, operation::ping, o); });
  stop.request_stop();
  EXPECT_EQ(running.get().code, error_code::cancelled);
  EXPECT_EQ(failure(*i, operation::evaluate_order, o).code, error_code::cancelled)
      << "not even begun";
}

TEST(plugin_checkpoint, stops_a_create_between_two_writes) {
  const auto i = open("null", SITEAGENT_PLUGINS);
  ASSERT_NE(i, nullptr);
  std::vector<std::string> seen;
  host::call_options o;
  o.checkpoint = [&seen](const json& c) -> siteagent::base::result<void> {
    seen.push_back(c["phase"].string_or("") + " " + c["kind"].string_or(""));
    if (seen.size() < 2) {
      return {};
    }
    return error{.code = error_code::cancelled, .message = "cancelled in Waldur"};
  };
  host::call_request r;
  r.idempotency_key = "00000000000000000000000000000001";
  const auto answer = i->call(operation::create_resource, r, o);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, error_code::cancelled);
  EXPECT_EQ(seen, (std::vector<std::string>{"before disk", "after disk"}));
}

// Many calls from many threads into two instances; the greatest number seen inside at once.
std::int64_t most_at_once(const std::string& id) {
  const auto first = open(id, good_plugins());
  const auto second = open(id, good_plugins());
  if (first == nullptr || second == nullptr) {
    return -1;
  }
  std::atomic<std::int64_t> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&most, instance = t % 2 == 0 ? first : second] {
      for (int n = 0; n < 100; ++n) {
        const auto answer = instance->call(operation::ping, {});
        const std::int64_t seen = answer ? answer->at(0)["most"].integer().value_or(-1) : -1;
        std::int64_t before = most;
        while (before < seen && !most.compare_exchange_weak(before, seen)) {
        }
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  return most;
}

TEST(thread_gate, lets_one_call_into_a_serial_plugin) {
  EXPECT_EQ(most_at_once("overlap-serial"), 1);
}

TEST(thread_gate, lets_one_call_into_each_instance) {
  const std::int64_t most = most_at_once("overlap-per-instance");
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 2);
}

// create_resource of these returns when two calls are inside at once.
bool can_meet(const std::string& id, bool same_instance, std::chrono::milliseconds deadline) {
  const auto first = open(id, good_plugins());
  const auto second = same_instance ? first : open(id, good_plugins());
  host::call_options o;
  o.deadline = deadline;
  auto one = std::async(std::launch::async, [&] {
    return first->call(operation::create_resource, {}, o).has_value();
  });
  const bool other = second->call(operation::create_resource, {}, o).has_value();
  return one.get() && other;
}

TEST(thread_gate, lets_calls_of_two_instances_meet) {
  EXPECT_TRUE(can_meet("overlap-per-instance", false, 60s));
}

TEST(thread_gate, lets_all_calls_of_a_parallel_plugin_meet) {
  EXPECT_TRUE(can_meet("overlap-parallel", true, 60s));
}

TEST(thread_gate, wait_counts_against_the_deadline) {
  EXPECT_FALSE(can_meet("overlap-serial", false, 20ms));
}

TEST(gate, can_be_waited_for_with_a_deadline_and_a_stop) {
  host::gate g;
  const auto now = siteagent::base::real_clock().steady();
  auto held = g.enter();
  const auto late = g.enter(now + 5ms, {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::transient);
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = g.enter(now + 1h, stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  held = {};
  EXPECT_TRUE(g.enter(now + 1h, {}));
}

TEST(gate, passes_on_when_it_is_left) {
  host::gate g;
  auto held = std::make_unique<host::gate::pass>(g.enter());
  auto waiting = std::async(std::launch::async, [&g] {
    return g.enter(siteagent::base::real_clock().steady() + 1h, {}).has_value();
  });
  held.reset();
  EXPECT_TRUE(waiting.get());
}

TEST(plugin_log, carries_offering_and_trace_id_and_no_secret) {
  const temporary_directory d;
  const std::string file = d.write("token", "canary-of-instance-test\n");
  const captured_logs logs;
  const auto i = open("null", SITEAGENT_PLUGINS, mapping({{"token", plain("file:" + file)}}));
  ASSERT_NE(i, nullptr);
  EXPECT_TRUE(i->call(operation::ping, {}));
  EXPECT_EQ(siteagent::base::global_redactor().scrub("canary-of-instance-test"), "***");
  std::filesystem::remove(file);
  host::call_options o;
  o.trace_id = "0123456789abcdef0123456789abcdef";
  const error e = failure(*i, operation::ping, o);
  EXPECT_EQ(e.code, error_code::auth);
  EXPECT_NE(e.message.find("secret 'sagent-secret:1' cannot be read"), std::string::npos);
  EXPECT_NE(logs.text().find("test offering"), std::string::npos) << logs.text();
  EXPECT_NE(logs.text().find(file), std::string::npos) << "the operator learns which file";
  EXPECT_EQ(logs.text().find("canary-of-instance-test"), std::string::npos);
}

} // namespace
