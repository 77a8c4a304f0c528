// SPDX-License-Identifier: MIT
// Exact decimal numbers for money, usage and limits: 18 digits before and 18 after the point are
// always safe. Overflow is an answer (nullopt), never a wrap-around. Independent of the locale.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::base {

class decimal {
public:
  decimal() = default; // 0

  decimal(std::int64_t value) : mantissa_(value) {} // NOLINT(google-explicit-constructor)

  // "12", "-0.50", "1.2E+3"; nothing else, no white space. nullopt also when it does not fit.
  static std::optional<decimal> parse(std::string_view text);

  // Plain digits, never an exponent; keeps trailing zeros ("0.10").
  std::string to_string() const;
  // Exactly `places` (0..18) digits after the point, rounded half to even.
  std::string to_fixed(unsigned places) const;
  decimal rounded(unsigned places) const;

  // The value when integral and in range.
  std::optional<std::int64_t> to_int64() const;

  bool is_zero() const { return mantissa_ == 0; }

  bool is_negative() const { return mantissa_ < 0; }

  std::optional<decimal> plus(const decimal& other) const;
  std::optional<decimal> minus(const decimal& other) const;
  std::optional<decimal> times(const decimal& other) const;
  // Rounded half to even at `places` (0..18). nullopt: division by zero or no room.
  std::optional<decimal> divided_by(const decimal& other, unsigned places = 9) const;

  friend std::strong_ordering operator<=>(const decimal& a, const decimal& b);

  friend bool operator==(const decimal& a, const decimal& b) { return (a <=> b) == 0; }

private:
  __extension__ using wide = __int128;

  decimal(wide mantissa, unsigned scale) : mantissa_(mantissa), scale_(scale) {}

  void normalise(); // drops trailing zeros

  wide mantissa_ = 0;
  unsigned scale_ = 0; // value = mantissa / 10^scale, 0..18
};

} // namespace siteagent::base
