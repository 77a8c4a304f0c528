// SPDX-License-Identifier: MIT
// The agent's own log in Waldur.
#include "tests/integration/expect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* shipping = "log_shipping: {enabled: true, log_level: INFO}\n";

std::string logs_of(const site& s) {
  return s.waldur().inventory()["logs"].dump();
}

TEST(log_shipping, brings_what_a_run_logged_to_waldur_before_the_agent_is_gone) {
  const site s;
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid), shipping);
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_EQ(s.order_state(order), "done");
  const std::string logs = logs_of(s);
  EXPECT_THAT(logs, HasSubstr("agent started (version="));
  EXPECT_THAT(logs, HasSubstr(order)) << "lines about the order";
  EXPECT_THAT(logs, Not(HasSubstr("marketplace-site-agent-logs"))) << "its own records";
  EXPECT_THAT(logs, Not(HasSubstr("\"DEBUG\"")));
  for (const std::string_view secret : {std::string_view("emulator-secret"), agent_token}) {
    EXPECT_THAT(logs, Not(HasSubstr(std::string(secret))));
  }
}

TEST(log_shipping, that_waldur_refuses_or_does_not_know_disturbs_nobody) {
  const site s;
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid), shipping);
  for (const int status : {404, 503}) {
    s.waldur().set_faults(json::array({json::object(
        {{"match", json::object({{"path", "agent-logs"}, {"times", 1'000}})},
         {"do", json::object({{"status", status}})}}
    )}));
    const std::string order = s.order_machine("web " + std::to_string(status));
    const agent_run run = s.run_agent();
    EXPECT_EQ(run.exit_code, 0) << run.log;
    EXPECT_EQ(s.order_state(order), "done");
    EXPECT_EQ(logs_of(s), "[]");
    EXPECT_THAT(
        run.log,
        HasSubstr(status == 404 ? "the server takes no log records" : "could not be shipped")
    );
  }
}

} // namespace
} // namespace siteagent::integration
