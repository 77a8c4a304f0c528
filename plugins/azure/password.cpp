// SPDX-License-Identifier: MIT
#include "plugins/azure/password.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace siteagent::azure {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t length = 24;
// Bytes at or above this would favour the first letters.
constexpr unsigned fair = 256 - 256 % alphabet.size();

char random_letter() {
  for (;;) {
    unsigned char byte = 0;
    if (RAND_bytes(&byte, 1) != 1) {
      throw std::runtime_error("the system's random source failed");
    }
    if (byte < fair) {
      return alphabet[byte % alphabet.size()];
    }
  }
}

bool has_all_kinds(std::string_view text) {
  const auto any = [&](char from, char to) {
    return std::any_of(text.begin(), text.end(), [&](char c) { return c >= from && c <= to; });
  };
  return any('A', 'Z') && any('a', 'z') && any('0', '9');
}

} // namespace

base::secret random_password() {
  std::array<char, length> text{};
  do {
    std::generate(text.begin(), text.end(), random_letter);
  } while (!has_all_kinds(std::string_view(text.data(), text.size())));
  base::secret out(std::string_view(text.data(), text.size()));
  OPENSSL_cleanse(text.data(), text.size());
  return out;
}

} // namespace siteagent::azure
