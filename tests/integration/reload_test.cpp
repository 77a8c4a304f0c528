// SPDX-License-Identifier: MIT
// The running agent as its operator sees it: SIGHUP, secrets that change, status, SIGTERM.
#include "core/base/clock.hpp"
#include "tests/integration/expect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool wait_for_log(const site& s, const process& agent, const std::string& text) {
  return wait_for_change(
      s.dir().path().string(),
      [&] { return agent.output().find(text) != std::string::npos; },
      std::chrono::seconds(60)
  );
}

bool wait_for_order(const site& s, const std::string& order, const std::string& state) {
  return wait_for_change(
      s.waldur().directory(),
      [&] { return s.order_state(order) == state; },
      std::chrono::seconds(60)
  );
}

json rule(const char* method, const char* path, json what) {
  return json::array({json::object(
      {{"match", json::object({{"method", method}, {"path", path}})},
       {"when", "before"},
       {"do", std::move(what)}}
  )});
}

// In the agent's environment and in that of the command that asks for it.
process::environment status_at(const site& s) {
  return {{"WALDUR_SITE_AGENT_STATUS_PATH", s.dir().file("status.json")}};
}

json status_of(const site& s) {
  const agent_run asked =
      s.run_command({"status", "--json", "--status-file", s.dir().file("status.json")});
  const auto answer = json::parse(asked.log);
  return answer ? (*answer)["agents"][0] : json();
}

TEST(reload, a_broken_file_changes_nothing_and_is_named_with_its_line) {
  const site s;
  const auto agent = s.start_agent("order_process", false);
  ASSERT_TRUE(wait_for_log(s, *agent, "agent started")) << agent->output();
  const std::string good = read_file(s.config_file());
  write_file(s.config_file(), good + "log_level: LOUD\n");
  agent->signal(SIGHUP);
  ASSERT_TRUE(wait_for_log(s, *agent, "was not reloaded")) << agent->output();
  const auto lines = std::count(good.begin(), good.end(), '\n') + 1;
  EXPECT_THAT(agent->output(), HasSubstr(s.config_file() + ":" + std::to_string(lines) + ":"));
  const std::string order = s.order_machine("web 1");
  EXPECT_TRUE(wait_for_order(s, order, "done")) << agent->output();
  write_file(s.config_file(), good);
  agent->signal(SIGHUP);
  EXPECT_TRUE(wait_for_log(s, *agent, "the configuration was reloaded")) << agent->output();
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0);
}

TEST(reload, an_offering_that_leaves_ends_the_create_under_way) {
  const site s;
  s.azure().set_faults(rule("PUT", "/virtualMachines/[^/]+$", json::object({{"delay_ms", 8'000}})));
  const std::string order = s.order_machine("web 1");
  const auto agent = s.start_agent("order_process", false, status_at(s));
  json shown;
  ASSERT_TRUE(wait_for_change(
      s.dir().path().string(),
      [&] {
        shown = status_of(s);
        return shown["offerings"][0]["orders"][0]["state"].string_or("") == "running";
      },
      std::chrono::seconds(60)
  )) << agent->output();
  const json& in_hand = shown["offerings"][0]["orders"][0];
  EXPECT_EQ(in_hand["order"].string_or(""), order);
  EXPECT_THAT(in_hand["step"].string_or(""), HasSubstr("create_resource"));
  EXPECT_TRUE(shown["alive"].boolean().value_or(false));
  s.write_config("  []\n");
  agent->signal(SIGHUP);
  ASSERT_TRUE(wait_for_log(s, *agent, "the configuration was reloaded")) << agent->output();
  EXPECT_TRUE(wait_for_order(s, order, "done")) << agent->output();
  EXPECT_TRUE(wait_for_log(s, *agent, "offering is closed")) << agent->output();
  EXPECT_EQ(s.machine_count(), 1U);
  const std::string unseen = s.order_machine("web 2");
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0);
  EXPECT_EQ(s.order_state(unseen), "pending-provider");
}

TEST(reload, a_token_that_is_refused_is_read_again_where_it_lies) {
  const site s;
  const std::string token_file = s.dir().file("token");
  write_file(token_file, std::string(agent_token) + "\n");
  std::string yaml = s.default_offering_yaml("Test", offering_uuid);
  const auto at = yaml.find(agent_token);
  ASSERT_NE(at, std::string::npos);
  yaml.replace(at, agent_token.size(), "file:" + token_file);
  s.write_config(yaml);
  const auto agent = s.start_agent("order_process", false);
  const std::string first = s.order_machine("web 1");
  ASSERT_TRUE(wait_for_order(s, first, "done")) << agent->output();
  const std::string fresh = "e2e0000000000000000000000000token009";
  ASSERT_EQ(
      call(
          "POST",
          s.waldur().url() + "/_emu/rotate_token",
          json::object({{"old", agent_token}, {"new", fresh}})
      ).status /
          100,
      2
  );
  write_file(token_file, fresh + "\n");
  const std::string second = s.order_machine("web 2");
  EXPECT_TRUE(wait_for_order(s, second, "done")) << agent->output();
  EXPECT_THAT(agent->output(), Not(HasSubstr(fresh)));
  EXPECT_EQ(s.machine_count(), 2U);
}

TEST(stopping, ends_soon_while_a_waldur_does_not_answer_at_the_start) {
  const site s;
  s.waldur().set_faults(rule("GET", ".*", "hang"));
  const auto agent = s.start_agent("all", false);
  ASSERT_TRUE(wait_for_log(s, *agent, "agent started")) << agent->output();
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0) << agent->output();
}

// A cloud whose create never comes back, once its machine is there or before.
std::string hanging_offering(const site& s, const std::string& hang_at) {
  return "  - name: Null cloud\n"
         "    waldur_api_url: " +
         s.waldur().url() +
         "/api/\n"
         "    waldur_api_token: " +
         std::string(agent_token) +
         "\n"
         "    waldur_offering_uuid: " +
         std::string(offering_uuid) +
         "\n"
         "    backend_type: \"null\"\n"
         "    backend_settings:\n"
         "      state_file: " +
         s.dir().file("null.json") + "\n" +
         (hang_at.empty() ? "" : "      hang_at: " + hang_at + "\n");
}

class plugin_call_that_never_returns : public testing::TestWithParam<const char*> {};

TEST_P(plugin_call_that_never_returns, does_not_keep_the_agent_from_ending_within_30_s) {
  const site s;
  s.write_config(hanging_offering(s, std::string(GetParam()) + ":create_resource"));
  const std::string order = s.order_machine("web 1");
  const auto agent = s.start_agent("order_process", false, status_at(s));
  ASSERT_TRUE(wait_for_change(
      s.dir().path().string(),
      [&] {
        return status_of(s)["offerings"][0]["orders"][0]["step"].string_or("").starts_with(
            "create_resource"
        );
      },
      std::chrono::seconds(60)
  )) << agent->output();
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0) << agent->output();
  EXPECT_THAT(agent->output(), HasSubstr("work did not stop in time"));
  EXPECT_EQ(s.order_state(order), "executing");
  // The next start finds what is there and makes what is not.
  s.write_config(hanging_offering(s, ""));
  EXPECT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
  const auto state = json::parse(read_file(s.dir().file("null.json")));
  ASSERT_TRUE(state);
  EXPECT_EQ((*state)["resources"].size(), 1U);
  EXPECT_EQ(s.resource(s.resource_of(order))["backend_id"], json("null:" + s.resource_of(order)));
}

INSTANTIATE_TEST_SUITE_P(
    places,
    plugin_call_that_never_returns,
    testing::Values("before", "after"),
    [](const auto& test) { return std::string(test.param); }
);

TEST(status, says_when_nobody_runs) {
  const site s;
  const agent_run asked = s.run_command({"status"});
  EXPECT_EQ(asked.exit_code, 1);
  EXPECT_THAT(asked.errors, HasSubstr("no agent runs on " + s.config_file()));
}

TEST(status, of_a_call_that_waits_because_the_cloud_limits_calls_says_which_and_until_when) {
  const site s;
  std::string yaml = s.default_offering_yaml("Test", offering_uuid);
  const std::string pace = "min_ms: 10\n";
  ASSERT_NE(yaml.find(pace), std::string::npos);
  // As long as a write is held back for the cloud's sake: 300 times that.
  s.write_config(yaml.replace(yaml.find(pace), pace.size(), "min_ms: 200\n"));
  s.azure().set_faults(json::array({json::object(
      {{"match",
        json::object({{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}, {"times", 1}})},
       {"when", "before"},
       {"do",
        json::object(
            {{"status", 429},
             {"headers",
              json::object({{"Content-Type", "application/json"}, {"Retry-After", "40"}})},
             {"body", R"({"error":{"code":"TooManyRequests","message":"later"}})"}}
        )}}
  )}));
  const std::string order = s.order_machine("web 1");
  const auto agent = s.start_agent("order_process", false, status_at(s));
  json shown;
  ASSERT_TRUE(wait_for_change(
      s.dir().path().string(),
      [&] {
        shown = status_of(s)["offerings"][0];
        return !shown["throttled_until"].is_null();
      },
      std::chrono::seconds(60)
  )) << agent->output();
  const json& in_hand = shown["orders"][0];
  EXPECT_EQ(in_hand["order"].string_or(""), order);
  EXPECT_EQ(in_hand["state"].string_or(""), "running") << "the call goes on by itself";
  EXPECT_EQ(in_hand["throttled"], json(true));
  EXPECT_THAT(in_hand["step"].string_or(""), HasSubstr("put virtual-machine"));
  EXPECT_THAT(in_hand["reason"].string_or(""), HasSubstr("write calls to microsoft.compute"));
  EXPECT_EQ(in_hand["next_attempt"], shown["throttled_until"]);
  const auto until = base::parse_rfc3339(in_hand["next_attempt"].string_or(""));
  ASSERT_TRUE(until);
  EXPECT_GT(*until, base::real_clock().wall());
  EXPECT_LE(*until, base::real_clock().wall() + std::chrono::seconds(50));
  EXPECT_THAT(
      s.run_command({"status", "--status-file", s.dir().file("status.json")}).log,
      HasSubstr("throttled, goes on in ")
  );
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0) << "such a wait holds up nobody";
  EXPECT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
  EXPECT_EQ(s.machine_count(), 1U);
}

TEST(status, of_a_killed_agent_is_told_as_such) {
  const site s;
  const auto agent = s.start_agent("all", false, status_at(s));
  ASSERT_TRUE(wait_for_change(
      s.dir().path().string(),
      [&] { return !read_file(s.dir().file("status.json")).empty(); },
      std::chrono::seconds(60)
  )) << agent->output();
  const std::vector<std::string> words{"status", "--status-file", s.dir().file("status.json")};
  const agent_run running = s.run_command(words);
  EXPECT_EQ(running.exit_code, 0) << running.errors;
  EXPECT_THAT(running.log, HasSubstr("mode all, up "));
  EXPECT_THAT(running.log, HasSubstr("membership_sync (azure)"));
  agent->signal(SIGKILL);
  ASSERT_TRUE(agent->wait(std::chrono::seconds(30)));
  const agent_run after = s.run_command(words);
  EXPECT_EQ(after.exit_code, 1);
  EXPECT_THAT(after.log, HasSubstr("NOT RUNNING any more"));
}

} // namespace
} // namespace siteagent::integration
