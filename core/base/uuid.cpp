// SPDX-License-Identifier: MIT
#include "core/base/uuid.hpp"

#include <sys/random.h>

#include <cstdlib>

namespace siteagent::base {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

} // namespace

std::optional<uuid> uuid::parse(std::string_view text) {
  const bool dashed = text.size() == 36;
  if (!dashed && text.size() != 32) {
    return std::nullopt;
  }
  uuid out;
  std::size_t digit = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (dashed && (i == 8 || i == 13 || i == 18 || i == 23)) {
      if (text[i] != '-') {
        return std::nullopt;
      }
      continue;
    }
    const int v = hex_value(text[i]);
    if (v < 0) {
      return std::nullopt;
    }
    auto& byte = out.bytes_[digit / 2];
    byte = static_cast<std::uint8_t>((byte << 4U) | static_cast<unsigned>(v));
    ++digit;
  }
  return out;
}

uuid uuid::random() {
  uuid out;
  if (::getrandom(out.bytes_.data(), out.bytes_.size(), 0) !=
      static_cast<ssize_t>(out.bytes_.size())) {
    std::abort(); // no entropy source: a broken machine
  }
  out.bytes_[6] = static_cast<std::uint8_t>((out.bytes_[6] & 0x0FU) | 0x40U);
  out.bytes_[8] = static_cast<std::uint8_t>((out.bytes_[8] & 0x3FU) | 0x80U);
  return out;
}

std::string uuid::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(32);
  for (const std::uint8_t b : bytes_) {
    out.push_back(digits[b >> 4U]);
    out.push_back(digits[b & 0x0FU]);
  }
  return out;
}

std::string uuid::dashed() const {
  std::string out = hex();
  for (const std::size_t at : {20U, 16U, 12U, 8U}) {
    out.insert(at, 1, '-');
  }
  return out;
}

} // namespace siteagent::base
