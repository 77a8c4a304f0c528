// SPDX-License-Identifier: MIT
#include "core/fleet/provider_answers.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::fleet {

namespace {

using base::json;

const json& nothing() {
  static const auto* const blank = new json;
  return *blank;
}

std::string path_of(const std::string& where, std::string_view key) {
  return where.empty() ? std::string(key) : where + "." + std::string(key);
}

} // namespace

void answer_reader::complain(std::string_view member, std::string_view rule) {
  if (first_.empty()) {
    first_ = std::string(member) + " " + std::string(rule);
  }
}

base::error answer_reader::bug(std::string_view rule) const {
  return {
      .code = base::error_code::plugin_bug,
      .message = what_ + ": " + std::string(rule) + "; report this to the plugin's author"};
}

std::optional<base::error> answer_reader::fault() const {
  if (first_.empty()) {
    return std::nullopt;
  }
  return bug("in its answer " + first_);
}

const json& answer_reader::only(const std::vector<json>& answer) {
  if (answer.size() == 1) {
    return answer.front();
  }
  complain("there", "are " + std::to_string(answer.size()) + " objects instead of one");
  return nothing();
}

std::string answer_reader::text(const json& o, const std::string& where, std::string_view key) {
  const auto found = o[key].string();
  if (!found || found->empty()) {
    complain(path_of(where, key), found ? "is empty" : "is missing or no text");
  }
  return std::string(found.value_or(""));
}

std::string
answer_reader::optional_text(const json& o, const std::string& where, std::string_view key) {
  if (!o[key].is_null() && !o[key].is_string()) {
    complain(path_of(where, key), "is no text");
  }
  return o[key].string_or("");
}

std::string answer_reader::word(
    const json& o,
    const std::string& where,
    std::string_view key,
    std::initializer_list<std::string_view> allowed
) {
  std::string found = text(o, where, key);
  if (std::find(allowed.begin(), allowed.end(), found) == allowed.end()) {
    std::vector<std::string> words(allowed.begin(), allowed.end());
    complain(path_of(where, key), "is none of " + base::join(words, ", "));
  }
  return found;
}

std::int64_t answer_reader::integer(const json& o, const std::string& where, std::string_view key) {
  const auto found = o[key].is_number() ? o[key].integer() : std::nullopt;
  if (!found) {
    complain(path_of(where, key), "is missing or no whole number");
  }
  return found.value_or(0);
}

bool answer_reader::flag(const json& o, const std::string& where, std::string_view key) {
  const auto found = o[key].boolean();
  if (!found) {
    complain(path_of(where, key), "is missing or neither true nor false");
  }
  return found.value_or(false);
}

bool answer_reader::optional_flag(const json& o, const std::string& where, std::string_view key) {
  return !o[key].is_null() && flag(o, where, key);
}

const json& answer_reader::list(const json& o, const std::string& where, std::string_view key) {
  if (!o[key].is_array()) {
    complain(path_of(where, key), "is missing or no list");
  }
  return o[key];
}

const json& answer_reader::object(const json& o, const std::string& where, std::string_view key) {
  if (!o[key].is_object()) {
    complain(path_of(where, key), "is missing or no object");
  }
  return o[key];
}

std::vector<std::string>
answer_reader::texts(const json& o, const std::string& where, std::string_view key) {
  std::vector<std::string> made;
  for (const json& each : list(o, where, key).items()) {
    if (!each.is_string()) {
      complain(path_of(where, key), "has an item that is no text");
    }
    made.push_back(each.string_or(""));
  }
  return made;
}

} // namespace siteagent::fleet
