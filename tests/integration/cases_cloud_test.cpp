// SPDX-License-Identifier: MIT
// Cases from the field on whole sites: what must not be left behind, deleted or given away.
#include "tests/integration/cases.hpp"

#include <csignal>

namespace siteagent::integration {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(case_leak_01, a_refused_machine_takes_everything_around_it_along_in_reverse_order) {
  const site s(in_shared_group());
  const std::string order = s.order_machine("web 1");
  s.azure().set_faults(lasting("PUT", "/virtualMachines/[^/]+$", 409, "SkuNotAvailable"));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(s.cloud_objects(), Not(Contains(HasSubstr("web-1"))));
  const auto deleted = kinds_of(s, "DELETE");
  EXPECT_LT(position(deleted, "networkInterfaces"), position(deleted, "publicIPAddresses"));
  EXPECT_LT(position(deleted, "networkInterfaces"), position(deleted, "virtualNetworks"));
  EXPECT_THAT(run.log, HasSubstr("SkuNotAvailable")) << "the first reason is the one to report";
}

// The machine is refused, and Azure keeps its interface for it until the script changes.
void refuse_machine_and_keep_interface(const site& s) {
  json refused = lasting("PUT", "/virtualMachines/[^/]+$", 409, "SkuNotAvailable");
  refused.push_back(lasting(
      "DELETE",
      "/networkInterfaces/[^/]+$",
      400,
      "NicReservedForAnotherVm",
      "Nic(s) in request is reserved for another Virtual Machine for 180 seconds."
  )[0]);
  s.azure().set_faults(refused);
}

bool is_reserved_answer(const journal_line& l) {
  return l.method == "DELETE" && l.status == 400 &&
         l.path.find("/networkInterfaces/") != std::string::npos;
}

TEST(case_leak_02, clean_up_waits_for_a_reserved_interface) {
  const site s(in_shared_group());
  const std::string order = s.order_machine("web 1");
  refuse_machine_and_keep_interface(s);
  const auto agent = s.start_agent();
  ASSERT_TRUE(s.azure().wait_for_journal(is_reserved_answer)) << agent->output();
  EXPECT_EQ(s.order_state(order), "executing") << "not before the clean-up is finished";
  s.azure().clear_faults();
  ASSERT_EQ(agent->wait(std::chrono::seconds(60)), 0);
  EXPECT_EQ(s.order_state(order), "erred");
  EXPECT_THAT(s.cloud_objects(), Not(Contains(HasSubstr("web-1"))));
}

TEST(case_leak_02, killed_while_it_waits_the_next_start_removes_the_interface) {
  const site s(in_shared_group());
  const std::string order = s.order_machine("web 1");
  refuse_machine_and_keep_interface(s);
  const auto agent = s.start_agent();
  ASSERT_TRUE(s.azure().wait_for_journal(is_reserved_answer)) << agent->output();
  agent->signal(SIGKILL);
  ASSERT_TRUE(agent->wait(std::chrono::seconds(10)));
  s.cancel(order);
  s.azure().clear_faults();
  const agent_run again = s.run_agent();
  EXPECT_THAT(s.cloud_objects(), Not(Contains(HasSubstr("web-1")))) << again.log;
}

TEST(case_leak_05, pausing_deallocates_what_a_guest_only_stopped) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string machine = s.azure().inventory()["virtualMachines"][0]["id"].string_or("");
  ASSERT_LT(s.call_azure("POST", machine + "/powerOff", "2024-07-01").status, 300);
  const auto before = s.azure().journal_size();
  s.set_paused(s.resource_of(order), true);
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  std::vector<std::string> actions;
  for (const journal_line& l : s.azure().journal(before)) {
    if (l.method == "POST" && l.path.find("/virtualMachines/") != std::string::npos) {
      actions.push_back(l.path.substr(l.path.rfind('/') + 1));
    }
  }
  EXPECT_THAT(actions, testing::ElementsAre("deallocate"));
  EXPECT_THAT(
      s.azure().inventory()["virtualMachines"][0]["properties"]["instanceView"].dump(),
      HasSubstr("PowerState/deallocated")
  );
}

TEST(case_leak_06, a_poll_that_breaks_is_followed_by_a_look_and_not_by_a_second_machine) {
  const site s;
  const std::string order = s.order_machine("web 1");
  json cut = rule("GET", "/Microsoft.Compute/locations/[^/]+/operations/", "before", json("cut"));
  cut.member_ref("match").set("times", 2);
  s.azure().set_faults(json::array({cut}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "done") << run.log;
  EXPECT_EQ(count(s, "PUT", "/virtualMachines/"), 1);
  expect_exactly_one_machine(s, order);
}

TEST(case_leak_07, a_leftover_on_the_last_page_is_swept) {
  const site s;
  s.azure().seed(json::object({{"page_size", 2}}));
  for (const char* name : {"web 1", "web 2", "web 3"}) {
    s.order_machine(name);
  }
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string order = s.order_machine("zz last");
  EXPECT_EQ(
      s.run_agent(
           "order_process", {{"SITEAGENT_CRASH_AT", "after:put:network-interface:1"}}
      ).exit_code,
      128 + SIGKILL
  );
  EXPECT_THAT(s.cloud_objects(), Contains(HasSubstr("zz-last")));
  s.cancel(order);
  const agent_run run = s.run_agent();
  EXPECT_THAT(s.cloud_objects(), Not(Contains(HasSubstr("zz-last")))) << run.log;
  EXPECT_EQ(s.machine_count(), 3U);
}

TEST(case_sec_04, the_customer_reads_no_internals_and_the_log_has_them_with_the_reference) {
  const site s;
  const std::string order = s.order_machine("web 1");
  s.azure().set_faults(lasting(
      "PUT",
      "/virtualMachines/[^/]+$",
      403,
      "AuthorizationFailed",
      "The client '33333333-3333-3333-3333-333333333333' with object id "
      "'44444444-4444-4444-4444-444444444444' does not have authorization to perform action "
      "'Microsoft.Compute/virtualMachines/write' over scope "
      "'/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/x'."
  ));
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(order), "erred") << run.log;
  const std::string told = s.order(order)["error_message"].string_or("");
  for (const char* internal :
       {"1111-1111", "3333-3333", "4444-4444", "subscription", "Microsoft", "http", "client"}) {
    EXPECT_THAT(told, Not(HasSubstr(internal)));
  }
  EXPECT_EQ(s.order(order)["error_traceback"].string_or(""), "");
  const auto at = told.find("(reference ");
  ASSERT_NE(at, std::string::npos) << told;
  EXPECT_THAT(run.log, HasSubstr(told.substr(at + 11, 32)));
  EXPECT_THAT(run.log, HasSubstr("Microsoft.Compute/virtualMachines/write"));
}

TEST(case_net_03, only_the_machines_own_security_group_is_ever_written) {
  const site s(in_shared_group());
  const std::string group =
      "/subscriptions/" + std::string(subscription) + "/resourceGroups/shared";
  const std::string path = group + "/providers/Microsoft.Network/networkSecurityGroups/nsg-other";
  const json here = json::object({{"location", "westeurope"}});
  ASSERT_LT(s.call_azure("PUT", group, "2021-04-01", here).status, 300);
  ASSERT_LT(
      s.call_azure("PUT", path, "2024-05-01", json::object({{"location", "westeurope"}})).status,
      300
  );
  const std::string before = s.call_azure("GET", path, "2024-05-01").body.dump();
  const auto mark = s.azure().journal_size();
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  s.terminate(s.resource_of(order));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  for (const journal_line& l : s.azure().journal(mark)) {
    if (l.is_write()) {
      EXPECT_THAT(l.path, Not(HasSubstr("nsg-other")));
      EXPECT_THAT(l.path, Not(HasSubstr("/securityRules/")));
    }
  }
  EXPECT_EQ(s.call_azure("GET", path, "2024-05-01").body.dump(), before);
}

TEST(case_del_03, only_an_answer_that_says_so_means_gone) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string termination = s.terminate(s.resource_of(order));
  for (const char* code : {"SubscriptionNotFound", "InvalidResourceNamespace", ""}) {
    s.azure().set_faults(lasting("GET", "/virtualMachines/[^/]+$", 404, code));
    (void)s.run_agent();
    EXPECT_NE(s.order_state(termination), "done") << code;
    EXPECT_EQ(s.machine_count(), 1U) << code;
    if (s.order_state(termination) == "erred") {
      FAIL() << code << " erred the order";
    }
  }
  s.azure().set_faults(json::array({rule(
      "GET", "/virtualMachines/[^/]+$", "before", arm_answer(404, "ResourceNotFound", "not found")
  )}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(termination), "done") << run.log;
  EXPECT_THAT(s.cloud_objects(), IsEmpty()) << "one lie is not believed";
}

TEST(case_del_04, a_strangers_object_in_our_own_group_survives_and_keeps_the_group) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string group = s.azure().inventory()["resourceGroups"][0]["id"].string_or("");
  const std::string path = group + "/providers/Microsoft.Network/networkSecurityGroups/web-1-api";
  ASSERT_LT(
      s.call_azure("PUT", path, "2024-05-01", json::object({{"location", "westeurope"}})).status,
      300
  );
  const std::string termination = s.terminate(s.resource_of(order));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(termination), "done") << run.log;
  EXPECT_EQ(s.machine_count(), 0U);
  EXPECT_THAT(s.azure().inventory()["networkSecurityGroups"].items(), testing::SizeIs(1));
  EXPECT_THAT(s.azure().inventory()["resourceGroups"].items(), testing::SizeIs(1));
}

TEST(case_del_06, a_machine_missing_in_lists_is_not_declared_gone) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string resource = s.resource_of(order);
  s.azure().set_faults(json::array({json::object(
      {{"match", json::object({{"method", "GET"}, {"path", "/virtualMachines$"}, {"times", 0}})},
       {"when", "before"},
       {"do", json::object({{"status", 200}, {"body", json::object({{"value", json::array()}})}})}}
  )}));
  for (int pass = 0; pass < 3; ++pass) {
    ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  }
  EXPECT_EQ(s.resource(resource)["state"], json("OK"));
  EXPECT_EQ(s.machine_count(), 1U);
}

TEST(case_del_08, a_termination_writes_nothing_but_deletes_and_waits_for_the_running_one) {
  const site s(in_shared_group());
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string termination = s.terminate(s.resource_of(order));
  const auto mark = s.azure().journal_size();
  s.azure().set_faults(json::array({rule(
      "DELETE",
      "/virtualMachines/[^/]+$",
      "after",
      arm_answer(
          409,
          "OperationNotAllowed",
          "VM 'web-1' is marked for deletion. Only the Delete operation is allowed (or wait for an "
          "ongoing one to complete)."
      )
  )}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(termination), "done") << run.log;
  for (const journal_line& l : s.azure().journal(mark)) {
    const bool login = l.path.find("/oauth2/") != std::string::npos;
    EXPECT_TRUE(login || !l.is_write() || l.method == "DELETE") << l.method << " " << l.path;
  }
  EXPECT_EQ(s.machine_count(), 0U);
}

TEST(case_del_09, a_lock_keeps_its_order_waiting_and_no_other) {
  const site s(in_shared_group());
  const std::string first = s.order_machine("locked 1");
  const std::string second = s.order_machine("free 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string blocked = s.terminate(s.resource_of(first));
  const std::string other = s.terminate(s.resource_of(second));
  s.azure().set_faults(lasting(
      "DELETE",
      "/virtualMachines/locked-1[^/]*$",
      409,
      "ScopeLocked",
      "The scope '/subscriptions/s/resourcegroups/shared/locked-1' cannot perform delete operation "
      "because following scope(s) are locked. Please remove the lock and try again."
  ));
  const auto mark = s.azure().journal_size();
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(other), "done") << run.log;
  EXPECT_EQ(s.order_state(blocked), "executing");
  EXPECT_THAT(run.log, HasSubstr("/resourcegroups/shared/locked-1"));
  int attempts = 0;
  for (const journal_line& l : s.azure().journal(mark)) {
    attempts += l.method == "DELETE" && l.path.find("locked-1") != std::string::npos ? 1 : 0;
  }
  EXPECT_LE(attempts, 2);
  EXPECT_EQ(s.machine_count(), 1U);
  s.azure().clear_faults();
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(blocked), "done");
}

} // namespace
} // namespace siteagent::integration
