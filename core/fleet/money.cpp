// SPDX-License-Identifier: MIT
#include "core/fleet/money.hpp"

#include "core/base/json.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::fleet {

namespace {

constexpr int places = 9;
constexpr std::size_t most_digits = 18; // before the point: what base::decimal always holds

// "-12.50e3" = -1250 * 10^1
struct scanned {
  bool negative = false;
  std::string digits; // without leading zeros
  int exponent = 0;
};

// `text` is a JSON number.
std::optional<scanned> scan(std::string_view text) {
  scanned s;
  if (text.front() == '-') {
    s.negative = true;
    text.remove_prefix(1);
  }
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.front() == '+') {
      power.remove_prefix(1);
    }
    const auto [end, failed] =
        std::from_chars(power.data(), power.data() + power.size(), s.exponent);
    constexpr int limit = 100'000; // far beyond any amount, and safe to calculate with
    if (failed != std::errc() || s.exponent > limit || s.exponent < -limit) {
      return std::nullopt;
    }
    text = text.substr(0, e);
  }
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) {
    s.exponent -= static_cast<int>(text.size() - point - 1);
  }
  std::copy_if(text.begin(), text.end(), std::back_inserter(s.digits), [](char c) {
    return c != '.';
  });
  s.digits.erase(0, std::min(s.digits.find_first_not_of('0'), s.digits.size()));
  return s;
}

// Digits of |value| * 10^9, cut; `rest`: something was cut off.
std::optional<std::string> in_units(const scanned& s, bool& rest) {
  rest = false;
  const int shift = s.exponent + places;
  if (s.digits.empty()) {
    return "0";
  }
  if (shift >= 0) {
    if (s.digits.size() + static_cast<std::size_t>(shift) > most_digits + places) {
      return std::nullopt;
    }
    return s.digits + std::string(static_cast<std::size_t>(shift), '0');
  }
  const std::size_t cut = std::min(s.digits.size(), static_cast<std::size_t>(-shift));
  const std::string kept = s.digits.substr(0, s.digits.size() - cut);
  rest = s.digits.find_first_not_of('0', kept.size()) != std::string::npos;
  if (kept.size() > most_digits + places) {
    return std::nullopt;
  }
  return kept.empty() ? "0" : kept;
}

} // namespace

std::optional<base::decimal> parse_money(std::string_view text, rounding r) {
  if (text.size() > 256 || base::json::number(text).is_null()) {
    return std::nullopt;
  }
  const std::optional<scanned> s = scan(text);
  if (!s) {
    return std::nullopt;
  }
  bool rest = false;
  const std::optional<std::string> units = in_units(*s, rest);
  if (!units) {
    return std::nullopt;
  }
  auto amount = base::decimal::parse((s->negative ? "-" : "") + *units + "e-9");
  // Cutting moved it towards zero; upwards that is right for a negative one, downwards for the
  // others.
  if (amount && rest && s->negative == (r == rounding::down)) {
    const auto unit = base::decimal::parse("1e-9");
    amount = r == rounding::up ? amount->plus(*unit) : amount->minus(*unit);
  }
  return amount;
}

std::string format_money(const base::decimal& amount) {
  std::string text = amount.to_string();
  const std::size_t point = text.find('.');
  if (point == std::string::npos) {
    return text + ".00";
  }
  const std::size_t least = point + 3;
  while (text.size() > least && text.back() == '0') {
    text.pop_back();
  }
  text.append(std::max(least, text.size()) - text.size(), '0');
  return text;
}

} // namespace siteagent::fleet
