// SPDX-License-Identifier: MIT
// Cases from the field on whole sites: orders that must neither wait for nor disturb each other.
#include "tests/integration/cases.hpp"

namespace siteagent::integration {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

json one_order(const json& more) {
  json order = json::object(
      {{"uuid", "e2ef0000000000000000000000002001"},
       {"type", "Create"},
       {"state", "executing"},
       {"attributes", json::object({{"name", "web 1"}, {"ssh_public_key", ssh_key}})},
       {"limits", json::object({{"cpu", 1}})}}
  );
  for (const auto& [key, value] : more.members()) {
    order.set(key, value);
  }
  return order;
}

TEST(case_hang_04, a_create_that_never_ends_holds_up_no_other_order) {
  const site s;
  const std::string first = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  s.azure().set_faults(json::array(
      {rule("PUT", "/virtualMachines/[^/]+$", "before", json::object({{"operation", "stuck"}}))}
  ));
  const std::string stuck = s.order_machine("stuck 1");
  const auto agent = s.start_agent("order_process", false);
  ASSERT_TRUE(s.azure().wait_for_journal([](const journal_line& l) {
    return l.method == "PUT" && l.path.find("/virtualMachines/stuck-1") != std::string::npos;
  })) << agent->output();
  const std::string termination = s.terminate(s.resource_of(first));
  EXPECT_TRUE(s.waldur().wait_for_journal([&](const journal_line& l) {
    return l.path.find(termination + "/set_state_done/") != std::string::npos;
  })) << agent->output();
  EXPECT_EQ(s.order_state(stuck), "executing");
}

TEST(case_crash_05, missing_and_null_fields_of_one_order_harm_only_that_order) {
  const site s;
  const std::string bad = s.order_machine("bad 1");
  const std::string good = s.order_machine("good 1");
  json r = rule(
      "GET",
      ("/marketplace-orders/" + bad + "/$").c_str(),
      "before",
      json::object(
          {{"status", 200},
           {"headers", json::object({{"Content-Type", "application/json"}})},
           {"body",
            json::object(
                {{"uuid", bad},
                 {"type", "Create"},
                 {"state", "something-new"},
                 {"marketplace_resource_uuid", json()},
                 {"attributes", json()},
                 {"limits", json()},
                 {"plan", json()},
                 {"created", json()}}
            )}}
      )
  );
  r.member_ref("match").set("times", 0);
  s.waldur().set_faults(json::array({r}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_EQ(s.order_state(good), "done") << run.log;
  EXPECT_THAT(s.cloud_objects(), Not(Contains(HasSubstr("bad-1"))));
}

TEST(case_conc_01, two_agents_at_once_make_one_machine_and_delete_nothing) {
  const site s;
  for (int round = 1; round <= 4; ++round) {
    const std::string order = s.order_machine("web " + std::to_string(round));
    const auto left = s.start_agent();
    const auto right = s.start_agent();
    ASSERT_TRUE(left->wait(std::chrono::seconds(120)));
    ASSERT_TRUE(right->wait(std::chrono::seconds(120)));
    const agent_run last = s.run_agent();
    EXPECT_EQ(s.order_state(order), "done") << left->output() << right->output() << last.log;
    EXPECT_EQ(s.machine_count(), static_cast<std::size_t>(round));
  }
  EXPECT_THAT(kinds_of(s, "DELETE"), IsEmpty());
}

TEST(case_conc_05, an_order_without_quota_does_not_hold_up_those_behind_it) {
  const site s;
  s.azure().set_faults(lasting(
      "PUT",
      "/virtualMachines/heavy-1$",
      409,
      "QuotaExceeded",
      "Operation could not be completed as it results in exceeding approved quota."
  ));
  const std::string heavy = s.order_machine("heavy 1");
  std::vector<std::string> others;
  for (int i = 1; i <= 8; ++i) {
    others.push_back(s.order_machine("web " + std::to_string(i)));
  }
  const agent_run run = s.run_agent();
  for (const std::string& order : others) {
    EXPECT_EQ(s.order_state(order), "done") << run.log;
  }
  EXPECT_EQ(s.order_state(heavy), "erred");
  EXPECT_EQ(count(s, "PUT", "/virtualMachines/heavy-1"), 1);
}

TEST(case_ord_01, a_number_of_somebody_else_in_the_order_means_nothing) {
  site_options options;
  options.waldur_seed = json::object(
      {{"orders", json::array({one_order(json::object({{"backend_id", "TICKET-4711"}}))})}}
  );
  const site s(options);
  const std::string order = "e2ef0000000000000000000000002001";
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "done") << run.log;
  EXPECT_EQ(count(s, "PUT", "/virtualMachines/"), 1);
  expect_exactly_one_machine(s, order);
}

TEST(case_ord_03, a_resource_without_an_id_can_be_terminated) {
  for (const char* id : {"", "   "}) {
    site_options options;
    options.waldur_seed = json::object(
        {{"resources",
          json::array({json::object(
              {{"uuid", "ab12cd34ef56ab12cd34ef56ab12cd34"}, {"state", "OK"}, {"backend_id", id}}
          )})}}
    );
    const site s(options);
    const std::string termination = s.terminate("ab12cd34ef56ab12cd34ef56ab12cd34");
    const agent_run run = s.run_agent();
    EXPECT_EQ(s.order_state(termination), "done") << run.log;
  }
}

TEST(case_ord_04, a_report_that_failed_is_repeated_and_nothing_is_created_again) {
  const site s;
  const std::string order = s.order_machine("web 1");
  json refused = rule(
      "POST", "/set_state_done/$", "before", json::object({{"status", 503}, {"body", "busy"}})
  );
  refused.member_ref("match").set("times", 0);
  s.waldur().set_faults(json::array({refused}));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "executing");
  s.waldur().clear_faults();
  const auto mark = s.azure().writes().size();
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
  EXPECT_EQ(s.azure().writes().size(), mark);
  expect_exactly_one_machine(s, order);
}

TEST(case_ord_05, a_bad_order_in_front_does_not_stop_the_good_ones) {
  const site s;
  const std::string bad = s.order_machine("bad 1", json::object({{"ssh_public_key", "no key"}}));
  const std::string first = s.order_machine("web 1");
  const std::string second = s.order_machine("web 2");
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(bad), "rejected") << run.log;
  EXPECT_EQ(s.order_state(first), "done");
  EXPECT_EQ(s.order_state(second), "done");
}

} // namespace
} // namespace siteagent::integration
