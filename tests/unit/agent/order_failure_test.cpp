// SPDX-License-Identifier: MIT
// Create orders that fail, are cancelled, run out of time or meet refused credentials.
#include "order_fixture.hpp"

#include "core/observe/log.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class order_failure : public order_fixture {
protected:
  order_failure() { given("Create", "executing"); }

  static base::error no_room() {
    base::error e = failure(error_code::quota, "subscription 1111 has no cores left");
    e.public_message = "The provider has no room for this size";
    return e;
  }

  // create_resource that reaches a checkpoint after `hook`, and obeys it.
  void create_with_checkpoint(std::function<void()> hook) {
    w.cloud->on(
        operation::create_resource,
        [this, hook = std::move(hook)](const auto& request, const host::call_options& options) {
          w.cloud->put_machine(resource);
          hook();
          const base::result<void> go = options.checkpoint(
              json::object({{"phase", "after"}, {"verb", "put"}, {"kind", "machine"}, {"id", "x"}})
          );
          if (!go) {
            return fake_cloud::emitted(go.error());
          }
          return fake_cloud::emitted(std::vector{
              json::object({{"backend_id", "/vm/" + request.idempotency_key}})});
        }
    );
  }
};

TEST_F(order_failure, is_cleaned_up_and_then_erred_with_words_for_the_customer) {
  w.cloud->fail(operation::create_resource, no_room());
  EXPECT_EQ(look(), order_step::finished);
  const auto deletions = w.cloud->calls(operation::delete_resource);
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].request.target, "");
  EXPECT_EQ(deletions[0].request.idempotency_key, resource_hex());
  EXPECT_TRUE(deletions[0].request.body["keep_working_machine"].boolean().value_or(false));
  EXPECT_EQ(w.waldur.state_of(order), "erred");
  EXPECT_THAT(w.waldur.erred_texts.at(0), HasSubstr("The provider has no room for this size"));
  EXPECT_THAT(w.waldur.erred_texts.at(0), HasSubstr("(reference "));
  EXPECT_THAT(w.waldur.erred_texts.at(0), Not(HasSubstr("1111")));
}

TEST_F(order_failure, the_reference_in_the_text_is_in_the_log_too) {
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  w.cloud->fail(operation::create_resource, no_room());
  look();
  observe::capture_logs_for_test(nullptr);
  const std::string& text = w.waldur.erred_texts.at(0);
  const std::string reference = text.substr(text.find("(reference ") + 11, 32);
  EXPECT_THAT(
      lines, ::testing::Contains(::testing::AllOf(HasSubstr(reference), HasSubstr("cores left")))
  );
}

TEST_F(order_failure, is_not_erred_before_the_clean_up_is_over) {
  w.cloud->fail(operation::create_resource, no_room());
  w.cloud->fail(operation::delete_resource, failure(error_code::transient), 2);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(w.waldur.state_of(order), "executing");
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 1U);
  EXPECT_THAT(w.waldur.erred_texts.at(0), HasSubstr("no room"));
}

TEST_F(order_failure, a_clean_up_that_finds_nothing_is_over) {
  w.cloud->fail(operation::create_resource, no_room());
  w.cloud->fail(operation::delete_resource, failure(error_code::not_found));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

TEST_F(order_failure, a_machine_that_works_after_all_is_adopted) {
  w.cloud->put_machine(resource);
  w.cloud->fail(operation::create_resource, no_room());
  w.cloud->fail(operation::delete_resource, failure(error_code::conflict, "machine works"));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(w.waldur.state_of(order), "executing");
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
  EXPECT_TRUE(w.cloud->has_machine(resource));
}

TEST_F(order_failure, a_clean_up_without_end_is_given_up_and_named_to_the_operator) {
  std::vector<std::string> lines;
  w.cloud->fail(operation::create_resource, no_room());
  base::error locked = failure(error_code::forbidden, "a lock forbids it");
  locked.detail = R"({"not_removed":["disk-7"]})";
  w.cloud->fail(operation::delete_resource, locked, 2);
  EXPECT_EQ(look(), order_step::waiting);
  w.clock.advance(std::chrono::minutes(121));
  observe::capture_logs_for_test(&lines);
  EXPECT_EQ(look(), order_step::finished);
  observe::capture_logs_for_test(nullptr);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("disk-7")));
  EXPECT_THAT(w.waldur.erred_texts.at(0), Not(HasSubstr("disk-7")));
}

TEST_F(order_failure, no_clean_up_touches_a_machine_another_agent_recorded) {
  w.cloud->on(operation::create_resource, [this](const auto&, const auto&) {
    w.waldur.add_resource(resource).backend_id = "/vm/other-agent";
    w.cloud->put_machine(resource);
    return fake_cloud::emitted(no_room());
  });
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(called(operation::delete_resource), 0U);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_failure, an_order_over_its_time_is_cleaned_up_and_erred) {
  w.cloud->fail(operation::create_resource, failure(error_code::transient, "still creating"), 2);
  EXPECT_EQ(look(), order_step::waiting);
  w.clock.advance(std::chrono::minutes(44));
  EXPECT_EQ(look(), order_step::waiting);
  w.clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 2U);
  EXPECT_EQ(called(operation::delete_resource), 1U);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
  EXPECT_THAT(w.waldur.erred_texts.at(0), HasSubstr("in time"));
}

TEST_F(order_failure, a_call_that_uses_up_the_orders_time_ends_it) {
  w.cloud->on(operation::create_resource, [this](const auto&, const host::call_options& options) {
    w.clock.advance(options.deadline);
    return fake_cloud::emitted(failure(error_code::deadline));
  });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

TEST_F(order_failure, a_verdict_waldur_does_not_take_is_kept) {
  w.cloud->fail(operation::create_resource, no_room());
  w.waldur.fail("set_erred", http_failure(503), 3);
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::create_resource), 1U);
  EXPECT_EQ(called(operation::delete_resource), 1U);
  EXPECT_EQ(w.waldur.state_of(order), "erred");
}

TEST_F(order_failure, an_order_cancelled_during_the_create_leaves_nothing) {
  create_with_checkpoint([this] {
    w.clock.advance(std::chrono::seconds(6));
    w.waldur.set_order_state(order, "canceled");
  });
  EXPECT_EQ(look(), order_step::finished);
  const auto deletions = w.cloud->calls(operation::delete_resource);
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].request.target, "");
  EXPECT_EQ(deletions[0].request.body.find("keep_working_machine"), nullptr);
  EXPECT_FALSE(w.cloud->has_machine(resource));
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_failure, an_order_done_by_somebody_else_keeps_its_machine) {
  create_with_checkpoint([this] {
    w.clock.advance(std::chrono::seconds(6));
    w.waldur.set_order_state(order, "done");
  });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::delete_resource), 0U);
  EXPECT_TRUE(w.cloud->has_machine(resource));
}

TEST_F(order_failure, the_order_is_read_at_most_every_five_seconds_during_a_create) {
  w.cloud->on(operation::create_resource, [this](const auto&, const host::call_options& options) {
    for (int i = 0; i < 20; ++i) {
      w.clock.advance(std::chrono::seconds(1));
      EXPECT_TRUE(options.checkpoint(json::object({{"phase", "poll"}})));
    }
    return fake_cloud::emitted(failure(error_code::transient));
  });
  look();
  EXPECT_EQ(w.waldur.calls("get_order_state"), 4U);
}

TEST_F(order_failure, every_cloud_write_leaves_one_line_with_order_and_request_id) {
  std::vector<std::string> lines;
  w.cloud->on(operation::create_resource, [](const auto&, const host::call_options& options) {
    json what = json::object({{"verb", "put"}, {"kind", "machine"}, {"id", "m1"}});
    what.set("request_id", "req-1");
    for (const char* phase : {"before", "after", "poll"}) {
      what.set("phase", phase);
      EXPECT_TRUE(options.checkpoint(what));
    }
    return fake_cloud::emitted(failure(error_code::transient));
  });
  observe::capture_logs_for_test(&lines);
  look();
  observe::capture_logs_for_test(nullptr);
  std::erase_if(lines, [](const std::string& l) { return l.find("cloud write") == l.npos; });
  ASSERT_EQ(lines.size(), 1U);
  for (const std::string& part : {order_hex(), resource_hex(), std::string("req-1")}) {
    EXPECT_THAT(lines[0], HasSubstr(part));
  }
}

TEST_F(order_failure, an_unreadable_order_does_not_stop_a_create) {
  create_with_checkpoint([this] { w.clock.advance(std::chrono::seconds(6)); });
  w.waldur.fail("get_order_state", http_failure(503));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_failure, an_order_cancelled_behind_the_last_checkpoint_leaves_nothing) {
  create_with_checkpoint([] {});
  w.waldur.before("get_order_state", [this] { w.waldur.set_order_state(order, "canceled"); });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_FALSE(w.cloud->has_machine(resource));
}

TEST_F(order_failure, an_order_cancelled_while_its_machine_was_recorded_leaves_nothing) {
  w.waldur.before("set_backend_id", [this] { w.waldur.set_order_state(order, "canceled"); });
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_THAT(w.waldur.writes("set_done"), IsEmpty());
  EXPECT_FALSE(w.cloud->has_machine(resource));
}

TEST_F(order_failure, a_stopping_agent_leaves_everything_for_the_next_start) {
  create_with_checkpoint([this] { w.stop.request_stop(); });
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_EQ(called(operation::delete_resource), 0U);
  EXPECT_TRUE(w.cloud->has_machine(resource));
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(order_failure, refused_credentials_hold_every_order_and_err_none) {
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  w.waldur.add_order(2, "Create", "executing");
  w.waldur.add_resource(1002);
  w.cloud->fail(operation::create_resource, failure(error_code::auth, "secret expired"), 1);
  EXPECT_EQ(look(1), order_step::waiting);
  EXPECT_EQ(look(2), order_step::waiting);
  observe::capture_logs_for_test(nullptr);
  EXPECT_EQ(called(operation::create_resource), 1U);
  EXPECT_TRUE(w.offering->breaker().is_open());
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("every order of this offering waits")));
  EXPECT_THAT(w.waldur.writes(), IsEmpty());

  EXPECT_FALSE(w.offering->admit(*w.cloud)); // too early for a probe
  EXPECT_EQ(called(operation::ping), 0U);
  w.clock.advance(std::chrono::minutes(2));
  EXPECT_TRUE(w.offering->admit(*w.cloud));
  EXPECT_EQ(look(2), order_step::finished);
}

TEST_F(order_failure, time_spent_waiting_for_credentials_is_not_the_orders) {
  w.cloud->fail(operation::create_resource, failure(error_code::auth));
  look();
  w.clock.advance(std::chrono::hours(3));
  ASSERT_TRUE(w.offering->admit(*w.cloud));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(order_failure, waldurs_own_401_does_not_open_the_clouds_circuit) {
  w.waldur.fail("get_resource", http_failure(401));
  EXPECT_EQ(look(), order_step::waiting);
  EXPECT_FALSE(w.offering->breaker().is_open());
}

} // namespace

} // namespace siteagent::agent::test
