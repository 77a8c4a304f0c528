// SPDX-License-Identifier: MIT
#include "crypto.hpp"

#include "rules.hpp"

#include "core/base/text.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

namespace siteagent::azure_emulator {

std::string keyed_hash(std::string_view text) {
  // The same in every run: tokens and the hashes in a kept state outlive a restart. It guards
  // nothing but rehearsals.
  constexpr std::string_view key = "azure-emulator: tokens and secrets of rehearsals";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  HMAC(
      EVP_sha256(),
      key.data(),
      static_cast<int>(key.size()),
      data,
      text.size(),
      digest.data(),
      &length
  );
  return {reinterpret_cast<const char*>(digest.data()), length};
}

std::string base64url(std::string_view bytes) {
  std::string out;
  for (const char c : base::base64(bytes)) {
    if (c == '+') {
      out += '-';
    } else if (c == '/') {
      out += '_';
    } else if (c != '=') {
      out += c;
    }
  }
  return out;
}

std::string from_base64url(std::string_view text) {
  std::string standard;
  for (const char c : text) {
    standard += c == '-' ? '+' : c == '_' ? '/' : c;
  }
  standard.append((4 - standard.size() % 4) % 4, '=');
  return decode_base64(standard).value_or("");
}

} // namespace siteagent::azure_emulator
