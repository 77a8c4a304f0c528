// SPDX-License-Identifier: MIT
#include "core/fleet/money.hpp"

#include <gtest/gtest.h>

namespace siteagent::fleet {
namespace {

std::string printed(std::string_view text, rounding r = rounding::up) {
  const auto amount = parse_money(text, r);
  return amount ? format_money(*amount) : "none";
}

TEST(money, R123_prints_plain_decimals_with_at_least_two_places) {
  struct row {
    const char* text;
    const char* expected;
  };

  for (const row& r : {
           row{"0.384", "0.384"},
           row{"0.4", "0.40"},
           row{"12", "12.00"},
           row{"1234.5", "1234.50"},
           row{"-3", "-3.00"},
           row{"-0.5", "-0.50"},
           row{"0", "0.00"},
           row{"0.0", "0.00"},
           row{"-0", "0.00"},
           row{"100.000", "100.00"},
           row{"0.100", "0.10"},
           row{"1e3", "1000.00"},
           row{"1.5E+2", "150.00"},
           row{"384e-3", "0.384"},
           row{"0.000000001", "0.000000001"},
           row{"899.232", "899.232"},
           row{"123456789012345678", "123456789012345678.00"},
           row{"0e99999", "0.00"},
       }) {
    EXPECT_EQ(printed(r.text), r.expected) << r.text;
  }
}

TEST(money, R122_rounds_prices_up_and_balances_down_to_nine_places) {
  struct row {
    const char* text;
    const char* up;
    const char* down;
  };

  for (const row& r : {
           row{"0.0000000001", "0.000000001", "0.00"},
           row{"0.1234567891", "0.12345679", "0.123456789"},
           row{"0.1234567890", "0.123456789", "0.123456789"},
           row{"0.99999999999999999999999999", "1.00", "0.999999999"},
           row{"-0.0000000001", "0.00", "-0.000000001"},
           row{"-1.5000000001", "-1.50", "-1.500000001"},
           row{"1e-30", "0.000000001", "0.00"},
           row{"-1e-30", "0.00", "-0.000000001"},
           row{"0.00000000000000000000000000000000000000000000", "0.00", "0.00"},
           row{"12.3456789012345678901234567890e1", "123.456789013", "123.456789012"},
       }) {
    EXPECT_EQ(printed(r.text, rounding::up), r.up) << r.text;
    EXPECT_EQ(printed(r.text, rounding::down), r.down) << r.text;
  }
}

TEST(money, R122_takes_no_text_that_is_no_number_and_none_that_does_not_fit) {
  for (const char* text :
       {"",
        "-",
        "+1",
        ".5",
        "1.",
        "01",
        "1,5",
        "0x10",
        "NaN",
        "Infinity",
        "1 ",
        " 1",
        "1e",
        "abc",
        "1e400",
        "1000000000000000000000",
        "1e18",
        "99999999999999999999.5",
        "1e999999999999"}) {
    EXPECT_EQ(printed(text), "none") << text;
  }
}

TEST(money, R122_adds_without_binary_floating_point) {
  auto sum = *parse_money("0.1", rounding::up)->plus(*parse_money("0.2", rounding::up));
  EXPECT_EQ(sum, *parse_money("0.3", rounding::up));
  for (int n = 0; n < 1000; ++n) {
    sum = *sum.plus(*parse_money("0.001", rounding::up));
  }
  EXPECT_EQ(format_money(sum), "1.30");
}

} // namespace
} // namespace siteagent::fleet
