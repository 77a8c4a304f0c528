// SPDX-License-Identifier: MIT
// plan and orphans on a whole site: they say what is true and write to neither side.
#include "tests/integration/expect.hpp"
#include "tests/integration/site.hpp"

#include <algorithm>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The writes of both sides so far; the token endpoint is no write.
std::size_t writes(const site& s) {
  return s.azure().writes().size() + s.waldur().writes().size();
}

json document_of(const agent_run& run) {
  const auto parsed = json::parse(run.log);
  EXPECT_TRUE(parsed) << run.log;
  return parsed ? (*parsed)["offerings"][0] : json();
}

std::vector<std::string> actions_of(const json& plan) {
  std::vector<std::string> out;
  for (const json& c : plan["changes"].items()) {
    out.push_back(c["on"].string_or("") + ": " + c["action"].string_or(""));
  }
  return out;
}

TEST(plan, of_a_new_order_names_the_machine_that_a_start_then_makes) {
  const site s;
  const std::string order = s.order_machine("web 1");
  const std::size_t before = writes(s);
  const agent_run planned = s.run_command({"plan", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.log;
  const json plan = document_of(planned);
  EXPECT_THAT(
      actions_of(plan),
      testing::IsSupersetOf(
          {"waldur: approve order",
           "cloud: create machine",
           "waldur: record backend id",
           "waldur: set order done"}
      )
  );
  EXPECT_EQ(writes(s), before);
  EXPECT_THAT(s.cloud_objects(), IsEmpty());

  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string id = s.resource(s.resource_of(order))["backend_id"].string_or("");
  const auto recorded = std::find_if(
      plan["changes"].items().begin(),
      plan["changes"].items().end(),
      [](const json& c) { return c["action"] == json("record backend id"); }
  );
  ASSERT_NE(recorded, plan["changes"].items().end());
  EXPECT_EQ((*recorded)["then"], json(id));
}

TEST(plan, of_an_order_that_cannot_be_carried_out_shows_its_rejection) {
  const site s;
  s.order_machine("web 1", json::object({{"image", "nonsense"}}));
  const agent_run planned = s.run_command({"plan"});
  EXPECT_EQ(planned.exit_code, 0);
  EXPECT_THAT(planned.log, HasSubstr("reject order"));
  EXPECT_THAT(planned.log, HasSubstr("publisher:offer:sku:version"));
  EXPECT_THAT(planned.log, HasSubstr("nothing was written"));
}

TEST(plan, shows_pausing_and_termination_and_an_empty_plan_when_all_is_done) {
  const site s;
  const std::string a = s.order_machine("web 1");
  const std::string b = s.order_machine("web 2");
  ASSERT_EQ(s.run_agent("all").exit_code, 0);
  const agent_run settled = s.run_command({"plan", "--json"});
  EXPECT_THAT(actions_of(document_of(settled)), IsEmpty()) << settled.log;

  s.set_paused(s.resource_of(a), true);
  s.terminate(s.resource_of(b));
  const std::size_t before = writes(s);
  const agent_run planned = s.run_command({"plan", "--json"});
  EXPECT_THAT(
      actions_of(document_of(planned)),
      testing::IsSupersetOf({"cloud: pause machine", "cloud: delete machine"})
  ) << planned.log;
  EXPECT_EQ(writes(s), before);
  EXPECT_EQ(s.machine_count(), 2U);
}

// A machine whose order was cancelled while nobody ran the agent.
std::string leave_orphan(const site& s) {
  const std::string order = s.order_machine("web 1");
  const auto agent =
      s.start_agent("order_process", true, {{"SITEAGENT_CRASH_AT", "after:put:virtual-machine:1"}});
  EXPECT_TRUE(agent->wait(std::chrono::seconds(60)));
  s.cancel(order);
  return order;
}

TEST(orphans, are_shown_with_their_price_and_nothing_is_written) {
  const site s;
  leave_orphan(s);
  const std::size_t before = writes(s);
  const agent_run shown = s.run_command({"orphans", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.log;
  const json report = document_of(shown);
  ASSERT_GE(report["objects"].size(), 6U) << shown.log;
  bool priced = false;
  for (const json& o : report["objects"].items()) {
    EXPECT_THAT(o["why"].string_or(""), HasSubstr("Terminated"));
    EXPECT_EQ(o["deletable"], json(false)) << "everything is younger than a day";
    priced = priced || o.find("price_month") != nullptr;
  }
  EXPECT_TRUE(priced) << shown.log;
  EXPECT_EQ(writes(s), before);
}

TEST(orphans, younger_than_a_day_are_not_deleted_whatever_is_typed) {
  const site s;
  leave_orphan(s);
  s.run_command({"orphans"}); // a look ends what is under way
  const std::vector<std::string> objects = s.cloud_objects();
  std::string typed;
  for (const std::string& o : objects) {
    typed += o.substr(o.find(' ') + 1) + "\n";
  }
  const agent_run run = s.run_command({"orphans", "--delete"}, typed + "\n");
  EXPECT_THAT(run.errors, HasSubstr("nothing that may be deleted"));
  EXPECT_EQ(s.cloud_objects(), objects);
}

// The list of resources as the cloud gives it, but for their age.
json aged_list(const site& s) {
  json list = s.call_azure(
                   "GET",
                   "/subscriptions/" + std::string(subscription) + "/resources",
                   "2021-04-01&$expand=createdTime"
  )
                  .body;
  EXPECT_GT(list["value"].size(), 4U);
  for (json& o : list.member_ref("value").items()) {
    o.set("createdTime", "2026-01-31T12:00:00Z");
  }
  return list;
}

TEST(orphans, of_age_are_deleted_when_their_exact_ids_are_typed_and_nothing_else_is) {
  const site s;
  leave_orphan(s);
  s.run_command({"orphans"}); // a look ends what is under way
  const std::string group = s.azure().inventory()["resourceGroups"][0]["id"].string_or("");
  const std::string theirs = group + "/providers/Microsoft.Network/publicIPAddresses/theirs";
  const json address = *json::parse(
      R"({"location": "westeurope", "sku": {"name": "Standard"},
          "properties": {"publicIPAllocationMethod": "Static"}})"
  );
  ASSERT_EQ(s.call_azure("PUT", theirs, "2024-05-01", address).status, 201);
  json answer = json::object({{"status", 200}, {"body", aged_list(s)}});
  json match = json::object({{"method", "GET"}, {"path", "^/subscriptions/[^/]+/resources$"}});
  match.set("times", 0);
  s.azure().set_faults(
      json::array({json::object({{"match", std::move(match)}, {"do", std::move(answer)}})})
  );
  std::string typed = "/subscriptions/no/such/thing\n" + theirs + "\n";
  const json report = document_of(s.run_command({"orphans", "--json"}));
  for (const json& o : report["objects"].items()) {
    EXPECT_EQ(o["deletable"], json(true)) << o.dump();
    typed += o["id"].string_or("") + "\n";
  }
  const agent_run run = s.run_command({"orphans", "--delete"}, typed + "\n");
  EXPECT_EQ(run.exit_code, 1) << "two ids were none of the list, and the group is not empty";
  EXPECT_THAT(run.errors, HasSubstr("not an id of this list, or not deletable: " + theirs));
  EXPECT_THAT(run.errors, HasSubstr("it is not empty"));
  const std::vector<std::string> left = s.cloud_objects();
  EXPECT_THAT(
      left, testing::UnorderedElementsAre("resourceGroups " + group, "publicIPAddresses " + theirs)
  );
}

TEST(orphans, list_a_resource_whose_machine_somebody_deleted) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_THAT(document_of(s.run_command({"orphans", "--json"}))["missing"].items(), IsEmpty());
  const std::string id = s.resource(s.resource_of(order))["backend_id"].string_or("");
  ASSERT_EQ(s.call_azure("DELETE", id, "2024-07-01").status, 202);
  const json report = document_of(s.run_command({"orphans", "--json"}));
  ASSERT_THAT(report["missing"].items(), SizeIs(1));
  EXPECT_EQ(report["missing"][0]["backend_id"], json(id));
}

} // namespace
} // namespace siteagent::integration
