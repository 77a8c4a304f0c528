// SPDX-License-Identifier: MIT
// What earlier runs left: removed only when Waldur positively says the resource is over.
#include "world.hpp"

#include "core/agent/sweep.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::IsEmpty;

struct sweep_case {
  const char* name;
  const char* state;      // of the resource
  const char* backend_id; // in Waldur
  bool machine;           // in the cloud, beside an object
  bool removed;
  bool keep; // keep_working_machine
};

class sweep_test : public ::testing::Test {
protected:
  void list(bool machine) {
    w.cloud->on(
        operation::list_resources,
        [machine](const host::call_request& request, const auto&) {
          EXPECT_EQ(request.body.at({"tags", "managed-by"}).string_or(""), "waldur-site-agent");
          EXPECT_EQ(
              request.body.at({"tags", "waldur-offering-uuid"}).string_or(""), uuid_of(77).hex()
          );
          std::vector<json> rows;
          if (request.body["objects"].boolean().value_or(false)) {
            rows.push_back(json::object({{"id", "nic"}, {"uuid", uuid_of(1).hex()}}));
            rows.push_back(json::object({{"id", "foreign"}, {"uuid", "no uuid"}}));
          } else if (machine) {
            rows.push_back(json::object({{"backend_id", "/vm/1"}, {"uuid", uuid_of(1).hex()}}));
          }
          return fake_cloud::emitted(rows);
        }
    );
  }

  void run() {
    sweep s(*w.offering, w.waldur, w.env);
    s.start();
    s.wait();
  }

  world w;
};

class sweep_decides : public sweep_test, public ::testing::WithParamInterface<sweep_case> {};

TEST_P(sweep_decides, by_what_waldur_shows) {
  w.waldur.add_resource(1, GetParam().state).backend_id = GetParam().backend_id;
  list(GetParam().machine);
  run();
  const auto deletions = w.cloud->calls(operation::delete_resource);
  ASSERT_EQ(deletions.size(), GetParam().removed ? 1U : 0U);
  if (GetParam().removed) {
    EXPECT_EQ(deletions[0].request.target, "");
    EXPECT_EQ(deletions[0].request.idempotency_key, uuid_of(1).hex());
    EXPECT_EQ(
        deletions[0].request.body["keep_working_machine"].boolean().value_or(false), GetParam().keep
    );
  }
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    states,
    sweep_decides,
    ::testing::Values(
        sweep_case{"terminated_without_machine", "Terminated", "/vm/1", false, true, false},
        sweep_case{"cancelled_create_with_machine", "Terminated", "", true, true, false},
        sweep_case{"cancelled_create_without_machine", "Terminated", "", false, true, false},
        sweep_case{"terminated_with_recorded_machine", "Terminated", "/vm/1", true, false, false},
        sweep_case{"erred_without_id", "Erred", "", false, true, true},
        sweep_case{"erred_with_id", "Erred", "/vm/1", false, false, false},
        sweep_case{"being_created", "Creating", "", false, false, false},
        sweep_case{"fine", "OK", "/vm/1", true, false, false},
        sweep_case{"being_terminated", "Terminating", "/vm/1", false, false, false},
        sweep_case{"state_of_the_future", "Sleeping", "", false, false, false}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(sweep_test, a_resource_waldur_does_not_show_is_unknown_and_not_gone) {
  list(false);
  run();
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

TEST_F(sweep_test, an_unreadable_waldur_or_cloud_removes_nothing) {
  w.waldur.add_resource(1, "Terminated");
  list(false);
  w.waldur.fail("get_resource", http_failure(503));
  run();
  w.cloud->fail(operation::list_resources, failure(error_code::throttled));
  run();
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

TEST_F(sweep_test, half_a_list_removes_nothing) {
  w.waldur.add_resource(1, "Terminated").backend_id = "/vm/1";
  w.cloud->on(operation::list_resources, [](const host::call_request& request, const auto&) {
    if (!request.body["objects"].boolean().value_or(false)) {
      return fake_cloud::emitted(failure(error_code::transient));
    }
    return fake_cloud::emitted(std::vector{
        json::object({{"id", "nic"}, {"uuid", uuid_of(1).hex()}})});
  });
  run();
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

TEST_F(sweep_test, a_resource_an_order_works_on_is_left_alone) {
  w.waldur.add_resource(1, "Terminated");
  list(false);
  const auto lock = w.locks.try_lock(uuid_of(1));
  run();
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

TEST_F(sweep_test, an_open_circuit_or_a_stopping_agent_sweeps_nothing) {
  list(false);
  w.offering->hold(failure(error_code::auth));
  run();
  w.offering->breaker().close();
  w.stop.request_stop();
  run();
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST_F(sweep_test, a_failed_removal_is_tried_again_by_the_next_sweep) {
  w.waldur.add_resource(1, "Terminated");
  list(false);
  w.cloud->fail(operation::delete_resource, failure(error_code::transient));
  run();
  run();
  EXPECT_EQ(w.cloud->calls(operation::delete_resource).size(), 2U);
}

} // namespace

} // namespace siteagent::agent::test
