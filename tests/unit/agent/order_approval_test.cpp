// SPDX-License-Identifier: MIT
// From pending-provider to executing: evaluation, approval, rejection.
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

class order_approval : public order_fixture {
protected:
  order_approval() { given("Create", "pending-provider"); }

  void decide(const json& answer) {
    w.cloud->on(operation::evaluate_order, [answer](const auto&, const auto&) {
      return fake_cloud::emitted(std::vector{answer});
    });
  }
};

TEST_F(order_approval, evaluates_before_it_approves_and_then_carries_out) {
  w.waldur.before("approve", [this] { EXPECT_EQ(called(operation::evaluate_order), 1U); });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
  EXPECT_EQ(w.waldur.writes().front(), "approve " + order_hex());
}

TEST_F(order_approval, rejects_with_the_plugins_reason_word_for_word) {
  decide(json::object({{"decision", "reject"}, {"reason", "Order carries no SSH key"}}));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_THAT(
      w.waldur.writes(), ElementsAre("reject " + order_hex() + " Order carries no SSH key")
  );
  EXPECT_EQ(called(operation::create_resource), 0U);
}

TEST_F(order_approval, lets_an_order_wait_when_the_plugin_says_so) {
  decide(json::object({{"decision", "wait"}, {"reason", "later"}}));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_approval, leaves_an_order_alone_when_the_plugin_decides_nothing) {
  decide(json::object());
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

struct before_approval_case {
  const char* name;
  error_code code;
  bool rejected;
};

class before_approval : public order_approval,
                        public ::testing::WithParamInterface<before_approval_case> {};

TEST_P(before_approval, a_failed_evaluation_decides_by_its_class) {
  base::error e = failure(GetParam().code);
  e.public_message = "not like this";
  w.cloud->fail(operation::evaluate_order, e);
  EXPECT_EQ(look(), GetParam().rejected ? order_step::finished : order_step::waiting);
  EXPECT_EQ(w.waldur.state_of(order), GetParam().rejected ? "rejected" : "pending-provider");
  EXPECT_EQ(called(operation::create_resource), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    classes,
    before_approval,
    ::testing::Values(
        before_approval_case{"transient", error_code::transient, false},
        before_approval_case{"throttled", error_code::throttled, false},
        before_approval_case{"unknown", error_code::outcome_unknown, false},
        before_approval_case{"auth", error_code::auth, false},
        before_approval_case{"plugin_bug", error_code::plugin_bug, false},
        before_approval_case{"not_found", error_code::not_found, false},
        before_approval_case{"invalid", error_code::invalid, true},
        before_approval_case{"forbidden", error_code::forbidden, true},
        before_approval_case{"quota", error_code::quota, true}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(order_approval, a_refusal_without_words_is_rejected_with_a_stock_text) {
  w.cloud->fail(operation::evaluate_order, failure(error_code::invalid, "tenant 1234 said no"));
  look();
  ASSERT_EQ(w.waldur.writes("reject").size(), 1U);
  EXPECT_THAT(w.waldur.writes()[0], HasSubstr("please contact the service provider"));
  EXPECT_THAT(w.waldur.writes()[0], ::testing::Not(HasSubstr("1234")));
}

struct after_approval_case {
  const char* name;
  const char* state;
  order_step step;
};

class after_approval : public order_approval,
                       public ::testing::WithParamInterface<after_approval_case> {};

TEST_P(after_approval, only_an_executing_order_reaches_the_cloud) {
  w.waldur.state_after_approval = GetParam().state;
  EXPECT_EQ(look(), GetParam().step);
  EXPECT_EQ(called(operation::create_resource), 0U);
  EXPECT_EQ(w.waldur.state_of(order), GetParam().state);
}

INSTANTIATE_TEST_SUITE_P(
    states,
    after_approval,
    ::testing::Values(
        after_approval_case{"start_date", "pending-start-date", order_step::finished},
        after_approval_case{"project", "pending-project", order_step::finished},
        after_approval_case{"new_state", "pending-moon", order_step::finished},
        after_approval_case{"unchanged", "pending-provider", order_step::waiting}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(order_approval, goes_on_when_somebody_else_approved_meanwhile) {
  w.waldur.before("approve", [this] { w.waldur.set_order_state(order, "executing"); });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_approval, stops_when_somebody_else_cancelled_meanwhile) {
  w.waldur.before("approve", [this] { w.waldur.set_order_state(order, "canceled"); });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 0U);
}

TEST_F(order_approval, looks_at_the_order_when_the_approval_may_have_happened) {
  w.waldur.before("approve", [this] { w.waldur.set_order_state(order, "executing"); });
  w.waldur.fail("approve", failure(error_code::outcome_unknown));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_approval, waits_when_waldur_does_not_take_the_approval) {
  for (const int status : {503, 429, 403, 400}) {
    w.waldur.fail("approve", http_failure(status));
    EXPECT_EQ(look(), order_step::waiting) << status;
    EXPECT_EQ(w.waldur.state_of(order), "pending-provider") << status;
  }
  EXPECT_EQ(called(operation::create_resource), 0U);
}

TEST_F(order_approval, a_rejection_that_came_too_late_is_no_error) {
  decide(json::object({{"decision", "reject"}, {"reason", "no"}}));
  w.waldur.before("reject", [this] { w.waldur.set_order_state(order, "canceled"); });
  EXPECT_EQ(look(), order_step::finished);
}

TEST_F(order_approval, nothing_is_approved_while_the_agent_stops) {
  w.cloud->on(operation::evaluate_order, [this](const auto&, const auto&) {
    w.stop.request_stop();
    return fake_cloud::emitted(std::vector{json::object({{"decision", "accept"}})});
  });
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_approval, unreadable_waldur_leaves_everything_untouched) {
  for (const char* call : {"get_order", "get_resource"}) {
    const waldur::order listed = *w.waldur.get_order(uuid_of(order));
    w.waldur.always_fail(call, http_failure(503));
    EXPECT_EQ(machine->process(listed, inputs), order_step::waiting) << call;
    w.waldur.heal(call);
  }
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST_F(order_approval, the_request_carries_what_the_plugin_needs) {
  inputs.ssh_keys->emplace("00000000000000000000000000000501", "ssh-ed25519 AAAA");
  look();
  const json body = w.cloud->calls(operation::create_resource).at(0).request.body;
  EXPECT_EQ(body.at({"order", "uuid"}).string_or(""), order_hex());
  EXPECT_EQ(body.at({"resource", "uuid"}).string_or(""), resource_hex());
  EXPECT_EQ(body.at({"tags", "managed-by"}).string_or(""), "waldur-site-agent");
  EXPECT_EQ(body.at({"tags", "waldur-resource-uuid"}).string_or(""), resource_hex());
  EXPECT_EQ(body.at({"tags", "waldur-offering-uuid"}).string_or(""), uuid_of(77).hex());
  EXPECT_EQ(body.at({"tags", "waldur-project-slug"}).string_or(""), "project-1");
  EXPECT_EQ(body["uuid_tag"].string_or(""), "waldur-resource-uuid");
  EXPECT_EQ(body["ssh_keys"].size(), 1U);
  EXPECT_EQ(body["components"].size(), 2U);
  EXPECT_EQ(
      w.cloud->calls(operation::create_resource).at(0).request.idempotency_key, resource_hex()
  );
}

TEST_F(order_approval, unreadable_keys_are_left_out_instead_of_being_none) {
  inputs.ssh_keys.reset();
  look();
  EXPECT_EQ(w.cloud->calls(operation::evaluate_order).at(0).request.body.find("ssh_keys"), nullptr);
}

TEST_F(order_approval, an_order_without_a_resource_waits) {
  w.waldur.add_order(order, "Create", "pending-provider").resource.reset();
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST_F(order_approval, an_unknown_type_stays_and_reaches_no_provider_operation) {
  w.waldur.add_order(order, "Teleport", "executing");
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_approval, closed_orders_need_nothing) {
  for (const char* state : {"done", "erred", "canceled", "rejected", "pending-consumer", "new"}) {
    w.waldur.set_order_state(order, state);
    EXPECT_EQ(look(), order_step::finished) << state;
  }
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

} // namespace

} // namespace siteagent::agent::test
