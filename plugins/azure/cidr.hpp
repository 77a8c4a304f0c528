// SPDX-License-Identifier: MIT
// Address ranges as Azure's network objects take them. Strict: no leading zeros, no host bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure {

struct cidr {
  bool v6 = false;
  std::array<std::uint8_t, 16> address{};
  unsigned length = 0;

  // "10.0.0.0/16", "203.0.113.7" (a single address), "2001:db8::/32".
  static std::optional<cidr> parse(std::string_view text);

  bool has_host_bits() const;
  bool contains(const cidr& inner) const;
  std::string text() const; // host bits cleared; a single address without length
};

} // namespace siteagent::azure
