// SPDX-License-Identifier: MIT
// A plan says what a start would do, and does none of it.
#include "world.hpp"

#include "core/agent/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class plan_test : public ::testing::Test {
protected:
  plan_test() {
    offering = std::make_unique<offering_context>(
        make_offering(),
        w.settings,
        [this](const config::offering&, const std::string&) {
          return base::result<std::shared_ptr<backend>>(make_planning_backend(w.cloud, changes));
        },
        w.env
    );
    // As a plugin that knows no dry run: it meets the checkpoint in front of its first write.
    for (const operation op : {operation::create_resource, operation::delete_resource}) {
      w.cloud->on(op, [this](const host::call_request& r, const host::call_options& o) {
        dry = dry && r.dry_run;
        for (const char* harmless : {"poll", "wait"}) {
          EXPECT_TRUE(o.checkpoint(json::object({{"phase", harmless}})));
        }
        const base::result<void> go = o.checkpoint(json::object({{"phase", "before"}}));
        wrote = wrote || go.has_value();
        return go ? fake_cloud::emitted(std::vector<json>{}) : fake_cloud::emitted(go.error());
      });
    }
    rows("present", "running");
  }

  // What the cloud shows of the machine of resource 1.
  void rows(const std::string& presence, const std::string& power, const json& metadata = {}) {
    w.cloud->on(operation::pull_resources, [=](const host::call_request& r, const auto&) {
      std::vector<json> out;
      for (const json& asked : r.body["resources"].items()) {
        json row = json::object({{"uuid", asked["uuid"]}, {"presence", presence}, {"state", "ok"}});
        row.set("power", power).set("metadata", metadata);
        out.push_back(row);
      }
      return fake_cloud::emitted(out);
    });
  }

  waldur::resource& resource(const std::string& state, const std::string& backend_id) {
    waldur::resource& r = w.waldur.add_resource(1, state);
    r.backend_id = backend_id;
    r.power_flags_known = true;
    return r;
  }

  std::vector<std::string> plan() {
    const std::unique_ptr<portal> planning = make_planning_portal(w.waldur, changes);
    failures = plan_offering(*offering, *planning, w.env);
    found = changes.take();
    std::vector<std::string> actions;
    for (const planned_change& c : found) {
      actions.push_back(c.action);
    }
    return actions;
  }

  void expect_nothing_written() {
    EXPECT_THAT(w.waldur.writes(), IsEmpty());
    EXPECT_FALSE(wrote);
    EXPECT_TRUE(dry);
    for (const operation op : {operation::pause, operation::downscale, operation::restore}) {
      EXPECT_THAT(w.cloud->calls(op), IsEmpty());
    }
  }

  world w;
  change_list changes;
  std::unique_ptr<offering_context> offering;
  std::vector<base::error> failures;
  std::vector<planned_change> found;
  bool dry = true;
  bool wrote = false;
};

TEST_F(plan_test, of_a_new_order_is_its_approval_its_machine_and_its_end) {
  waldur::order& o = w.waldur.add_order(1, "Create", "pending-provider");
  o.resource = uuid_of(1);
  o.attributes = json::object({{"size", "small"}});
  w.waldur.add_resource(1);
  EXPECT_THAT(
      plan(), ElementsAre("approve order", "create machine", "record backend id", "set order done")
  );
  EXPECT_EQ(found[1].then, o.attributes);
  EXPECT_EQ(found[1].resource, uuid_of(1).hex());
  expect_nothing_written();
}

TEST_F(plan_test, of_an_order_whose_machine_exists_is_its_adoption) {
  w.waldur.add_order(1, "Create", "executing").resource = uuid_of(1);
  w.waldur.add_resource(1);
  w.cloud->on(operation::list_resources, [](const host::call_request& r, const auto&) {
    std::vector<json> machines;
    if (!r.body["objects"].boolean().value_or(false)) {
      machines.push_back(json::object({{"backend_id", "/vm/1"}, {"uuid", uuid_of(1).hex()}}));
    }
    return fake_cloud::emitted(machines);
  });
  EXPECT_THAT(plan(), ElementsAre("adopt machine", "record backend id", "set order done"));
  EXPECT_THAT(w.cloud->calls(operation::create_resource), IsEmpty());
  expect_nothing_written();
}

TEST_F(plan_test, of_an_order_that_the_cloud_would_refuse_is_its_error) {
  w.waldur.add_order(1, "Create", "executing").resource = uuid_of(1);
  w.waldur.add_resource(1);
  w.cloud->fail(operation::create_resource, failure(error_code::quota, "over quota"));
  EXPECT_THAT(plan(), Contains("set order erred"));
  expect_nothing_written();
}

TEST_F(plan_test, of_a_termination_is_the_deletion) {
  w.waldur.add_order(1, "Terminate", "executing").resource = uuid_of(1);
  resource("Terminating", "/vm/1");
  EXPECT_THAT(plan(), ElementsAre("delete machine", "set order done"));
  EXPECT_EQ(found[0].now, json("/vm/1"));
  expect_nothing_written();
}

TEST_F(plan_test, shows_power_that_differs_once) {
  resource("OK", "/vm/1").paused = true;
  EXPECT_THAT(plan(), Contains("pause machine"));
  const auto power = std::find_if(found.begin(), found.end(), [](const planned_change& c) {
    return c.action == "pause machine";
  });
  EXPECT_EQ(power->now, json("running"));
  EXPECT_EQ(power->then, json("deallocated"));
  EXPECT_EQ(
      std::count_if(
          found.begin(),
          found.end(),
          [](const planned_change& c) { return c.where == planned_change::target::cloud; }
      ),
      1
  );
  expect_nothing_written();
}

TEST_F(plan_test, shows_only_the_members_of_metadata_that_differ) {
  resource("OK", "/vm/1").backend_metadata =
      json::object({{"size", "small"}, {"address", "192.0.2.1"}, {"gone", true}});
  rows("present", "running", json::object({{"size", "small"}, {"address", "192.0.2.2"}}));
  EXPECT_THAT(plan(), ElementsAre("record metadata"));
  EXPECT_EQ(found[0].now, json::object({{"address", "192.0.2.1"}, {"gone", true}}));
  EXPECT_EQ(found[0].then, json::object({{"address", "192.0.2.2"}, {"gone", nullptr}}));
  expect_nothing_written();
}

TEST_F(plan_test, shows_a_machine_that_is_missing) {
  resource("OK", "/vm/1");
  rows("absent", "");
  EXPECT_THAT(plan(), ElementsAre("set resource erred"));
  expect_nothing_written();
}

TEST_F(plan_test, of_a_site_in_order_is_empty) {
  resource("OK", "/vm/1");
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(plan_test, says_what_could_not_be_planned_and_plans_the_rest) {
  resource("OK", "/vm/1").downscaled = true;
  w.waldur.always_fail("list_orders", http_failure(503));
  EXPECT_THAT(plan(), Contains("downscale machine"));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_THAT(failures[0].message, ::testing::HasSubstr("orders"));
}

} // namespace

} // namespace siteagent::agent::test
