// SPDX-License-Identifier: MIT
#include "core/net/idle_pool.hpp"

#include <gtest/gtest.h>

namespace siteagent::net {

namespace {

using namespace std::chrono_literals;

const base::steady_time start{};

TEST(idle_pool, gives_back_the_last_used_of_the_key) {
  idle_pool<int> pool(60s);
  EXPECT_EQ(pool.take("a", start), nullptr);
  pool.give_back("a", std::make_unique<int>(1), start);
  pool.give_back("a", std::make_unique<int>(2), start + 1s);
  pool.give_back("b", std::make_unique<int>(3), start + 1s);
  EXPECT_EQ(*pool.take("a", start + 2s), 2);
  EXPECT_EQ(*pool.take("a", start + 2s), 1);
  EXPECT_EQ(pool.take("a", start + 2s), nullptr);
  EXPECT_EQ(*pool.take("b", start + 2s), 3);
}

TEST(idle_pool, forgets_what_idled_too_long) {
  idle_pool<int> pool(60s);
  pool.give_back("a", std::make_unique<int>(1), start);
  pool.give_back("a", std::make_unique<int>(2), start + 30s);
  EXPECT_EQ(*pool.take("a", start + 60s), 2);
  EXPECT_EQ(pool.take("a", start + 60s), nullptr);
}

TEST(idle_pool, destroys_the_old_ones_of_keys_nobody_asks_for) {
  struct counted {
    explicit counted(int& n) : count(n) { ++count; }

    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

    ~counted() { --count; }

    int& count;
  };

  int alive = 0;
  idle_pool<counted> pool(60s);
  pool.give_back("old", std::make_unique<counted>(alive), start);
  EXPECT_EQ(pool.take("new", start + 59s), nullptr);
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(pool.take("new", start + 61s), nullptr);
  EXPECT_EQ(alive, 0);
}

} // namespace

} // namespace siteagent::net
