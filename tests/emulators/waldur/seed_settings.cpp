// SPDX-License-Identifier: MIT
// The part of a seed that is about the server as a whole.
#include "seed_parts.hpp"

namespace siteagent::waldur_emulator {

namespace {

base::result<void> read_flag(const json& d, std::string_view key, bool& target) {
  const json* value = d.find(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_bool()) {
    return seed_error(key, "must be true or false");
  }
  target = *value->boolean();
  return {};
}

} // namespace

std::vector<std::string> texts_of(const json& list) {
  std::vector<std::string> texts;
  for (const json& text : list.items()) {
    texts.push_back(text.string_or(""));
  }
  return texts;
}

base::result<void> read_settings(store& s, const json& d) {
  for (const auto& [key, target] :
       {std::pair<std::string_view, bool*>{"auto_approve", &s.auto_approve},
        {"unified_queues", &s.unified_queues},
        {"log_shipping", &s.takes_logs}}) {
    if (auto read = read_flag(d, key, *target); !read) {
      return read;
    }
  }
  if (const json* value = d.find("page_size")) {
    const auto n = value->integer();
    if (!n || *n < 1 || *n > 300) {
      return seed_error("page_size", "must be 1..300");
    }
    s.page_size = static_cast<std::size_t>(*n);
  }
  if (const json* value = d.find("timezone")) {
    const auto zone = base::time_zone::find(value->string_or(""));
    if (!zone) {
      return seed_error("timezone", "no such zone");
    }
    s.zone = *zone;
  }
  if (const json* value = d.find("observable_types")) {
    s.observable_types = texts_of(*value);
  }
  if (const json* value = d.find("version")) {
    s.version = value->string_or(s.version);
  }
  return {};
}

} // namespace siteagent::waldur_emulator
