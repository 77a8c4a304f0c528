// SPDX-License-Identifier: MIT
#include "plugins/azure/cidr.hpp"

#include <arpa/inet.h>

#include <charconv>

namespace siteagent::azure {

namespace {

std::array<std::uint8_t, 16> masked(const cidr& c, unsigned length) {
  std::array<std::uint8_t, 16> out = c.address;
  for (unsigned bit = length; bit < (c.v6 ? 128U : 32U); ++bit) {
    out.at(bit / 8) = static_cast<std::uint8_t>(out.at(bit / 8) & ~(0x80U >> (bit % 8)));
  }
  return out;
}

} // namespace

std::optional<cidr> cidr::parse(std::string_view text) {
  cidr out;
  const auto slash = text.find('/');
  const std::string address(text.substr(0, slash));
  out.v6 = address.find(':') != std::string::npos;
  if (inet_pton(out.v6 ? AF_INET6 : AF_INET, address.c_str(), out.address.data()) != 1) {
    return std::nullopt;
  }
  const unsigned longest = out.v6 ? 128 : 32;
  out.length = longest;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.length);
    const bool odd = digits.empty() || error != std::errc() ||
                     end != digits.data() + digits.size() ||
                     (digits.size() > 1 && digits.front() == '0');
    if (odd || out.length > longest) {
      return std::nullopt;
    }
  }
  return out;
}

bool cidr::has_host_bits() const {
  return masked(*this, length) != address;
}

bool cidr::contains(const cidr& inner) const {
  return v6 == inner.v6 && inner.length >= length && masked(inner, length) == masked(*this, length);
}

std::string cidr::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const auto bytes = masked(*this, length);
  inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), buffer.data(), buffer.size());
  std::string out(buffer.data());
  const bool single = length == (v6 ? 128U : 32U);
  return single ? out : out + "/" + std::to_string(length);
}

} // namespace siteagent::azure
