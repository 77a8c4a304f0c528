// SPDX-License-Identifier: MIT
#include "core/base/decimal.hpp"

#include <algorithm>
#include <limits>

namespace siteagent::base {

namespace {

__extension__ using wide = __int128;
constexpr unsigned max_scale = 18;

bool multiply(wide a, wide b, wide& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

wide power_of_ten(unsigned n) {
  wide p = 1;
  while (n-- > 0) {
    p *= 10; // n <= 36 everywhere: fits
  }
  return p;
}

// a / b, half to even; b > 0
wide divide_half_even(wide a, wide b) {
  wide quotient = a / b;
  wide rest = a % b;
  if (rest < 0) {
    rest = -rest;
  }
  const wide twice_left = b - rest; // compare rest with b - rest: no overflow
  if (rest > twice_left || (rest == twice_left && quotient % 2 != 0)) {
    quotient += a < 0 ? -1 : 1;
  }
  return quotient;
}

} // namespace

std::optional<decimal> decimal::parse(std::string_view text) {
  std::size_t i = 0;
  const bool negative = !text.empty() && text[0] == '-';
  i += negative ? 1 : 0;
  wide mantissa = 0;
  int scale = 0;
  bool digits = false;
  bool point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point && digits) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') {
      break;
    }
    digits = true;
    wide next = 0;
    if (!multiply(mantissa, 10, next) || __builtin_add_overflow(next, c - '0', &next)) {
      return std::nullopt;
    }
    mantissa = next;
    scale += point ? 1 : 0;
  }
  if (!digits || (point && scale == 0)) {
    return std::nullopt;
  }
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') {
      return std::nullopt;
    }
    ++i;
    bool minus = false;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
      minus = text[i] == '-';
      ++i;
    }
    int exponent = 0;
    bool any = false;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      any = true;
      exponent = std::min(exponent * 10 + (text[i] - '0'), 10'000);
    }
    if (!any || i != text.size()) {
      return std::nullopt;
    }
    scale += minus ? exponent : -exponent;
  }
  if (mantissa == 0) {
    scale = std::clamp(scale, 0, static_cast<int>(max_scale));
  }
  while (scale < 0) {
    if (!multiply(mantissa, 10, mantissa)) {
      return std::nullopt;
    }
    ++scale;
  }
  while (scale > static_cast<int>(max_scale) && mantissa % 10 == 0) {
    mantissa /= 10;
    --scale;
  }
  if (scale > static_cast<int>(max_scale)) {
    const int excess = scale - static_cast<int>(max_scale);
    mantissa =
        excess > 36 ? 0 : divide_half_even(mantissa, power_of_ten(static_cast<unsigned>(excess)));
    scale = static_cast<int>(max_scale);
  }
  return decimal(negative ? -mantissa : mantissa, static_cast<unsigned>(scale));
}

std::string decimal::to_string() const {
  __extension__ using uwide = unsigned __int128;
  uwide left = mantissa_ < 0 ? ~static_cast<uwide>(mantissa_) + 1 : static_cast<uwide>(mantissa_);
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(left % 10)));
    left /= 10;
  } while (left != 0);
  while (digits.size() <= scale_) {
    digits.push_back('0');
  }
  std::reverse(digits.begin(), digits.end());
  if (scale_ > 0) {
    digits.insert(digits.size() - scale_, 1, '.');
  }
  return mantissa_ < 0 ? "-" + digits : digits;
}

decimal decimal::rounded(unsigned places) const {
  places = std::min(places, max_scale);
  if (scale_ <= places) {
    return *this;
  }
  return {divide_half_even(mantissa_, power_of_ten(scale_ - places)), places};
}

std::string decimal::to_fixed(unsigned places) const {
  places = std::min(places, max_scale);
  const decimal r = rounded(places);
  std::string text = r.to_string();
  if (r.scale_ < places) {
    if (r.scale_ == 0) {
      text.push_back('.');
    }
    text.append(places - r.scale_, '0');
  }
  if (r.mantissa_ == 0 && text.front() == '-') {
    text.erase(0, 1);
  }
  return text;
}

std::optional<std::int64_t> decimal::to_int64() const {
  decimal n = *this;
  n.normalise();
  if (n.scale_ != 0 || n.mantissa_ > std::numeric_limits<std::int64_t>::max() ||
      n.mantissa_ < std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(n.mantissa_);
}

std::optional<decimal> decimal::plus(const decimal& other) const {
  const unsigned scale = std::max(scale_, other.scale_);
  wide a = 0;
  wide b = 0;
  wide sum = 0;
  if (!multiply(mantissa_, power_of_ten(scale - scale_), a) ||
      !multiply(other.mantissa_, power_of_ten(scale - other.scale_), b) ||
      __builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return decimal(sum, scale);
}

std::optional<decimal> decimal::minus(const decimal& other) const {
  return plus(decimal(-other.mantissa_, other.scale_));
}

std::optional<decimal> decimal::times(const decimal& other) const {
  decimal a = *this;
  decimal b = other;
  a.normalise();
  b.normalise();
  wide product = 0;
  if (!multiply(a.mantissa_, b.mantissa_, product)) {
    return std::nullopt;
  }
  const unsigned scale = a.scale_ + b.scale_;
  if (scale > max_scale) {
    return decimal(divide_half_even(product, power_of_ten(scale - max_scale)), max_scale);
  }
  return decimal(product, scale);
}

std::optional<decimal> decimal::divided_by(const decimal& other, unsigned places) const {
  decimal a = *this;
  decimal b = other;
  a.normalise();
  b.normalise();
  if (b.mantissa_ == 0) {
    return std::nullopt;
  }
  places = std::min(places, max_scale);
  // a/10^sa / (b/10^sb) at 10^-places = a * 10^(places + sb) / (b * 10^sa)
  wide numerator = 0;
  wide denominator = 0;
  if (!multiply(a.mantissa_, power_of_ten(places + b.scale_), numerator) ||
      !multiply(b.mantissa_, power_of_ten(a.scale_), denominator)) {
    return std::nullopt;
  }
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  decimal quotient(divide_half_even(numerator, denominator), places);
  quotient.normalise();
  return quotient;
}

std::strong_ordering operator<=>(const decimal& a, const decimal& b) {
  const wide ua = power_of_ten(a.scale_);
  const wide ub = power_of_ten(b.scale_);
  const wide ia = a.mantissa_ / ua;
  const wide ib = b.mantissa_ / ub;
  if (ia != ib) {
    return ia < ib ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const wide fa = (a.mantissa_ % ua) * power_of_ten(max_scale - a.scale_);
  const wide fb = (b.mantissa_ % ub) * power_of_ten(max_scale - b.scale_);
  if (fa == fb) {
    return std::strong_ordering::equal;
  }
  return fa < fb ? std::strong_ordering::less : std::strong_ordering::greater;
}

void decimal::normalise() {
  while (scale_ > 0 && mantissa_ % 10 == 0) {
    mantissa_ /= 10;
    --scale_;
  }
}

} // namespace siteagent::base
