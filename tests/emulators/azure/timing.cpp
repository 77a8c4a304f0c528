// SPDX-License-Identifier: MIT
#include "timing.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;
using std::chrono::milliseconds;

std::string_view name_of(pace p) {
  constexpr std::array<std::string_view, pace_count> names = {
      "network_write",
      "network_delete",
      "machine_create",
      "machine_update",
      "machine_action",
      "machine_delete",
      "disk",
      "group_delete",
  };
  return names[static_cast<std::size_t>(p)];
}

namespace {

timing make(const std::array<int, pace_count>& seconds, const std::array<int, pace_count>& retry) {
  timing t;
  for (std::size_t i = 0; i < pace_count; ++i) {
    t.durations[i] = std::chrono::seconds(seconds[i]);
  }
  t.retry_after_s = retry;
  return t;
}

constexpr std::array<int, pace_count> one_second = {1, 1, 1, 1, 1, 1, 1, 1};

} // namespace

timing timing::instant() {
  // The duration is only the answer for a client that never looks.
  timing t = make({2, 2, 2, 2, 2, 2, 2, 2}, one_second);
  t.ends_at_first_poll = true;
  return t;
}

timing timing::fast() {
  return make({1, 1, 5, 2, 3, 3, 1, 3}, one_second);
}

timing timing::realistic() {
  timing t = make({3, 4, 90, 10, 35, 60, 3, 120}, {3, 10, 10, 10, 10, 10, 2, 15});
  t.strict_urls = true;
  t.retry_by_type = true;
  return t;
}

result<timing> timing::from_json(const json& document) {
  timing t = fast();
  if (!document.is_object()) {
    return error{error_code::invalid, "timing: the document must be a JSON object"};
  }
  if (const auto* base_name = document.find("base")) {
    auto parsed = parse(base_name->string_or(""));
    if (!parsed || base_name->string_or("").find('/') != std::string::npos) {
      return error{error_code::invalid, "timing: base must be instant, fast or realistic"};
    }
    t = *parsed;
  }
  for (const auto& [key, value] : document.members()) {
    if (key == "ends_at_first_poll" && value.is_bool()) {
      t.ends_at_first_poll = *value.boolean();
    } else if (key == "strict_urls" && value.is_bool()) {
      t.strict_urls = *value.boolean();
    } else if ((key == "durations_ms" || key == "retry_after_s") && value.is_object()) {
      for (const auto& [name, number] : value.members()) {
        std::size_t index = 0;
        while (index < pace_count && name_of(static_cast<pace>(index)) != name) {
          ++index;
        }
        const auto n = number.integer();
        if (index == pace_count || !n || *n < 0 || *n > 86'400'000) {
          return error{error_code::invalid, "timing: " + key + "." + name + " is not usable"};
        }
        if (key == "durations_ms") {
          t.durations[index] = milliseconds(*n);
        } else {
          t.retry_after_s[index] = static_cast<int>(*n);
          t.retry_by_type = t.retry_by_type && static_cast<pace>(index) != pace::network_write;
        }
      }
    } else if (key != "base") {
      return error{error_code::invalid, "timing: unknown key or wrong type: " + key};
    }
  }
  return t;
}

result<timing> timing::parse(std::string_view option) {
  if (option == "instant") {
    return instant();
  }
  if (option == "fast") {
    return fast();
  }
  if (option == "realistic") {
    return realistic();
  }
  const std::string name(option);
  std::ifstream in(name, std::ios::binary);
  if (!in) {
    return error{
        error_code::invalid,
        "timing: " + name + " is neither instant, fast, realistic nor a readable file"};
  }
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto document = json::parse(text);
  if (!document) {
    return base::with_context(document.error(), "timing file " + name);
  }
  return from_json(*document);
}

} // namespace siteagent::azure_emulator
