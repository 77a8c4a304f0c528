// SPDX-License-Identifier: MIT
// Long-running operations.
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"
#include "tests/unit/azure/create_fixture.hpp"

namespace siteagent::azure::test {

namespace {

TEST_F(azure_arm, polls_wait_first_and_never_run_hot) {
  put_object("Updating");
  arm.polls = 10;
  const std::string url = std::string(base_url) + "/operations/x";
  arm.script(
      {"GET",
       "/operations/x",
       10,
       0,
       false,
       200,
       R"({"status":"InProgress"})",
       {{"retry-after", "0"}}}
  );
  arm.script({"GET", "/operations/x", 1, 0, false, 200, R"({"status":"Succeeded"})", {}});
  arm.script(
      {"GET",
       "networkInterfaces/n",
       1,
       0,
       false,
       200,
       R"({"id":"/n","properties":{"provisioningState":"Succeeded"}})",
       {}}
  );
  const auto waited = during([&] {
    const auto r = arm::follow(
        *pipe_,
        scope_,
        started(201, {{"azure-asyncoperation", url}, {"retry-after", "0"}}),
        followed_object("put")
    );
    ASSERT_TRUE(r) << r.error().message;
  });
  EXPECT_GE(waited, seconds(20));
  EXPECT_EQ(kinds_of(call_.checkpoints, "poll", "put").size(), 11U);
}

TEST_F(azure_arm, the_newest_monitor_counts) {
  put_object("Deleting");
  const std::string next = std::string(base_url) + "/operations/y";
  arm.script({"GET", "/operations/x", 1, 0, false, 202, "", {{"location", next}}});
  arm.script({"GET", "/operations/y", 1, 0, false, 200, "", {}});
  arm.script(
      {"GET", "networkInterfaces/n", 1, 0, false, 404, fake_arm::error_text("ResourceNotFound"), {}}
  );
  EXPECT_TRUE(arm::follow(
      *pipe_,
      scope_,
      started(202, {{"location", std::string(base_url) + "/operations/x"}}),
      followed_object("delete")
  ));
  EXPECT_EQ(arm.count_requests("GET", "/operations/y"), 1U);
}

TEST_F(azure_arm, a_failed_operation_is_the_operations_error) {
  put_object("Failed");
  const std::string url = std::string(base_url) + "/operations/x";
  arm.script(
      {"GET",
       "/operations/x",
       1,
       0,
       false,
       200,
       R"({"status":"Failed","error":{"code":"AllocationFailed","message":"no room"}})",
       {}}
  );
  const auto r = arm::follow(
      *pipe_, scope_, started(201, {{"azure-asyncoperation", url}}), followed_object("put")
  );
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().provider_code, "AllocationFailed");
}

TEST_F(azure_arm, a_409_of_a_location_is_the_verdict) {
  const std::string url = std::string(base_url) + "/operations/x";
  arm.script(
      {"GET",
       "/operations/x",
       1,
       0,
       false,
       409,
       fake_arm::error_text("ResourceGroupDeletionBlocked"),
       {}}
  );
  const auto r =
      arm::follow(*pipe_, scope_, started(202, {{"location", url}}), followed_object("delete"));
  ASSERT_FALSE(r);
  EXPECT_EQ(reason_of(r.error()), reason::in_use);
}

TEST_F(azure_arm, a_monitor_on_another_host_is_not_asked) {
  put_object("Deleting");
  arm.script(
      {"GET", "networkInterfaces/n", 1, 0, false, 404, fake_arm::error_text("ResourceNotFound"), {}}
  );
  EXPECT_TRUE(arm::follow(
      *pipe_,
      scope_,
      started(202, {{"location", "https://evil.example/x"}}),
      followed_object("delete")
  ));
}

TEST_F(azure_arm, an_operation_that_never_ends_meets_the_deadline) {
  put_object("Updating");
  call_.deadline = clock.steady() + seconds(120);
  const std::string url = std::string(base_url) + "/operations/x";
  arm.script({"GET", "/operations/x", -1, 0, false, 200, R"({"status":"InProgress"})", {}});
  const auto r = arm::follow(
      *pipe_, scope_, started(201, {{"azure-asyncoperation", url}}), followed_object("put")
  );
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::deadline);
  EXPECT_TRUE(arm::is_stop(r.error()));
}

TEST_F(azure_create, a_write_that_was_superseded_is_looked_up_and_applied_again) {
  arm.fail_operation("/virtualNetworks/netweb", "CanceledAndSupersededDueToAnotherOperation");
  arm.fail_operation("/publicIPAddresses/", "OperationPreempted");
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_GE(arm.count_requests("GET", "/virtualNetworks/netweb?"), 1U);
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
}

} // namespace

} // namespace siteagent::azure::test
