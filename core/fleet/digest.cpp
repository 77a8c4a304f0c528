// SPDX-License-Identifier: MIT
#include "core/fleet/digest.hpp"

#include <openssl/sha.h>

#include <array>

namespace siteagent::fleet {

std::string sha256_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr unsigned nibble = 4;
  constexpr unsigned low = 0x0F;

  std::array<unsigned char, SHA256_DIGEST_LENGTH> sum{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), sum.data());
  std::string text;
  for (const unsigned char byte : sum) {
    text += digits[byte >> nibble];
    text += digits[byte & low];
  }
  return text;
}

} // namespace siteagent::fleet
