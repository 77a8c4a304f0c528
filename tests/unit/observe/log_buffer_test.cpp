// SPDX-License-Identifier: MIT
#include "core/observe/log_buffer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace siteagent::observe {

namespace {

log_record record(const std::string& topic, const std::string& message) {
  return {{}, level::warning, "test", message, topic, 0};
}

std::vector<std::string> messages(const std::vector<log_record>& records) {
  std::vector<std::string> out;
  for (const log_record& r : records) {
    out.push_back(r.message);
  }
  return out;
}

using texts = std::vector<std::string>;

} // namespace

TEST(log_buffer, gives_the_oldest_of_a_topic_and_keeps_them_until_they_are_removed) {
  log_buffer b(1U << 20U);
  b.add(record("a", "1"));
  b.add(record("b", "2"));
  b.add(record("a", "3"));
  b.add(record("a", "4"));
  EXPECT_EQ(b.topics(), (texts{"a", "b"}));
  EXPECT_EQ(messages(b.front("a", 2)), (texts{"1", "3"}));
  b.remove(b.front("a", 2));
  EXPECT_EQ(messages(b.front("a", 100)), (texts{"4"}));
  EXPECT_EQ(b.topics(), (texts{"b", "a"}));
  EXPECT_EQ(b.front("c", 100).size(), 0U);
  EXPECT_EQ(b.take_dropped(), 0U);
}

TEST(log_buffer, drops_the_oldest_when_it_is_full_and_counts_them) {
  log_buffer b(10'000);
  for (int i = 0; i < 100; ++i) {
    b.add(record("a", std::to_string(i) + std::string(1'000, 'x')));
  }
  EXPECT_GT(b.size(), 4U);
  EXPECT_LT(b.size(), 10U);
  EXPECT_EQ(b.take_dropped(), 100 - b.size());
  EXPECT_EQ(b.take_dropped(), 0U);
  EXPECT_EQ(b.front("a", 100).back().message.substr(0, 2), "99");
  b.add(record("a", std::string(20'000, 'x')));
  EXPECT_EQ(b.size(), 0U) << "one record larger than everything";
}

TEST(log_buffer, removes_only_what_is_still_there) {
  log_buffer b(2 * (sizeof(log_record) + 100));
  b.add(record("a", "first"));
  const auto taken = b.front("a", 100);
  b.add(record("a", "second"));
  b.add(record("a", "third"));
  b.remove(taken);
  EXPECT_EQ(messages(b.front("a", 100)), (texts{"second", "third"}));
  EXPECT_EQ(b.take_dropped(), 0U) << "the first was dropped, but has arrived";
}

} // namespace siteagent::observe
