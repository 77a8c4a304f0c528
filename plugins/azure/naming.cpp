// SPDX-License-Identifier: MIT
#include "plugins/azure/naming.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

constexpr std::size_t longest_base = 50;
constexpr std::size_t longest_shared = 61;
constexpr std::size_t longest_group = 90;
constexpr std::string_view nameless = "waldur-vm";
constexpr std::array<std::size_t, group_ladder> group_digits{4, 8, 16, 32};
constexpr std::array<std::size_t, machine_ladder> machine_digits{8, 16, 32};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

std::string cut(std::string text, std::size_t length) {
  text.resize(std::min(text.size(), length));
  while (!text.empty() && text.back() == '-') {
    text.pop_back();
  }
  return text;
}

std::string digits_of(std::string_view uuid_hex, std::size_t count) {
  std::string digits(uuid_hex.substr(0, count));
  digits.resize(count, '0');
  return digits;
}

// The digits and the rest of group-<digits>-<rest>, both lower case.
struct split_group {
  std::string digits;
  std::string rest;
};

std::optional<split_group> split_dedicated(std::string_view group) {
  const std::string lower = base::to_lower(group);
  constexpr std::string_view prefix = "group-";
  if (lower.rfind(prefix, 0) != 0) {
    return std::nullopt;
  }
  const auto dash = lower.find('-', prefix.size());
  if (dash == std::string::npos || dash + 1 == lower.size()) {
    return std::nullopt;
  }
  split_group out{lower.substr(prefix.size(), dash - prefix.size()), lower.substr(dash + 1)};
  const bool known_length =
      std::find(group_digits.begin(), group_digits.end(), out.digits.size()) != group_digits.end();
  if (!known_length || !std::all_of(out.digits.begin(), out.digits.end(), is_hex)) {
    return std::nullopt;
  }
  return out;
}

} // namespace

std::string sanitize(std::string_view name) {
  std::string out;
  for (const char c : base::to_lower(name)) {
    if ((c >= 'a' && c <= 'z') || is_digit(c)) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != '-') {
      out.push_back('-');
    }
  }
  out = cut(std::move(out), longest_base);
  return out.empty() ? std::string(nameless) : out;
}

std::string dedicated_group(std::string_view machine, std::string_view uuid_hex, unsigned rung) {
  return "group-" + digits_of(uuid_hex, group_digits.at(rung)) + "-" + std::string(machine);
}

std::string shared_machine(std::string_view name, std::string_view uuid_hex, unsigned rung) {
  const std::size_t digits = machine_digits.at(rung);
  return cut(sanitize(name), longest_shared - 1 - digits) + "-" + digits_of(uuid_hex, digits);
}

std::optional<dedicated_name> as_dedicated_group(std::string_view group, std::string_view machine) {
  const auto parts = split_dedicated(group);
  if (!parts || parts->rest != base::to_lower(machine)) {
    return std::nullopt;
  }
  return dedicated_name{parts->digits.size()};
}

std::optional<std::string> machine_of_group(std::string_view group) {
  const auto parts = split_dedicated(group);
  return parts ? std::optional<std::string>(parts->rest) : std::nullopt;
}

std::string computer_name(std::string_view machine) {
  std::string out = sanitize(machine.substr(0, 200));
  // sanitize stops at 50; a machine's own suffix must survive, it tells two machines apart.
  if (machine.size() > longest_base && machine.size() <= longest_shared) {
    out = base::to_lower(machine);
  }
  return std::all_of(out.begin(), out.end(), is_digit) ? "vm-" + out : out;
}

std::string objection_to_group_name(std::string_view group) {
  std::size_t characters = 0;
  for (const char c : group) {
    const auto byte = static_cast<unsigned char>(c);
    characters += (byte & 0xC0U) != 0x80U ? 1U : 0U;
    // Letters and digits of every script are allowed; which those are, Azure knows.
    const bool allowed = byte >= 0x80U || is_digit(c) || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z') ||
                         std::string_view("_-.()").find(c) != std::string_view::npos;
    if (!allowed) {
      return "holds a character other than letters, digits, '_', '-', '.', '(' and ')'";
    }
  }
  if (characters == 0 || characters > longest_group) {
    return "must have 1 to 90 characters";
  }
  return group.back() == '.' ? "ends with a dot" : "";
}

std::string normal_location(std::string_view location) {
  std::string out = base::to_lower(location);
  out.erase(std::remove(out.begin(), out.end(), ' '), out.end());
  return out;
}

} // namespace siteagent::azure
