// SPDX-License-Identifier: MIT
// Executing Update, Terminate and Restore orders.
#include "order_fixture.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class order_terminate : public order_fixture {};

TEST_F(order_terminate, deletes_by_the_recorded_id) {
  given("Terminate", "executing").backend_id = " /vm/x ";
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.cloud->calls(operation::delete_resource).at(0).request.target, "/vm/x");
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_terminate, without_an_id_deletes_what_is_tagged_and_succeeds) {
  for (const char* id : {"", "   "}) {
    given("Terminate", "executing").backend_id = id;
    w.cloud->put_machine(resource);
    EXPECT_EQ(look(), order_step::finished);
    EXPECT_EQ(w.cloud->calls(operation::delete_resource).back().request.target, "");
    EXPECT_FALSE(w.cloud->has_machine(resource));
    EXPECT_EQ(w.waldur.state_of(order), "done");
  }
}

TEST_F(order_terminate, gone_already_is_done) {
  given("Terminate", "executing").backend_id = "/vm/x";
  w.cloud->fail(operation::delete_resource, failure(error_code::not_found));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_terminate, a_transient_failure_is_tried_again_until_the_deadline) {
  given("Terminate", "executing").backend_id = "/vm/x";
  w.cloud->fail(operation::delete_resource, failure(error_code::transient), 3);
  EXPECT_EQ(look(), order_step::waiting);
  w.clock.advance(std::chrono::minutes(100));
  EXPECT_EQ(look(), order_step::waiting);
  w.clock.advance(std::chrono::minutes(21));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

TEST_F(order_terminate, a_permanent_failure_errs_the_order) {
  given("Terminate", "executing").backend_id = "/vm/x";
  w.cloud->fail(operation::delete_resource, failure(error_code::permanent, "other subscription"));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

TEST_F(order_terminate, stops_at_a_checkpoint_when_it_is_cancelled) {
  given("Terminate", "executing").backend_id = "/vm/x";
  w.cloud->on(operation::delete_resource, [this](const auto&, const host::call_options& options) {
    w.clock.advance(std::chrono::seconds(6));
    w.waldur.set_order_state(order, "canceled");
    const base::result<void> go = options.checkpoint(json::object({{"phase", "before"}}));
    EXPECT_FALSE(go);
    return fake_cloud::emitted(go.error());
  });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_terminate, remainders_that_are_not_ours_do_not_hold_the_order) {
  given("Terminate", "executing").backend_id = "/vm/x";
  w.cloud->on(operation::delete_resource, [](const auto&, const auto&) {
    json report = json::object();
    report.set(
        "remaining", json::array({json::object({{"id", "foreign"}, {"reason", "not ours"}})})
    );
    return fake_cloud::emitted(std::vector{report});
  });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

class order_update : public order_fixture {
protected:
  order_update() {
    waldur::resource& r = given("Update", "executing");
    r.backend_id = "/vm/x";
    r.limits = {{"cpu", "2"}, {"ram", "4096"}};
  }

  waldur::order& again() { return w.waldur.add_order(order, "Update", "executing"); }
};

TEST_F(order_update, with_equal_amounts_is_done_without_the_cloud) {
  again().limits = {{"cpu", "2.0"}, {"ram", "4096"}};
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST_F(order_update, without_amounts_and_plan_is_done) {
  again();
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_update, that_would_resize_is_erred_and_its_resource_cleared) {
  again().limits = {{"cpu", "4"}};
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
  EXPECT_THAT(w.waldur.erred_texts.at(0), HasSubstr("Resizing is not carried out"));
  EXPECT_THAT(
      w.waldur.writes(),
      ElementsAre("set_erred " + order_hex(), "set_resource_ok " + resource_hex())
  );
}

TEST_F(order_update, is_done_when_the_plugin_resizes) {
  again().limits = {{"cpu", "4"}};
  w.cloud->on(operation::set_resource_limits, [](const auto& request, const auto&) {
    EXPECT_EQ(request.target, "/vm/x");
    return fake_cloud::emitted(std::vector<json>{});
  });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_update, to_a_plan_of_other_quotas_is_a_resize) {
  waldur::order& o = again();
  o.plan = uuid_of(401);
  w.waldur.add_resource(resource, "OK").plan = uuid_of(400);
  w.waldur.plans[uuid_of(400)].quotas = {{"cpu", "2"}};
  w.waldur.plans[uuid_of(401)].quotas = {{"cpu", "4"}};
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

TEST_F(order_update, to_a_plan_of_equal_quotas_is_done) {
  again().plan = uuid_of(401);
  w.waldur.add_resource(resource, "OK").plan = uuid_of(400);
  w.waldur.plans[uuid_of(400)].quotas = {{"cpu", "2"}};
  w.waldur.plans[uuid_of(401)].quotas = {{"cpu", "2.0"}};
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_update, waits_while_the_plans_cannot_be_compared) {
  again().plan = uuid_of(401);
  w.waldur.fail("get_plan", http_failure(403));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_update, asks_the_plugin_with_old_and_new_before_it_approves) {
  waldur::order& o = w.waldur.add_order(order, "Update", "pending-provider");
  o.limits = {{"cpu", "4"}};
  w.cloud->on(operation::evaluate_order, [](const host::call_request& request, const auto&) {
    EXPECT_EQ(request.body.at({"order", "limits", "cpu"}).number_text(), "4");
    EXPECT_EQ(request.body.at({"order", "old_limits", "cpu"}).number_text(), "2");
    return fake_cloud::emitted(std::vector{
        json::object({{"decision", "reject"}, {"reason", "no resizing"}})});
  });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "rejected");
}

class order_restore : public order_fixture {
protected:
  order_restore() { given("Restore", "executing").backend_id = "/vm/x"; }
};

TEST_F(order_restore, starts_a_machine_that_is_there) {
  w.cloud->put_machine(resource);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::restore), 1U);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_restore, never_makes_a_machine_that_is_proven_absent) {
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::pull_resources), 2U);
  EXPECT_EQ(called(operation::create_resource), 0U);
  EXPECT_THAT(w.waldur.erred_texts.at(0), HasSubstr("cannot be re-created"));
}

TEST_F(order_restore, waits_while_the_machine_is_unknown) {
  w.cloud->fail(operation::pull_resources, failure(error_code::throttled));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_restore, without_a_recorded_machine_is_erred) {
  w.waldur.add_resource(resource, "OK");
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST_F(order_restore, a_cloud_without_room_is_asked_again_however_long_it_takes) {
  w.cloud->put_machine(resource);
  w.cloud->fail(operation::restore, failure(error_code::no_capacity), 2);
  EXPECT_EQ(look(), order_step::waiting);
  w.clock.advance(std::chrono::hours(5));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_restore, a_permanent_failure_errs_the_order) {
  w.cloud->put_machine(resource);
  w.cloud->fail(operation::restore, failure(error_code::forbidden));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

} // namespace

} // namespace siteagent::agent::test
