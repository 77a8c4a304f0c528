// SPDX-License-Identifier: MIT
// SIGKILL behind every single write of a create, to the cloud and to Waldur; then a new start.
#include "tests/integration/expect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct write {
  const char* name;
  bool in_cloud; // else in Waldur
  const char* method;
  const char* path; // regular expression on the path
};

constexpr write writes_of_a_create[] = {
    {"resource_group", true, "PUT", "/resourceGroups/[^/]+$"},
    {"virtual_network", true, "PUT", "/virtualNetworks/[^/]+$"},
    {"subnet", true, "PUT", "/subnets/[^/]+$"},
    {"public_ip_address", true, "PUT", "/publicIPAddresses/[^/]+$"},
    {"network_security_group", true, "PUT", "/networkSecurityGroups/[^/]+$"},
    {"network_interface", true, "PUT", "/networkInterfaces/[^/]+$"},
    {"virtual_machine", true, "PUT", "/virtualMachines/[^/]+$"},
    {"approval", false, "POST", "/approve_by_provider/$"},
    {"backend_id", false, "POST", "/marketplace-provider-resources/[^/]+/set_backend_id/$"},
    {"limits", false, "POST", "/set_limits/$"},
    {"metadata", false, "POST", "/set_backend_metadata/$"},
    {"endpoints", false, "POST", "/set_endpoints/$"},
    {"done", false, "POST", "/set_state_done/$"},
};

void PrintTo(const write& w, std::ostream* out) {
  *out << w.name;
}

json hang_behind(const write& w) {
  return json::array({json::object(
      {{"match", json::object({{"method", w.method}, {"path", w.path}, {"nth", 1}, {"times", 1}})},
       {"when", "after"},
       {"do", "hang"}}
  )});
}

class killed_behind : public testing::TestWithParam<write> {
protected:
  // Runs the agent until the write happened and its answer is held back, then kills it.
  void kill_there(const site& s) {
    const emulator& target = GetParam().in_cloud ? s.azure() : s.waldur();
    target.set_faults(hang_behind(GetParam()));
    const auto agent = s.start_agent();
    const std::string tail = last_segment();
    ASSERT_TRUE(target.wait_for_journal([&](const journal_line& line) {
      return line.method == GetParam().method && line.path.find(tail) != std::string::npos &&
             ends_there(line.path);
    })) << GetParam().name
        << ": " << agent->output();
    agent->signal(SIGKILL);
    ASSERT_EQ(agent->wait(std::chrono::seconds(10)), 128 + SIGKILL);
    target.clear_faults();
  }

private:
  std::string last_segment() const {
    const std::string p = GetParam().path;
    const auto slash = p.find('/');
    const auto end = p.find('/', slash + 1);
    return p.substr(slash, end - slash);
  }

  bool ends_there(const std::string& path) const {
    if (!GetParam().in_cloud) {
      return true;
    }
    const std::string segment = last_segment();
    const auto at = path.rfind(segment + "/");
    return at != std::string::npos && path.find('/', at + segment.size() + 1) == std::string::npos;
  }
};

TEST_P(killed_behind, a_new_start_ends_with_exactly_one_machine) {
  const site s;
  const std::string order = s.order_machine("web 1");
  kill_there(s);
  const agent_run again = s.run_agent();
  ASSERT_EQ(again.exit_code, 0);
  ASSERT_EQ(s.order_state(order), "done") << again.log;

  expect_exactly_one_machine(s, order);
  const std::string termination = s.terminate(s.resource_of(order));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(termination), "done");
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    every_write,
    killed_behind,
    testing::ValuesIn(writes_of_a_create),
    [](const auto& test) { return std::string(test.param.name); }
);

class killed_behind_cloud_write : public killed_behind {};

TEST_P(killed_behind_cloud_write, a_cancelled_order_leaves_an_empty_subscription) {
  const site s;
  const std::string order = s.order_machine("web 1");
  kill_there(s);
  s.cancel(order);
  const agent_run again = s.run_agent();
  ASSERT_EQ(again.exit_code, 0);
  EXPECT_EQ(s.order_state(order), "canceled");
  EXPECT_THAT(s.cloud_objects(), IsEmpty()) << again.log;
}

TEST_P(killed_behind_cloud_write, a_retry_refused_for_quota_leaves_an_empty_subscription) {
  const bool machine_exists = std::string(GetParam().name) == "virtual_machine";
  const site s;
  const std::string order = s.order_machine("web 1");
  kill_there(s);
  s.azure().set_faults(json::array({json::object(
      {{"match",
        json::object({{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}, {"times", 1000}})},
       {"when", "before"},
       {"do",
        json::object(
            {{"status", 409},
             {"headers", json::object({{"Content-Type", "application/json; charset=utf-8"}})},
             {"body",
              R"({"error":{"code":"OperationNotAllowed","message":"Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: 10, Current Usage: 10, Additional Required: 1, (Minimum) New Limit Required: 11."}})"}}
        )}}
  )}));
  const agent_run again = s.run_agent();
  ASSERT_EQ(again.exit_code, 0);
  if (machine_exists) { // nothing is left to refuse: the machine is adopted
    EXPECT_EQ(s.order_state(order), "done") << again.log;
    EXPECT_EQ(s.machine_count(), 1U);
    return;
  }
  EXPECT_EQ(s.order_state(order), "erred") << again.log;
  EXPECT_THAT(s.order(order)["error_message"].string_or(""), HasSubstr("quota"));
  EXPECT_THAT(s.cloud_objects(), IsEmpty()) << again.log;
}

INSTANTIATE_TEST_SUITE_P(
    every_write,
    killed_behind_cloud_write,
    testing::ValuesIn(
        std::vector<write>(std::begin(writes_of_a_create), std::begin(writes_of_a_create) + 7)
    ),
    [](const auto& test) { return std::string(test.param.name); }
);

TEST(crash_point, the_agent_dies_where_the_variable_says_and_the_next_run_adopts) {
  const site s;
  const std::string order = s.order_machine("web 1");
  for (const char* point :
       {"before:put:virtual-network:1",
        "after:put:network-interface:1",
        "after:put:virtual-machine:1"}) {
    EXPECT_EQ(
        s.run_agent("order_process", {{"SITEAGENT_CRASH_AT", point}}).exit_code, 128 + SIGKILL
    ) << point;
  }
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
  EXPECT_EQ(s.machine_count(), 1U);
}

TEST(crash, killed_in_the_middle_of_a_termination_the_next_run_finishes_it) {
  for (const char* group : {"", "      default_resource_group: shared\n"}) {
    site_options options;
    options.settings = group;
    const site s(options);
    const std::string order = s.order_machine("web 1");
    ASSERT_EQ(s.run_agent().exit_code, 0);
    const std::string termination = s.terminate(s.resource_of(order));
    s.azure().set_faults(json::array({json::object(
        {{"match", json::object({{"method", "DELETE"}, {"path", ".*"}})},
         {"when", "after"},
         {"do", "hang"}}
    )}));
    const auto agent = s.start_agent();
    ASSERT_TRUE(s.azure().wait_for_journal([](const journal_line& l) {
      return l.method == "DELETE";
    }));
    agent->signal(SIGKILL);
    ASSERT_TRUE(agent->wait(std::chrono::seconds(10)));
    s.azure().clear_faults();
    const agent_run again = s.run_agent();
    EXPECT_EQ(s.order_state(termination), "done") << again.log;
    EXPECT_EQ(s.machine_count(), 0U);
  }
}

TEST(sweep, a_partial_chain_of_a_terminated_resource_is_cleaned_at_the_next_start) {
  const site s;
  const std::string order = s.order_machine("web 1");
  EXPECT_EQ(
      s.run_agent(
           "order_process", {{"SITEAGENT_CRASH_AT", "after:put:network-interface:1"}}
      ).exit_code,
      128 + SIGKILL
  );
  EXPECT_FALSE(s.cloud_objects().empty());
  s.cancel(order); // the resource becomes Terminated, the order is listed no more
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

} // namespace
} // namespace siteagent::integration
