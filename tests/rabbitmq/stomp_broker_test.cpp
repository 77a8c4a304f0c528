// SPDX-License-Identifier: MIT
// STOMP sessions against a real RabbitMQ.
#include "core/net/stomp.hpp"
#include "tests/rabbitmq/broker.hpp"
#include "tests/unit/net/stomp_recorder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>

namespace siteagent::net {
namespace {

using base::error_code;
using rabbitmq::broker;
using test::stomp_recorder;
using namespace std::chrono_literals;

constexpr std::string_view user = "consumer";
constexpr std::string_view password = "consumer-token";
constexpr std::string_view queue = "consumer_1";

std::vector<std::string> numbers(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(std::to_string(i));
  }
  return out;
}

// A virtual host of its own for every test, as its name says.
class stomp_with_rabbitmq : public testing::Test {
protected:
  void SetUp() override {
    if (const auto why = broker::why_unavailable()) {
      GTEST_SKIP() << *why;
    }
    b = &broker::shared();
    host = testing::UnitTest::GetInstance()->current_test_info()->name();
    prepare();
  }

  void prepare() {
    b->create_virtual_host(host);
    b->create_user(user, password);
    b->permit(user, host);
    b->create_queue(host, queue);
  }

  void TearDown() override {
    if (b != nullptr) {
      b->delete_virtual_host(host);
    }
  }

  stomp_options options(bool use_tls = false) const {
    stomp_options o;
    o.host = "127.0.0.1";
    o.port = use_tls ? b->ports().web_stomp_tls : b->ports().web_stomp;
    o.use_tls = use_tls;
    o.ca_file = use_tls ? b->authority_file() : "";
    o.virtual_host = host;
    o.login = user;
    o.passcode = base::secret(password);
    return o;
  }

  static std::unique_ptr<stomp_session>
  open(const stomp_options& o, stomp_recorder& to, stomp_message_handler on_message = {}) {
    auto made = stomp_session::connect(
        o, on_message ? std::move(on_message) : to.on_message(), to.on_end()
    );
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }

  static base::error refused(const stomp_options& o) {
    stomp_recorder to;
    auto made = stomp_session::connect(o, to.on_message(), to.on_end());
    EXPECT_FALSE(made);
    return made ? base::error{} : made.error();
  }

  // Subscribed, and every message acknowledged as it comes.
  std::unique_ptr<stomp_session> consume(stomp_recorder& to, const stomp_options& o) {
    auto self = std::make_shared<std::atomic<stomp_session*>>(nullptr);
    auto session = open(o, to, [note = to.on_message(), self](stomp_message m) {
      self->load()->acknowledge(m);
      note(std::move(m));
    });
    if (session) {
      *self = session.get();
      session->subscribe(std::string(queue), 1);
    }
    return session;
  }

  broker* b = nullptr;
  std::string host;
};

TEST_F(stomp_with_rabbitmq, brings_messages_plain_and_over_tls) {
  for (const bool use_tls : {false, true}) {
    stomp_recorder to;
    const auto session = consume(to, options(use_tls));
    ASSERT_TRUE(session);
    b->publish(host, queue, R"({"name":"Tõravere 数据"})", {{"x-message-id", "a:b\n\\c"}});
    const auto messages = to.wait_for(1);
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].body, R"({"name":"Tõravere 数据"})");
    EXPECT_EQ(messages[0].headers.at("x-message-id"), "a:b\n\\c");
    EXPECT_EQ(messages[0].headers.at("content-type"), "application/json");
    EXPECT_FALSE(messages[0].is_redelivered);
    EXPECT_TRUE(session->is_open());
  }
}

TEST_F(stomp_with_rabbitmq, refuses_a_wrong_password_and_an_absent_virtual_host_as_login) {
  stomp_options wrong = options();
  wrong.passcode = base::secret("not-the-token");
  EXPECT_EQ(refused(wrong).code, error_code::auth);
  EXPECT_EQ(refused(wrong).message.find("not-the-token"), std::string::npos);
  wrong = options();
  wrong.virtual_host = "absent";
  EXPECT_EQ(refused(wrong).code, error_code::auth);
  wrong = options(true);
  wrong.login = "nobody";
  EXPECT_EQ(refused(wrong).code, error_code::auth);
}

TEST_F(stomp_with_rabbitmq, refuses_a_wrong_path_for_good) {
  stomp_options wrong = options();
  wrong.path = "/ws";
  EXPECT_EQ(refused(wrong).code, error_code::permanent);
}

TEST_F(stomp_with_rabbitmq, logs_in_with_every_password_that_can_be_written) {
  for (const std::string text : {"a:b", "back\\slash", "\\n", "Tõravere", " blank "}) {
    b->change_password(user, text);
    stomp_options o = options();
    o.passcode = base::secret(text);
    stomp_recorder to;
    EXPECT_TRUE(open(o, to)) << text;
  }
}

TEST_F(stomp_with_rabbitmq, keeps_an_open_session_when_the_password_changes_and_refuses_the_next) {
  stomp_recorder to;
  const auto session = consume(to, options());
  ASSERT_TRUE(session);
  b->change_password(user, "rotated");
  b->publish(host, queue, "still");
  EXPECT_EQ(to.bodies(1), std::vector<std::string>{"still"});
  EXPECT_EQ(refused(options()).code, error_code::auth);
}

// Over WebSocket the broker's ERROR frame is lost, it only hangs up.
TEST_F(stomp_with_rabbitmq, says_that_the_queue_is_missing) {
  stomp_recorder to;
  const auto session = open(options(), to);
  ASSERT_TRUE(session);
  session->subscribe("absent", 1);
  const auto reason = to.wait_for_end();
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, error_code::not_found) << reason->message;
  EXPECT_FALSE(b->has_queue(host, "absent")) << "subscribing must not make one";
}

TEST_F(stomp_with_rabbitmq, says_that_the_queue_was_deleted_under_it) {
  stomp_recorder to;
  const auto session = consume(to, options());
  ASSERT_TRUE(session);
  b->publish(host, queue, "1");
  EXPECT_EQ(to.wait_for(1).size(), 1U);
  b->delete_queue(host, queue);
  const auto reason = to.wait_for_end();
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, error_code::not_found) << reason->message;
}

TEST_F(stomp_with_rabbitmq, takes_a_queue_that_may_not_be_read_for_missing) {
  b->permit(user, host, "", "", "^$");
  stomp_recorder to;
  const auto session = consume(to, options());
  ASSERT_TRUE(session);
  const auto reason = to.wait_for_end();
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, error_code::not_found) << reason->message;
}

TEST_F(stomp_with_rabbitmq, finds_queues_whatever_their_name) {
  for (const std::string name : {"a/b", "a b", "a:b", "ä"}) {
    b->create_queue(host, name);
    stomp_recorder to;
    const auto session = open(options(), to);
    ASSERT_TRUE(session);
    session->subscribe(name, 1);
    b->publish(host, name, name);
    EXPECT_EQ(to.bodies(1), std::vector<std::string>{name});
  }
}

TEST_F(stomp_with_rabbitmq, says_that_it_was_thrown_out) {
  stomp_recorder to;
  const auto session = consume(to, options());
  ASSERT_TRUE(session);
  b->publish(host, queue, "1");
  EXPECT_EQ(to.wait_for(1).size(), 1U);
  ASSERT_EQ(b->close_connections(host), 1U);
  const auto reason = to.wait_for_end();
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, error_code::transient) << reason->message;
}

TEST_F(stomp_with_rabbitmq, stays_over_many_heart_beats_both_ways) {
  stomp_options o = options();
  o.heartbeat = 2s;
  stomp_recorder to;
  const auto session = consume(to, o);
  ASSERT_TRUE(session);
  EXPECT_FALSE(to.wait_for_end(9s)) << to.wait_for_end(0ms)->message;
  b->publish(host, queue, "after");
  EXPECT_EQ(to.bodies(1), std::vector<std::string>{"after"});
}

TEST_F(stomp_with_rabbitmq, notices_a_broker_that_is_there_and_silent) {
  stomp_options o = options();
  o.heartbeat = 500ms;
  stomp_recorder to;
  const auto session = consume(to, o);
  ASSERT_TRUE(session);
  b->freeze();
  const auto reason = to.wait_for_end();
  b->thaw();
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, error_code::transient);
  EXPECT_NE(reason->message.find("no heart-beat"), std::string::npos) << reason->message;
}

TEST_F(stomp_with_rabbitmq, brings_unacknowledged_messages_back_to_the_next_session) {
  b->publish_all(host, queue, numbers(3));
  stomp_recorder first;
  {
    const auto session = open(options(), first);
    ASSERT_TRUE(session);
    session->subscribe(std::string(queue), 2);
    const auto messages = first.wait_for(2);
    ASSERT_EQ(messages.size(), 2U);
    session->acknowledge(messages[0]);
  } // acknowledged before the goodbye: it must not come back
  stomp_recorder second;
  const auto session = consume(second, options());
  ASSERT_TRUE(session);
  const auto messages = second.wait_for(2);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].body, "1");
  EXPECT_TRUE(messages[0].is_redelivered);
  EXPECT_EQ(messages[1].body, "2");
  EXPECT_TRUE(b->wait_for_depth(host, queue, {0, 0}));
}

TEST_F(stomp_with_rabbitmq, holds_back_messages_beyond_the_prefetch) {
  b->publish_all(host, queue, numbers(3));
  stomp_recorder to;
  const auto session = open(options(), to);
  ASSERT_TRUE(session);
  session->subscribe(std::string(queue), 1);
  ASSERT_EQ(to.wait_for(1).size(), 1U);
  EXPECT_EQ(to.wait_for(2, 500ms).size(), 1U) << "one at a time";
  session->acknowledge(to.wait_for(1)[0]);
  EXPECT_EQ(to.wait_for(2).size(), 2U);
}

TEST_F(stomp_with_rabbitmq, shares_one_queue_between_two_sessions) {
  stomp_recorder both;
  const auto first = consume(both, options());
  const auto second = consume(both, options());
  ASSERT_TRUE(first && second);
  b->publish_all(host, queue, numbers(200));
  std::set<std::string> bodies;
  std::set<std::string> sessions;
  for (const stomp_message& m : both.wait_for(200)) {
    bodies.insert(m.body);
    sessions.insert(m.ack.substr(0, m.ack.rfind("@@"))); // "T_queue@@session-id@@number"
  }
  EXPECT_EQ(bodies.size(), 200U) << "each message once";
  EXPECT_EQ(both.wait_for(0).size(), 200U);
  EXPECT_EQ(sessions.size(), 2U) << "and both at work";
}

TEST_F(stomp_with_rabbitmq, brings_ten_thousand_messages_in_order_without_loss_or_double) {
  constexpr int count = 10'000;
  stomp_recorder to;
  const auto session = consume(to, options(true));
  ASSERT_TRUE(session);
  b->publish_all(host, queue, numbers(count));
  EXPECT_EQ(to.wait_for(count, 120s).size(), static_cast<std::size_t>(count));
  EXPECT_EQ(to.bodies(count), numbers(count));
  EXPECT_TRUE(b->wait_for_depth(host, queue, {0, 0}));
  EXPECT_TRUE(session->is_open());
}

// Last: the broker goes, and comes back with the queue.
TEST_F(stomp_with_rabbitmq, ends_with_the_broker_and_finds_the_messages_after_its_restart) {
  b->publish_all(host, queue, numbers(3));
  const std::vector<std::pair<std::string, std::function<void()>>> endings{
      {"stopped", [this] { b->stop(); }}, {"killed", [this] { b->kill(); }}};
  for (const auto& [name, end_broker] : endings) {
    stomp_recorder to;
    const auto session = open(options(name == "killed"), to);
    ASSERT_TRUE(session);
    session->subscribe(std::string(queue), 1);
    ASSERT_EQ(to.wait_for(1).size(), 1U) << name;
    end_broker();
    const auto reason = to.wait_for_end();
    ASSERT_TRUE(reason) << name;
    EXPECT_EQ(reason->code, error_code::transient) << name << ": " << reason->message;
    EXPECT_EQ(refused(options()).code, error_code::transient) << name;
    b->start();
  }
  stomp_recorder to;
  const auto session = consume(to, options());
  ASSERT_TRUE(session);
  EXPECT_EQ(to.bodies(3), numbers(3));
}

} // namespace
} // namespace siteagent::net
