// SPDX-License-Identifier: MIT
#include "core/base/decimal.hpp"

#include <gtest/gtest.h>

#include <clocale>

namespace siteagent::base {
namespace {

decimal d(std::string_view text) {
  const auto value = decimal::parse(text);
  EXPECT_TRUE(value) << text;
  return value.value_or(decimal{});
}

TEST(decimal, keeps_the_text_it_was_given) {
  for (const char* text : {"0", "12", "-3", "0.10", "123456789012345678.123456789012345678"}) {
    EXPECT_EQ(d(text).to_string(), text);
  }
  EXPECT_EQ(d("1.20E+3").to_string(), "1200");
  EXPECT_EQ(d("5e-3").to_string(), "0.005");
}

TEST(decimal, refuses_what_is_no_number) {
  for (const char* text :
       {"",
        "-",
        ".5",
        "5.",
        "1,5",
        "1 ",
        " 1",
        "0x10",
        "nan",
        "1e",
        "1e+",
        "--1",
        "1e99",
        "99999999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(decimal::parse(text)) << text;
  }
}

TEST(decimal, rounds_half_to_even) {
  EXPECT_EQ(d("0.125").to_fixed(2), "0.12");
  EXPECT_EQ(d("0.135").to_fixed(2), "0.14");
  EXPECT_EQ(d("-0.125").to_fixed(2), "-0.12");
  EXPECT_EQ(d("2.5").to_fixed(0), "2");
  EXPECT_EQ(d("3.5").to_fixed(0), "4");
  EXPECT_EQ(d("-0.004").to_fixed(2), "0.00");
  EXPECT_EQ(d("7").to_fixed(2), "7.00");
  EXPECT_EQ(d("1.005").to_fixed(2), "1.00");
}

TEST(decimal, calculates_exactly) {
  EXPECT_EQ(d("0.1").plus(d("0.2"))->to_string(), "0.3");
  EXPECT_EQ(d("1").minus(d("0.9"))->to_string(), "0.1");
  EXPECT_EQ(d("1.5").times(d("-2"))->to_string(), "-3.0");
  EXPECT_EQ(d("4096").divided_by(d("1024"))->to_string(), "4");
  EXPECT_EQ(d("1").divided_by(d("3"), 2)->to_string(), "0.33");
  EXPECT_EQ(d("-1").divided_by(d("8"), 2)->to_string(), "-0.12");
  EXPECT_EQ(d("10").divided_by(d("0.5"))->to_string(), "20");
}

TEST(decimal, answers_overflow_instead_of_wrapping) {
  const auto huge = d("99999999999999999999999999999999999999");
  EXPECT_FALSE(huge.plus(huge));
  EXPECT_FALSE(huge.times(huge));
  EXPECT_FALSE(d("1").divided_by(d("0")));
}

TEST(decimal, compares_by_value) {
  EXPECT_EQ(d("1.0"), d("1"));
  EXPECT_LT(d("-1.5"), d("-1.4"));
  EXPECT_LT(d("0.999"), d("1"));
  EXPECT_GT(d("99999999999999999999"), d("0.000000000000000001"));
}

TEST(decimal, becomes_an_integer_only_when_it_is_one) {
  EXPECT_EQ(d("12.0").to_int64(), 12);
  EXPECT_EQ(d("1e3").to_int64(), 1000);
  EXPECT_EQ(d("-9223372036854775808").to_int64(), INT64_MIN);
  EXPECT_FALSE(d("12.5").to_int64());
  EXPECT_FALSE(d("9223372036854775808").to_int64());
}

TEST(decimal, does_not_care_for_the_locale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) {
      EXPECT_EQ(d("1234.50").to_string(), "1234.50");
      EXPECT_FALSE(decimal::parse("1,5"));
    }
  }
  std::setlocale(LC_ALL, before.c_str());
}

} // namespace
} // namespace siteagent::base
