// SPDX-License-Identifier: MIT
// Words for a remote shell, and texts of a remote machine for people.
#include "core/base/text.hpp"
#include "core/fleet/channel.hpp"

#include <cstdint>

namespace siteagent::fleet {

namespace {

// Length of the printable UTF-8 character at the front; 0: none there (a control character, also
// one of C1, or a byte that begins no well-formed sequence).
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) {
    return 0;
  }
  std::uint32_t point = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) {
      return 0;
    }
    point = (point << 6U) | (byte(i) & 0x3fU);
  }
  const bool is_overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
  return is_overlong || is_surrogate || point > 0x10ffff || point < 0xa0 ? 0 : length;
}

std::string escaped(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n') {
    return "\\n";
  }
  if (c == '\t') {
    return "\\t";
  }
  return {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

// What ssh says of itself on standard error although nothing failed.
bool is_notice_of_ssh(std::string_view line) {
  return line.starts_with("Warning: Permanently added ") || line.starts_with("** ") ||
         (line.starts_with("Connection to ") && line.ends_with(" closed."));
}

} // namespace

std::string shell_quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string shown;
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    const std::string next = length > 0 ? std::string(text.substr(0, length)) : escaped(text[0]);
    count += length > 0 ? 1 : next.size();
    if (count > longest) {
      break;
    }
    shown += next;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return shown;
}

std::string remote_answer::last_error_line() const {
  const std::vector<std::string_view> lines = base::split(error_output, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::string_view text = base::trim(*line);
    if (!text.empty() && !is_notice_of_ssh(text)) {
      return printable(text);
    }
  }
  return "";
}

} // namespace siteagent::fleet
