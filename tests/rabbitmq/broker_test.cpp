// SPDX-License-Identifier: MIT
// The fixture itself: what tests say about the agent is worth as much as this broker is real.
#include "tests/rabbitmq/broker.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace siteagent::rabbitmq {

class test_broker : public testing::Test {
protected:
  void SetUp() override {
    if (const auto why = broker::why_unavailable()) {
      GTEST_SKIP() << *why;
    }
    b = &broker::shared();
  }

  broker* b = nullptr;
};

TEST_F(test_broker, keeps_what_is_published_and_counts_it) {
  b->create_virtual_host("count");
  b->create_queue("count", "q");
  b->publish("count", "q", R"({"a":1})", {{"x-message-id", "1"}});
  b->publish_all("count", "q", std::vector<std::string>(2'000, "{}"));
  EXPECT_TRUE(b->wait_for_depth("count", "q", {2'001, 0})) << b->depth("count", "q").ready;
}

TEST_F(test_broker, holds_queues_and_messages_through_a_restart) {
  b->create_virtual_host("restart");
  b->create_queue("restart", "q");
  b->publish("restart", "q", "{}");
  const std::uint16_t before = b->ports().web_stomp;
  b->restart();
  EXPECT_EQ(b->ports().web_stomp, before);
  EXPECT_TRUE(b->wait_for_depth("restart", "q", {1, 0})) << b->depth("restart", "q").ready;
}

TEST_F(test_broker, refuses_messages_for_a_queue_that_is_not_there) {
  b->create_virtual_host("absent");
  EXPECT_THROW(b->publish("absent", "q", "{}"), std::runtime_error);
  EXPECT_FALSE(b->has_queue("absent", "q"));
  EXPECT_FALSE(b->delete_queue("absent", "q"));
}

} // namespace siteagent::rabbitmq
