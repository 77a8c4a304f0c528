// SPDX-License-Identifier: MIT
// Hours and balances: exact decimals of nine places, prices rounded up, balances down.
#pragma once

#include "core/base/decimal.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::fleet {

enum class rounding : std::uint8_t { up, down };

// nullopt: no decimal number, or too large for the arithmetic.
std::optional<base::decimal> parse_money(std::string_view text, rounding r);

// "0.384", "0.40", "12.00", "1234.50", "-3.00": at least two places, no zeros beyond them.
std::string format_money(const base::decimal& amount);

} // namespace siteagent::fleet
