// SPDX-License-Identifier: MIT
// The emulated Waldur and a real RabbitMQ: what it registers there can be logged into, and what it
// tells arrives as Waldur's messages do.
#include "core/net/stomp.hpp"
#include "tests/rabbitmq/broker.hpp"
#include "tests/unit/emulators/waldur_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

const std::string agent_token = "e2e0000000000000000000000000token001";

// A session that collects what it gets.
class listener {
public:
  listener(const json& registration, const std::string& passcode) {
    const auto& ports = rabbitmq::broker::shared().ports();
    net::stomp_options options;
    options.host = "127.0.0.1";
    options.port = ports.web_stomp;
    options.path = std::string(rabbitmq::broker::web_stomp_path);
    options.use_tls = false;
    options.virtual_host = registration["vhost"].string_or("");
    options.login = registration["rmq_username"].string_or("");
    options.passcode = base::secret(passcode);
    auto connected = net::stomp_session::connect(
        std::move(options),
        [this](net::stomp_message m) {
          const std::lock_guard lock(mutex_);
          messages_.push_back(std::move(m));
          changed_.notify_all();
        },
        [this](const base::error& e) {
          const std::lock_guard lock(mutex_);
          end_ = e;
          changed_.notify_all();
        }
    );
    if (!connected) {
      refused_ = connected.error();
      return;
    }
    session_ = *std::move(connected);
    session_->subscribe(registration["queue_name"].string_or(""), 100);
  }

  const std::optional<base::error>& refused() const { return refused_; }

  std::optional<net::stomp_message> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return !messages_.empty(); })) {
      return std::nullopt;
    }
    auto m = std::move(messages_.front());
    messages_.pop_front();
    session_->acknowledge(m);
    return m;
  }

  std::optional<base::error> end() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return end_.has_value(); });
    return end_;
  }

private:
  static constexpr std::chrono::seconds patience{60};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<net::stomp_message> messages_;
  std::optional<base::error> end_;
  std::optional<base::error> refused_;
  std::unique_ptr<net::stomp_session> session_; // last: its thread uses everything above
};

class waldur_and_rabbitmq : public emulated_waldur {
protected:
  void SetUp() override {
    if (const auto why = rabbitmq::broker::why_unavailable()) {
      GTEST_SKIP() << *why;
    }
    const auto& rabbit = rabbitmq::broker::shared();
    const std::string login = std::string(rabbitmq::broker::admin_user) + ":" +
                              std::string(rabbitmq::broker::admin_password) + "@";
    std::string url = rabbit.management_url();
    url.insert(url.find("://") + 3, login);
    ASSERT_TRUE(emulator.options()[0].apply(url));
    emulated_waldur::SetUp();
    identity = agent
                   ->post(
                       "/api/marketplace-site-agent-identities/",
                       json::object({{"offering", offering_uuid}, {"name", "agent"}})
                   )
                   .body["uuid"]
                   .string_or("");
  }

  reply register_queue() {
    return agent->post(
        "/api/marketplace-site-agent-identities/" + identity + "/register_queue/",
        quoted("{'object_types':['order']}")
    );
  }

  std::string identity;
};

TEST_F(waldur_and_rabbitmq, delivers_the_states_of_an_order_with_the_headers_of_waldur) {
  const auto registered = register_queue();
  ASSERT_EQ(registered.status, 201) << registered.text;
  EXPECT_EQ(register_queue().status, 200);
  listener l(registered.body, agent_token);
  ASSERT_FALSE(l.refused()) << l.refused()->message;
  const auto p = create();
  for (const char* state : {"pending-provider", "executing", "done"}) {
    const auto m = l.next();
    ASSERT_TRUE(m) << state;
    const auto body = json::parse(m->body).value_or(json());
    EXPECT_EQ(body["order_uuid"].string(), p.order);
    EXPECT_EQ(body["order_state"].string(), state);
    EXPECT_EQ(m->headers.at("content-type"), "application/json");
    EXPECT_EQ(m->headers.at("persistent"), "true");
    EXPECT_EQ(m->headers.at("durable"), "true");
    EXPECT_EQ(m->headers.at("auto-delete"), "false");
    EXPECT_EQ(m->headers.at("x-message-id").size(), 32U);
  }
}

TEST_F(waldur_and_rabbitmq, keeps_the_order_of_many_messages_and_the_bytes_of_each) {
  const auto registered = register_queue();
  ASSERT_EQ(registered.status, 201) << registered.text;
  listener l(registered.body, agent_token);
  ASSERT_FALSE(l.refused()) << l.refused()->message;
  const json hostile = json::object(
      {{"queue", registered.body["queue_name"]}, {"body_base64", "ADx4PgA="}} // 00 < x > 00
  );
  EXPECT_EQ(staff->post("/_emu/publish", hostile).status, 200);
  const json many = json::object(
      {{"offering", offering_uuid},
       {"object_type", "order"},
       {"body", json::object()},
       {"times", 100}}
  );
  EXPECT_EQ(staff->post("/_emu/publish", many).body["published"].integer(), 100);
  const auto first = l.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->body, std::string("\0<x>\0", 5));
  for (int n = 1; n <= 100; ++n) {
    const auto m = l.next();
    ASSERT_TRUE(m) << n;
    EXPECT_EQ(json::parse(m->body).value_or(json())["sequence_number"].integer(), n);
  }
}

TEST_F(waldur_and_rabbitmq, lets_in_with_the_token_of_the_last_registration_only) {
  const auto registered = register_queue();
  ASSERT_EQ(registered.status, 201) << registered.text;
  const json rotation = json::object({{"old", agent_token}, {"new", "token-of-later"}});
  EXPECT_EQ(staff->post("/_emu/rotate_token", rotation).status, 204);
  listener early(registered.body, "token-of-later");
  ASSERT_TRUE(early.refused());
  EXPECT_EQ(early.refused()->code, base::error_code::auth);
  agent->authorize("Token token-of-later");
  EXPECT_EQ(register_queue().status, 200);
  listener late(registered.body, "token-of-later");
  EXPECT_FALSE(late.refused());
  listener old(registered.body, agent_token);
  EXPECT_TRUE(old.refused());
}

TEST_F(waldur_and_rabbitmq, ends_a_session_whose_queue_goes_and_makes_it_again) {
  const auto registered = register_queue();
  ASSERT_EQ(registered.status, 201) << registered.text;
  listener l(registered.body, agent_token);
  ASSERT_FALSE(l.refused()) << l.refused()->message;
  const json queue = json::object({{"queue", registered.body["queue_name"]}});
  EXPECT_EQ(staff->post("/_emu/delete_queue", queue).status, 200);
  listener again(registered.body, agent_token);
  const auto end = again.end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, base::error_code::not_found) << end->message;
  EXPECT_EQ(register_queue().status, 201);
  listener last(registered.body, agent_token);
  ASSERT_FALSE(last.refused()) << last.refused()->message;
  place();
  const auto told = last.next();
  EXPECT_TRUE(told) << (last.end() ? last.end()->message : "the session still stands");
}

TEST_F(waldur_and_rabbitmq, leaves_nothing_behind_after_a_reset) {
  const auto registered = register_queue();
  ASSERT_EQ(registered.status, 201) << registered.text;
  const std::string vhost = registered.body["vhost"].string_or("");
  auto& rabbit = rabbitmq::broker::shared();
  EXPECT_TRUE(rabbit.has_queue(vhost, registered.body["queue_name"].string_or("")));
  EXPECT_EQ(staff->post("/_emu/reset").status, 204);
  identity = agent
                 ->post(
                     "/api/marketplace-site-agent-identities/",
                     json::object({{"offering", offering_uuid}, {"name", "agent"}})
                 )
                 .body["uuid"]
                 .string_or("");
  EXPECT_EQ(register_queue().status, 201); // behind the removal, on the same thread
  EXPECT_FALSE(rabbit.has_queue(vhost, registered.body["queue_name"].string_or("")));
}

} // namespace

} // namespace siteagent::waldur_emulator
