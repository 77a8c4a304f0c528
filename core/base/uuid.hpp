// SPDX-License-Identifier: MIT
// UUIDs as portals and clouds write them: compared as bytes, sent as 32 lower-case hex digits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::base {

class uuid {
public:
  uuid() = default; // all zeros

  // 32 hex digits, or the dashed 8-4-4-4-12 form, any case; nothing else.
  static std::optional<uuid> parse(std::string_view text);
  // Random, version 4 (getrandom).
  static uuid random();

  std::string hex() const;    // 32 lower-case digits
  std::string dashed() const; // 8-4-4-4-12

  friend auto operator<=>(const uuid&, const uuid&) = default;

private:
  std::array<std::uint8_t, 16> bytes_{};
};

} // namespace siteagent::base
