// SPDX-License-Identifier: MIT
#include "core/base/result.hpp"

#include <gtest/gtest.h>

namespace siteagent::base {
namespace {

TEST(error_class, follows_the_hundreds_digit_with_150_apart) {
  EXPECT_EQ(class_of(error_code::throttled), error_class::transient);
  EXPECT_EQ(class_of(error_code::outcome_unknown), error_class::outcome_unknown);
  EXPECT_EQ(class_of(error_code::auth), error_class::permanent);
  EXPECT_EQ(class_of(error_code::quota), error_class::refused);
  EXPECT_EQ(class_of(error_code::not_found), error_class::not_found);
  EXPECT_EQ(class_of(error_code::plugin_lost), error_class::broken);
  EXPECT_EQ(class_of(199), error_class::transient) << "a code we do not know is its class";
  EXPECT_EQ(class_of(777), error_class::broken) << "a class we do not know";
  EXPECT_EQ(class_of(-5), error_class::broken);
}

TEST(error, gets_context_once_per_layer) {
  const error e = with_context(error{error_code::quota, "cores 96/100"}, "create vm-17");
  EXPECT_EQ(e.message, "create vm-17: cores 96/100");
  EXPECT_EQ(e.code, error_code::quota);
}

result<int> half(int n) {
  if (n % 2 != 0) {
    return error{error_code::invalid, "odd"};
  }
  return n / 2;
}

TEST(result, is_a_value_or_an_error) {
  ASSERT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  ASSERT_FALSE(half(3));
  EXPECT_EQ(half(3).error().message, "odd");
  EXPECT_EQ(half(3).value_or(9), 9);
}

TEST(result, of_void_is_success_unless_told_otherwise) {
  EXPECT_TRUE(result<void>{});
  const result<void> failed = error{error_code::refused, "no"};
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::refused);
}

} // namespace
} // namespace siteagent::base
