// SPDX-License-Identifier: MIT
// Executing Create orders: provisioning, recording, adoption.
#include "order_fixture.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class order_create : public order_fixture {
protected:
  order_create() { given("Create", "executing"); }

  waldur::resource recorded() {
    waldur::resource& r = w.waldur.add_resource(resource);
    r.backend_id = "/vm/" + resource_hex();
    return r;
  }

  // Presence of the next looks at the machine, one after the other.
  void presences(std::vector<std::string> words) {
    auto left = std::make_shared<std::deque<std::string>>(words.begin(), words.end());
    w.cloud->on(operation::pull_resources, [this, left](const auto&, const auto&) {
      json row = json::object({{"uuid", resource_hex()}, {"presence", left->front()}});
      row.set("state", "ok");
      left->pop_front();
      return fake_cloud::emitted(std::vector{row});
    });
  }
};

TEST_F(order_create, records_the_machine_before_it_reports_the_order) {
  w.waldur.add_order(order, "Create", "executing").limits = {{"cpu", "2"}};
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_THAT(
      w.waldur.writes(),
      ElementsAre(
          "set_backend_id " + resource_hex() + " /vm/" + resource_hex(),
          "set_limits " + resource_hex(),
          "set_backend_metadata " + resource_hex() + R"( {"size":"small"})",
          "set_endpoints " + resource_hex(),
          "set_done " + order_hex()
      )
  );
  EXPECT_EQ(w.waldur.resource_of(resource).limits.at("cpu"), "2");
  EXPECT_EQ(w.waldur.endpoints[uuid_of(resource)].at(0).url, "ssh://me@192.0.2.1");
}

TEST_F(order_create, figures_of_the_size_win_over_the_orders_limits_when_the_plugin_gives_them) {
  w.waldur.add_order(order, "Create", "executing").limits = {{"cpu", "2"}};
  w.cloud->on(operation::create_resource, [](const auto&, const auto&) {
    json made = json::object({{"backend_id", "x"}});
    made.set("limits", json::object({{"cpu", 4}}));
    return fake_cloud::emitted(std::vector{made});
  });
  look();
  EXPECT_EQ(w.waldur.resource_of(resource).limits.at("cpu"), "4");
}

TEST_F(order_create, a_transient_failure_leaves_the_order_executing_and_is_tried_again) {
  base::error busy = failure(error_code::throttled);
  busy.retry_after = std::chrono::seconds(40);
  w.cloud->fail(operation::create_resource, busy);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(w.waldur.state_of(order), "executing");
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  w.clock.advance(std::chrono::seconds(39));
  EXPECT_FALSE(machine->book().is_due(uuid_of(order)));
  w.clock.advance(std::chrono::seconds(2));
  EXPECT_TRUE(machine->book().is_due(uuid_of(order)));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

struct keeps_executing_case {
  const char* name;
  error_code code;
};

class keeps_executing : public order_create,
                        public ::testing::WithParamInterface<keeps_executing_case> {};

TEST_P(keeps_executing, without_a_word_to_waldur_or_a_deletion) {
  w.cloud->fail(operation::create_resource, failure(GetParam().code));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(w.waldur.state_of(order), "executing");
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_EQ(called(operation::delete_resource), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    codes,
    keeps_executing,
    ::testing::Values(
        keeps_executing_case{"transient", error_code::transient},
        keeps_executing_case{"outcome_unknown", error_code::outcome_unknown},
        keeps_executing_case{"not_ready", error_code::not_ready},
        keeps_executing_case{"plugin_bug", error_code::plugin_bug},
        keeps_executing_case{"plugin_lost", error_code::plugin_lost},
        keeps_executing_case{"cancelled", error_code::cancelled},
        keeps_executing_case{"not_found", error_code::not_found},
        keeps_executing_case{"auth", error_code::auth},
        keeps_executing_case{"unnamed_transient", static_cast<error_code>(177)},
        keeps_executing_case{"unnamed_broken", static_cast<error_code>(977)}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(order_create, a_machine_without_an_id_is_a_plugin_fault_and_never_done) {
  w.cloud->on(operation::create_resource, [](const auto&, const auto&) {
    return fake_cloud::emitted(std::vector{json::object({{"backend_id", "  "}})});
  });
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_create, a_record_that_fails_is_repeated_alone) {
  w.waldur.fail("set_backend_id", http_failure(503), 3);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(w.waldur.calls("set_backend_id"), 3U);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 1U);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_create, is_not_done_when_the_record_is_refused) {
  w.waldur.always_fail("set_backend_id", http_failure(403));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(w.waldur.state_of(order), "executing");
  EXPECT_THAT(w.waldur.writes("set_done"), IsEmpty());
}

TEST_F(order_create, bookkeeping_that_fails_never_errs_the_order) {
  w.waldur.add_order(order, "Create", "executing").limits = {{"cpu", "2"}};
  for (const char* call : {"set_limits", "set_backend_metadata", "set_endpoints"}) {
    w.waldur.always_fail(call, http_failure(400));
  }
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_create, a_report_that_fails_is_repeated_without_creating_again) {
  w.waldur.fail("set_done", http_failure(503), 3);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 1U);
  EXPECT_EQ(w.waldur.calls("set_backend_metadata"), 1U);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_create, after_a_restart_only_the_end_is_repeated) {
  w.waldur.fail("set_done", http_failure(503), 3);
  look();
  restart();
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 1U);
  EXPECT_EQ(called(operation::pull_resources), 1U);
  EXPECT_EQ(w.waldur.writes("set_backend_metadata").size(), 1U);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_create, adoption_catches_up_with_metadata_and_limits) {
  w.waldur.add_order(order, "Create", "executing").limits = {{"cpu", "2"}};
  recorded();
  w.cloud->put_machine(resource);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.writes("set_limits").size(), 1U);
  EXPECT_EQ(w.waldur.writes("set_backend_metadata").size(), 1U);
  EXPECT_EQ(called(operation::create_resource), 0U);
}

TEST_F(order_create, an_unreadable_cloud_on_reentry_changes_nothing) {
  recorded();
  for (const error_code code :
       {error_code::throttled,
        error_code::transient,
        error_code::deadline,
        error_code::not_found,
        error_code::permanent}) {
    w.cloud->fail(operation::pull_resources, failure(code));
    EXPECT_EQ(look(), order_step::waiting);
  }
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_EQ(w.cloud->calls().size(), 5U); // reads only
}

TEST_F(order_create, unknown_is_not_absent) {
  recorded();
  presences({"unknown", "absent", "unknown"});
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_create, silence_about_the_machine_is_not_absence) {
  recorded();
  w.cloud->on(operation::pull_resources, [](const auto&, const auto&) {
    return fake_cloud::emitted(std::vector<json>{});
  });
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_create, absence_must_be_seen_twice) {
  recorded();
  presences({"absent", "present"});
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_create, a_recorded_machine_proven_absent_is_not_created_again) {
  recorded();
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
  EXPECT_EQ(called(operation::pull_resources), 2U);
  EXPECT_EQ(called(operation::create_resource), 0U);
  EXPECT_EQ(called(operation::delete_resource), 0U);
}

TEST_F(order_create, the_call_gets_what_is_left_of_the_orders_time) {
  w.cloud->fail(operation::create_resource, failure(error_code::transient));
  look();
  w.clock.advance(std::chrono::minutes(20));
  look();
  const auto calls = w.cloud->calls(operation::create_resource);
  EXPECT_EQ(calls.at(0).deadline, std::chrono::minutes(45));
  EXPECT_LE(calls.at(1).deadline, std::chrono::minutes(25));
}

TEST_F(order_create, an_unreadable_plan_does_not_stop_an_order_that_does_not_turn_on_it) {
  w.waldur.add_order(order, "Create", "executing").plan = uuid_of(400);
  w.waldur.fail("get_plan", http_failure(503));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(look(), order_step::finished); // 404 now
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_create, an_order_waldur_still_shows_executing_after_done_is_only_remarked) {
  w.waldur.before("get_order_state", [this, n = 0]() mutable {
    if (++n > 2) {
      w.waldur.set_order_state(order, "executing");
    }
  });
  EXPECT_EQ(look(), order_step::finished);
}

} // namespace

} // namespace siteagent::agent::test
