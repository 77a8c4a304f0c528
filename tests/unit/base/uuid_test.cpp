// SPDX-License-Identifier: MIT
#include "core/base/uuid.hpp"

#include <gtest/gtest.h>

namespace siteagent::base {
namespace {

TEST(uuid, is_the_same_in_hex_dashed_and_upper_case) {
  const auto hex = uuid::parse("e2ef0000000000000000000000000201");
  ASSERT_TRUE(hex);
  EXPECT_EQ(uuid::parse("e2ef0000-0000-0000-0000-000000000201"), hex);
  EXPECT_EQ(uuid::parse("E2EF0000000000000000000000000201"), hex);
  EXPECT_EQ(hex->hex(), "e2ef0000000000000000000000000201");
  EXPECT_EQ(hex->dashed(), "e2ef0000-0000-0000-0000-000000000201");
}

TEST(uuid, refuses_everything_else) {
  for (const char* text :
       {"",
        "e2ef",
        "e2ef000000000000000000000000020g",
        "e2ef0000-0000-0000-0000-00000000020",
        "e2ef0000_0000-0000-0000-000000000201",
        "{e2ef0000000000000000000000000201}",
        "e2ef00000000-0000-0000-0000-00000201"}) {
    EXPECT_FALSE(uuid::parse(text)) << text;
  }
}

TEST(uuid, random_ones_differ_and_carry_the_version) {
  const auto a = uuid::random();
  EXPECT_NE(a, uuid::random());
  EXPECT_EQ(a.hex()[12], '4');
}

} // namespace
} // namespace siteagent::base
