// SPDX-License-Identifier: MIT
// Small text helpers. ASCII only and independent of the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::base {

std::string to_lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Edit distance, for "did you mean" (both short: O(n*m)).
std::size_t edit_distance(std::string_view a, std::string_view b);
// The nearest candidate within distance 2 (and less than half of the word), or "".
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);
std::string base64(std::string_view bytes);
// Cut to `bytes` at most without splitting a UTF-8 sequence.
std::string_view truncated(std::string_view text, std::size_t bytes);

} // namespace siteagent::base
