// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/size_name.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <vector>

namespace siteagent::azure::cloud_host {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

// The parts between underscores, in lower case.
std::vector<std::string> parts_of(std::string_view text) {
  const std::string lower = base::to_lower(text);
  std::vector<std::string> out;
  for (const auto part : base::split(lower, '_')) {
    out.emplace_back(part);
  }
  return out;
}

std::size_t behind_family(std::string_view type) {
  return static_cast<std::size_t>(std::find_if(type.begin(), type.end(), is_digit) - type.begin());
}

bool is_version(std::string_view part) {
  return part.size() > 1 && part.front() == 'v' &&
         std::all_of(part.begin() + 1, part.end(), is_digit);
}

} // namespace

bool is_size_name(std::string_view text) {
  const auto parts = parts_of(text);
  const bool well_made =
      parts.size() >= 2 && (parts[0] == "standard" || parts[0] == "basic") &&
      std::none_of(parts.begin(), parts.end(), [](const std::string& p) { return p.empty(); });
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return well_made && text.size() <= 64 &&
         base::to_lower(text).find_first_not_of(allowed) == std::string::npos;
}

std::string canonical_size(std::string_view text) {
  if (!is_size_name(text)) {
    return std::string(text);
  }
  const auto parts = parts_of(text);
  std::string out = upper(parts[0].substr(0, 1)) + parts[0].substr(1);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string& p = parts[i];
    out += '_';
    if (i == 1) {
      const std::size_t at = behind_family(p);
      out += upper(p.substr(0, at)) + p.substr(at);
    } else if (is_version(p)) {
      out += p;
    } else {
      out += p == "promo" ? "Promo" : upper(p); // an accelerator, "A100"
    }
  }
  return out;
}

bool is_arm64_size(std::string_view text) {
  const auto parts = parts_of(text);
  if (!is_size_name(text)) {
    return false;
  }
  const std::string& type = parts[1];
  return type.find('p', behind_family(type)) != std::string::npos;
}

} // namespace siteagent::azure::cloud_host
