// SPDX-License-Identifier: MIT
// Two agents on one offering: they share the work or get in each other's way, but make no machine
// twice, also when one is killed.
#include "tests/integration/expect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace siteagent::integration {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr std::size_t order_count = 8;

std::vector<std::string> order_machines(const site& s) {
  std::vector<std::string> orders;
  for (std::size_t i = 0; i < order_count; ++i) {
    orders.push_back(s.order_machine("web " + std::to_string(i)));
  }
  return orders;
}

std::vector<std::string> states_of(const site& s, const std::vector<std::string>& orders) {
  std::vector<std::string> states;
  std::transform(orders.begin(), orders.end(), std::back_inserter(states), [&](const auto& o) {
    return s.order_state(o);
  });
  return states;
}

bool wait_for_all(const site& s, const std::vector<std::string>& orders) {
  return wait_for_change(
      s.waldur().directory(),
      [&] {
        const std::vector<std::string> states = states_of(s, orders);
        return std::count(states.begin(), states.end(), "done") ==
               static_cast<std::ptrdiff_t>(states.size());
      },
      std::chrono::seconds(150)
  );
}

void slow_down_machines(const site& s) {
  s.azure().set_faults(json::array({json::object(
      {{"match", json::object({{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}})},
       {"when", "before"},
       {"do", json::object({{"delay_ms", 700}})}}
  )}));
}

void expect_no_machine_twice(const site& s, const std::vector<std::string>& orders) {
  EXPECT_THAT(states_of(s, orders), Each("done"));
  EXPECT_EQ(s.machine_count(), orders.size());
  for (const std::string& order : orders) {
    const std::string machine = s.resource(s.resource_of(order))["backend_id"].string_or("");
    EXPECT_NE(machine, "") << order;
  }
}

TEST(several_agents, on_one_offering_make_no_machine_twice) {
  const site s;
  slow_down_machines(s);
  const std::vector<std::string> orders = order_machines(s);
  const auto one = s.start_agent("order_process", false);
  const auto two = s.start_agent("order_process", false);
  ASSERT_TRUE(wait_for_all(s, orders)) << one->output() << two->output();
  expect_no_machine_twice(s, orders);

  // And none is left behind when they are terminated by both.
  std::vector<std::string> terminations;
  std::transform(
      orders.begin(),
      orders.end(),
      std::back_inserter(terminations),
      [&](const std::string& order) { return s.terminate(s.resource_of(order)); }
  );
  ASSERT_TRUE(wait_for_all(s, terminations)) << one->output() << two->output();
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

TEST(several_agents, the_other_ends_what_a_killed_one_began) {
  const site s;
  slow_down_machines(s);
  const std::vector<std::string> orders = order_machines(s);
  const auto one = s.start_agent("order_process", false);
  ASSERT_TRUE(s.azure().wait_for_journal([](const journal_line& l) {
    return l.method == "PUT" && l.path.find("/networkInterfaces/") != std::string::npos;
  })) << one->output();
  const auto two = s.start_agent("order_process", false);
  ASSERT_TRUE(s.azure().wait_for_journal([](const journal_line& l) {
    return l.method == "PUT" && l.path.find("/virtualMachines/") != std::string::npos;
  })) << one->output();
  one->signal(SIGKILL);
  ASSERT_TRUE(one->wait(std::chrono::seconds(10)));
  ASSERT_TRUE(wait_for_all(s, orders)) << two->output();
  expect_no_machine_twice(s, orders);
}

} // namespace
} // namespace siteagent::integration
