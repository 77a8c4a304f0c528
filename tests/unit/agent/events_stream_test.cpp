// SPDX-License-Identifier: MIT
// The connection to the event queue: registration, reconnection, generations, health.
#include "events_world.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Keeps what it is given until told to let go.
class keeping_sink final : public event_sink {
public:
  void take(event_message message, std::shared_ptr<void> ticket) override {
    types.push_back(message.object_type);
    if (keeps) {
      tickets.push_back(std::move(ticket));
    }
  }

  std::vector<std::string> types;
  std::vector<std::shared_ptr<void>> tickets;
  bool keeps = true;
};

class events_stream : public ::testing::Test {
protected:
  events_stream() {
    options.types = types_for({.orders = true, .membership = true});
    options.jitter = [this] { return jitter; };
  }

  event_stream& stream() {
    if (!stream_) {
      stream_ = std::make_unique<event_stream>(
          *w.offering, events, broker.opener(), sink, ledger, w.env, options
      );
    }
    return *stream_;
  }

  void turns(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      stream().turn();
    }
  }

  // One turn just before the pause is over does nothing; one at its end tries.
  void expect_next_attempt_after(milliseconds pause, const std::function<unsigned()>& attempts) {
    const unsigned before = attempts();
    w.clock.advance(pause - milliseconds(1));
    stream().turn();
    EXPECT_EQ(attempts(), before) << pause.count() << " ms";
    w.clock.advance(milliseconds(1));
    stream().turn();
    EXPECT_EQ(attempts(), before + 1) << pause.count() << " ms";
  }

  world w;
  fake_event_portal events{w.waldur};
  fake_broker broker;
  keeping_sink sink;
  event_ledger ledger{"Machines", w.clock};
  stream_options options;
  double jitter = 0;

private:
  std::unique_ptr<event_stream> stream_;
};

TEST_F(events_stream, registers_one_queue_for_all_types_then_subscribes_with_acknowledgement) {
  stream().turn();
  EXPECT_THAT(
      events.calls(),
      ElementsAre("register_queue order,user_role,resource,resource_api_key_rotation,"
                  "service_account,course_account,offering_user,offering_resources_sync")
  );
  EXPECT_EQ(broker.last().queue.login, "reader");
  EXPECT_EQ(broker.last().subscribed, "consumer_1");
  EXPECT_EQ(broker.last().prefetch, event_stream::prefetch);
  const event_snapshot seen = ledger.snapshot(0);
  EXPECT_TRUE(seen.is_connected);
  EXPECT_EQ(seen.protocol, "unified");
  EXPECT_EQ(stream().gaps(), 0U) << "nothing was missed: the queue came before the first pass";
}

struct type_case {
  wanted_roles roles;
  std::vector<std::string> types;
};

TEST(events_types, are_those_of_the_roles) {
  const std::vector<type_case> cases = {
      {{}, {}},
      {{.orders = true}, {"order", "resource_api_key_rotation", "offering_resources_sync"}},
      {{.membership = true},
       {"user_role",
        "resource",
        "service_account",
        "course_account",
        "offering_user",
        "offering_resources_sync"}},
      {{.orders = true, .imports = true, .periodic_limits = true},
       {"order",
        "resource_api_key_rotation",
        "offering_resources_sync",
        "importable_resources",
        "resource_periodic_limits"}},
  };
  for (const type_case& c : cases) {
    EXPECT_EQ(types_for(c.roles).all(), c.types);
  }
}

TEST_F(events_stream, a_message_is_acknowledged_when_it_is_handled) {
  stream().turn();
  const std::string first = broker.deliver(order_message(1, "executing"));
  const std::string second = broker.deliver(order_message(2, "executing"));
  stream().turn();
  EXPECT_THAT(broker.acknowledged(), IsEmpty());
  EXPECT_EQ(stream().behind(), 2U);
  sink.tickets[1].reset();
  EXPECT_THAT(broker.acknowledged(), ElementsAre(second));
  sink.tickets[0].reset();
  EXPECT_THAT(broker.acknowledged(), ElementsAre(second, first));
  EXPECT_EQ(stream().behind(), 0U);
}

TEST_F(events_stream, a_message_in_hand_for_long_is_acknowledged_before_the_broker_loses_patience) {
  stream().turn();
  const std::string id = broker.deliver(order_message(1, "executing"));
  stream().turn();
  w.clock.advance(seconds(119));
  stream().turn();
  EXPECT_THAT(broker.acknowledged(), IsEmpty());
  w.clock.advance(seconds(1));
  stream().turn();
  EXPECT_THAT(broker.acknowledged(), ElementsAre(id));
  EXPECT_EQ(stream().behind(), 1U) << "still in hand";
  sink.tickets.clear();
  EXPECT_THAT(broker.acknowledged(), ElementsAre(id)) << "once is enough";
}

TEST_F(events_stream, what_an_old_connection_brought_is_never_acknowledged_on_a_new_one) {
  stream().turn();
  broker.deliver(order_message(1, "executing"));
  stream().turn();
  broker.end(failure(error_code::transient, "gone"));
  stream().turn();
  w.clock.advance(seconds(1));
  stream().turn();
  ASSERT_EQ(broker.connections(), 2U);
  sink.tickets.clear();
  EXPECT_THAT(broker.acknowledged(0), IsEmpty());
  EXPECT_THAT(broker.acknowledged(1), IsEmpty());
}

TEST_F(events_stream, what_came_before_the_end_and_was_not_looked_at_is_left_to_redelivery) {
  stream().turn();
  broker.deliver(order_message(1, "executing"));
  broker.end(failure(error_code::transient));
  stream().turn();
  EXPECT_THAT(sink.types, IsEmpty());
}

TEST_F(events_stream, a_late_message_of_an_old_connection_is_dropped) {
  stream().turn();
  const net::stomp_message_handler old = broker.last().on_message;
  broker.end(failure(error_code::transient));
  stream().turn();
  w.clock.advance(seconds(1));
  stream().turn();
  net::stomp_message late;
  late.body = order_message(1, "executing").dump();
  old(late);
  stream().turn();
  EXPECT_THAT(sink.types, IsEmpty());
}

TEST_F(events_stream, nothing_is_acknowledged_once_the_process_is_asked_to_stop) {
  stream().turn();
  broker.deliver(order_message(1, "executing"));
  stream().turn();
  w.stop.request_stop();
  sink.tickets.clear();
  EXPECT_THAT(broker.acknowledged(), IsEmpty());
}

TEST_F(events_stream, connecting_is_tried_again_after_a_pause_that_doubles_to_two_minutes) {
  broker.refuse(failure(error_code::transient), 100);
  stream().turn();
  for (const int pause : {1, 2, 4, 8, 16, 32, 64, 120, 120}) {
    expect_next_attempt_after(seconds(pause), [&] { return broker.attempts; });
  }
  EXPECT_EQ(events.count("register"), 1U) << "a broker that is down is no reason to register";
}

TEST_F(events_stream, pauses_grow_by_up_to_a_quarter) {
  jitter = 0.999;
  broker.refuse(failure(error_code::transient), 1);
  stream().turn();
  expect_next_attempt_after(milliseconds(1249), [&] { return broker.attempts; });
}

TEST_F(events_stream, a_broker_that_accepts_and_drops_is_not_hammered) {
  stream().turn();
  for (const int pause : {1, 2, 4, 8}) {
    broker.end(failure(error_code::transient));
    stream().turn();
    expect_next_attempt_after(seconds(pause), [&] { return broker.attempts; });
  }
}

TEST_F(events_stream, after_a_good_connection_the_pauses_begin_anew) {
  broker.refuse(failure(error_code::transient), 3);
  stream().turn();
  for (const int pause : {1, 2, 4}) {
    w.clock.advance(seconds(pause));
    stream().turn();
  }
  ASSERT_EQ(broker.connections(), 1U);
  w.clock.advance(minutes(1));
  broker.end(failure(error_code::transient));
  stream().turn();
  expect_next_attempt_after(seconds(1), [&] { return broker.attempts; });
}

TEST_F(events_stream, a_reconnection_is_a_gap) {
  stream().turn();
  broker.end(failure(error_code::transient));
  stream().turn();
  w.clock.advance(seconds(1));
  stream().turn();
  EXPECT_EQ(stream().gaps(), 1U);
  EXPECT_EQ(ledger.snapshot(0).reconnects, 1U);
}

TEST_F(events_stream, a_session_that_is_closed_and_says_nothing_is_replaced) {
  stream().turn();
  broker.vanish();
  turns(2);
  w.clock.advance(seconds(1));
  stream().turn();
  EXPECT_EQ(broker.connections(), 2U);
}

TEST_F(events_stream, a_missing_queue_and_a_refused_login_lead_to_a_new_registration) {
  for (const error_code code : {error_code::not_found, error_code::auth}) {
    stream().turn();
    const unsigned before = events.count("register_queue");
    events.login = "reader-" + std::to_string(before);
    w.clock.advance(minutes(5));
    broker.end(failure(code));
    stream().turn();
    expect_next_attempt_after(seconds(1), [&] { return events.count("register_queue"); });
    EXPECT_EQ(broker.last().queue.login, events.login) << "the new registration's";
    EXPECT_EQ(broker.last().subscribed, "consumer_1");
  }
}

TEST_F(events_stream, a_login_that_stays_refused_registers_at_the_pace_of_connecting) {
  broker.refuse(failure(error_code::auth), 100);
  stream().turn();
  for (const int pause : {1, 2, 4, 8, 16, 32, 64, 120, 120}) {
    expect_next_attempt_after(seconds(pause), [&] { return events.count("register_queue"); });
  }
}

TEST_F(events_stream, waldur_being_down_is_met_by_short_pauses) {
  events.fail("register_queue", http_failure(503), 3);
  stream().turn();
  for (const int pause : {1, 2, 4}) {
    expect_next_attempt_after(seconds(pause), [&] { return events.count("register_queue"); });
  }
  EXPECT_EQ(broker.connections(), 1U);
  EXPECT_EQ(stream().gaps(), 1U) << "what came before the queue is known to nobody";
}

TEST_F(events_stream, a_refusal_by_waldur_is_told_once_and_asked_about_slowly) {
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  events.fail("register_queue", http_failure(409, "owned by another user"), 100);
  stream().turn();
  for (const int pause : {1, 2, 4, 8, 15, 15}) {
    expect_next_attempt_after(minutes(pause), [&] { return events.count("register_queue"); });
  }
  observe::capture_logs_for_test(nullptr);
  ASSERT_THAT(lines, ::testing::SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("belongs to another user"));
  EXPECT_THAT(lines[0], HasSubstr("\"error\""));
  EXPECT_EQ(broker.attempts, 0U);
}

TEST_F(events_stream, waldur_may_ask_for_a_longer_pause) {
  base::error e = http_failure(429);
  e.retry_after = minutes(3);
  events.fail("register_queue", e);
  stream().turn();
  expect_next_attempt_after(minutes(3), [&] { return events.count("register_queue"); });
}

TEST_F(events_stream, a_server_that_does_not_know_a_type_is_asked_for_the_essential_ones) {
  events.fail("register_queue", http_failure(400));
  stream().turn();
  EXPECT_EQ(events.calls().back(), "register_queue order,user_role,resource");
  EXPECT_EQ(broker.connections(), 1U);
}

class events_stream_legacy : public events_stream, public ::testing::WithParamInterface<int> {};

TEST_P(events_stream_legacy, an_older_server_gets_a_queue_and_a_connection_per_type) {
  options.types = types_for({.orders = true});
  events.fail("register_queue", http_failure(GetParam()), 100);
  events.fail("register_legacy_queue", http_failure(400)); // the first is essential
  stream().turn();
  EXPECT_EQ(broker.attempts, 0U);
  w.clock.advance(minutes(1));
  stream().turn();
  EXPECT_THAT(
      events.calls("register_legacy_queue"),
      ElementsAre(
          "register_legacy_queue order",
          "register_legacy_queue order",
          "register_legacy_queue resource_api_key_rotation",
          "register_legacy_queue offering_resources_sync"
      )
  );
  EXPECT_EQ(broker.connections(), 3U);
  EXPECT_EQ(broker.last().subscribed, "queue_offering_resources_sync");
  EXPECT_EQ(broker.last().prefetch, 0U) << "acknowledged by the broker itself";
  EXPECT_EQ(ledger.snapshot(0).protocol, "legacy");
  // The type is the queue's; there is nothing to acknowledge, and nothing comes twice.
  broker.deliver(json::object({{"offering_uuid", w.offering->config().uuid.hex()}}));
  broker.end(failure(error_code::transient));
  stream().turn();
  EXPECT_THAT(sink.types, ElementsAre("offering_resources_sync"));
  sink.tickets.clear();
  EXPECT_THAT(broker.acknowledged(), IsEmpty());
  w.clock.advance(seconds(1));
  stream().turn();
  EXPECT_EQ(broker.connections(), 4U) << "only the one that was lost";
  EXPECT_EQ(broker.last().subscribed, "queue_offering_resources_sync");
}

INSTANTIATE_TEST_SUITE_P(statuses, events_stream_legacy, ::testing::Values(404, 405));

TEST_F(events_stream_legacy, types_an_older_server_does_not_know_are_left_out) {
  options.types = types_for({.orders = true});
  options.types.essential.clear();
  events.fail("register_queue", http_failure(404), 100);
  events.fail("register_legacy_queue", http_failure(400));
  stream().turn();
  EXPECT_EQ(broker.connections(), 1U);
  EXPECT_EQ(broker.last().subscribed, "queue_offering_resources_sync");
}

TEST_F(events_stream, a_server_that_learned_the_unified_queue_gets_it_at_the_next_registration) {
  options.types = types_for({.orders = true});
  events.fail("register_queue", http_failure(404), 1);
  stream().turn();
  ASSERT_EQ(broker.connections(), 3U);
  broker.end(failure(error_code::not_found));
  stream().turn();
  w.clock.advance(seconds(1));
  turns(2);
  EXPECT_EQ(broker.connections(), 4U);
  EXPECT_EQ(broker.last().subscribed, "consumer_1");
  EXPECT_EQ(ledger.snapshot(0).protocol, "unified");
}

TEST_F(events_stream, case_evt_05_a_bad_message_is_acknowledged_counted_told_once_and_dropped) {
  sink.keeps = false;
  std::vector<std::string> lines;
  stream().turn();
  observe::capture_logs_for_test(&lines);
  std::string deep(200, '[');
  deep += std::string(200, ']');
  std::vector<std::string> ids;
  for (const std::string& body :
       {std::string(),
        std::string("[]"),
        std::string("{}"),
        std::string("{\"a\":"),
        std::string("\"secret-word\""),
        deep,
        std::string("{}")}) {
    ids.push_back(broker.deliver_text(body));
  }
  ids.push_back(broker.deliver(order_message(1, "executing")));
  stream().turn();
  observe::capture_logs_for_test(nullptr);
  EXPECT_THAT(sink.types, ElementsAre("order"));
  EXPECT_EQ(broker.acknowledged(), ids);
  EXPECT_EQ(broker.connections(), 1U);
  EXPECT_EQ(ledger.snapshot(0).received, 8U);
  EXPECT_EQ(ledger.snapshot(0).ignored, 7U);
  EXPECT_LE(lines.size(), 7U);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, ::testing::Not(HasSubstr("secret-word")));
  }
}

TEST_F(events_stream, a_connection_that_is_down_for_a_quarter_of_an_hour_withholds_the_heartbeat) {
  broker.refuse(failure(error_code::transient), 1000);
  stream().turn();
  w.clock.advance(minutes(15));
  stream().turn();
  EXPECT_FALSE(w.board.find_stuck());
  w.clock.advance(seconds(1));
  stream().turn();
  ASSERT_TRUE(w.board.find_stuck());
  EXPECT_THAT(*w.board.find_stuck(), HasSubstr("event queue of Machines"));
  EXPECT_FALSE(ledger.snapshot(0).is_connected);
}

TEST_F(events_stream, a_connection_that_comes_back_ends_that) {
  broker.refuse(failure(error_code::transient), 9);
  stream().turn();
  for (unsigned i = 0; i < 30 && broker.connections() == 0; ++i) {
    w.clock.advance(minutes(2));
    stream().turn();
  }
  ASSERT_EQ(broker.connections(), 1U);
  EXPECT_FALSE(w.board.find_stuck());
  w.clock.advance(std::chrono::hours(24));
  stream().turn();
  EXPECT_FALSE(w.board.find_stuck()) << "a quiet queue is a healthy one";
}

TEST_F(events_stream, work_that_goes_on_meanwhile_is_no_sign_of_life_of_the_connection) {
  broker.refuse(failure(error_code::transient), 1000);
  stream().turn();
  w.clock.advance(minutes(14));
  { w.board.begin("an order", minutes(1)).touch(); }
  w.clock.advance(minutes(2));
  EXPECT_TRUE(w.board.find_stuck());
}

TEST_F(events_stream, its_thread_follows_messages_until_it_is_stopped) {
  sink.keeps = false;
  gate delivered;

  class opening_sink final : public event_sink {
  public:
    explicit opening_sink(gate& g) : g_(g) {}

    void take(event_message, std::shared_ptr<void>) override { g_.open(); }

  private:
    gate& g_;
  } opening(delivered);

  event_stream threaded(*w.offering, events, broker.opener(), opening, ledger, w.env, options);
  ASSERT_TRUE(threaded.register_now());
  threaded.start();
  while (broker.connections() == 0) {
    std::this_thread::yield();
  }
  broker.deliver(order_message(1, "executing"));
  EXPECT_TRUE(delivered.pass());
  threaded.stop();
  EXPECT_FALSE(broker.last().is_open);
}

} // namespace

} // namespace siteagent::agent::test
