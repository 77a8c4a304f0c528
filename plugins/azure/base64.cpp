// SPDX-License-Identifier: MIT
#include "plugins/azure/base64.hpp"

namespace siteagent::azure {

namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  if (c == '+' || c == '-') {
    return 62;
  }
  return c == '/' || c == '_' ? 63 : -1;
}

} // namespace

std::optional<std::string> base64_decode(std::string_view text) {
  while (!text.empty() && text.back() == '=') {
    text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) {
    return std::nullopt;
  }
  std::string out;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) {
      return std::nullopt;
    }
    bits = (bits << 6U) | static_cast<unsigned>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>((bits >> held) & 0xFFU));
    }
    bits &= (1U << held) - 1U;
  }
  return out;
}

} // namespace siteagent::azure
