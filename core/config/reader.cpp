// SPDX-License-Identifier: MIT
#include "core/config/reader.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace siteagent::config {

namespace {

std::string_view kind_name(const value& v) {
  switch (v.type) {
  case value::kind::null:
    return "nothing";
  case value::kind::scalar:
    return "a plain value";
  case value::kind::list:
    return "a list";
  case value::kind::map:
    return "a mapping";
  }
  return "something else";
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string listed(std::initializer_list<std::string_view> words) {
  std::string out;
  std::size_t left = words.size();
  for (const std::string_view w : words) {
    --left;
    out += std::string(w) + (left == 0 ? "" : left == 1 ? " or " : ", ");
  }
  return out;
}

} // namespace

std::string shown(const value& v) {
  if (!v.is_scalar()) {
    return std::string(kind_name(v));
  }
  std::string out;
  for (const char c : base::truncated(v.text, 60)) {
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return "'" + out + (v.text.size() > 60 ? "...'" : "'");
}

map_reader::map_reader(context& ctx, const value& map, std::string path)
    : ctx_(ctx), map_(map), path_(std::move(path)) {}

const value* map_reader::get(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.push_back(key);
  }
  const value* v = map_.find(key);
  return v == nullptr || v->is_null() ? nullptr : v;
}

const value* map_reader::scalar(std::string_view key, std::string_view expected) {
  const value* v = get(key);
  if (v != nullptr && !v->is_scalar()) {
    fail(key, "expected " + std::string(expected) + ", not " + std::string(kind_name(*v)));
    return nullptr;
  }
  return v;
}

std::optional<std::string> map_reader::text(std::string_view key) {
  const value* v = scalar(key, "text");
  return v == nullptr ? std::nullopt : std::optional(v->text);
}

std::string map_reader::required_text(std::string_view key) {
  require(key);
  const value* v = scalar(key, "text");
  if (v == nullptr) {
    return {};
  }
  if (base::trim(v->text).empty()) {
    fail(key, "must not be empty");
  }
  return v->text;
}

std::optional<bool> map_reader::boolean(std::string_view key) {
  const value* v = scalar(key, "true or false");
  if (v == nullptr) {
    return std::nullopt;
  }
  const std::string lower = base::to_lower(v->text);
  const bool yes = is_one_of(lower, {"true", "yes", "on"});
  const bool no = is_one_of(lower, {"false", "no", "off"});
  // Lower, upper or capitalised, as Python's loader takes them; not "tRuE".
  const bool regular =
      v->text == lower || v->text.substr(1) == lower.substr(1) ||
      std::none_of(v->text.begin(), v->text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if ((!yes && !no) || !regular) {
    fail(key, "expected true or false, not " + shown(*v));
    return std::nullopt;
  }
  if (v->quoted) {
    fail(key, "expected true or false, not the text " + shown(*v) + "; drop the quotes");
    return std::nullopt;
  }
  if (lower != "true" && lower != "false") {
    warn(
        key,
        "read as " + std::string(yes ? "true" : "false") + "; write that instead of " + shown(*v)
    );
  }
  return yes;
}

std::optional<std::int64_t>
map_reader::integer(std::string_view key, std::int64_t lowest, std::int64_t highest) {
  const std::string range = "a whole number from " + std::to_string(lowest) +
                            (highest == INT64_MAX ? "" : " to " + std::to_string(highest));
  const value* v = scalar(key, range);
  if (v == nullptr) {
    return std::nullopt;
  }
  const std::string_view t = v->text;
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(t.data(), t.data() + t.size(), n, 10);
  const bool digits = problem == std::errc{} && end == t.data() + t.size();
  const std::string_view magnitude = t.starts_with('-') ? t.substr(1) : t;
  if (digits && magnitude.size() > 1 && magnitude.front() == '0') {
    fail(key, "expected " + range + ", not " + shown(*v) + "; drop the leading zero");
    return std::nullopt;
  }
  if (!digits || n < lowest || n > highest) {
    fail(key, "expected " + range + ", not " + shown(*v));
    return std::nullopt;
  }
  if (v->quoted) {
    fail(key, "expected " + range + ", not the text " + shown(*v) + "; drop the quotes");
    return std::nullopt;
  }
  return n;
}

std::optional<base::decimal> map_reader::decimal(std::string_view key) {
  constexpr std::string_view expected = "a number such as 1024 or 0.5";
  const value* v = scalar(key, expected);
  if (v == nullptr) {
    return std::nullopt;
  }
  const auto n = base::decimal::parse(v->text);
  if (!n || v->text.find_first_of("eE") != std::string::npos) {
    fail(key, "expected " + std::string(expected) + ", not " + shown(*v));
    return std::nullopt;
  }
  if (v->quoted) {
    fail(
        key,
        "expected " + std::string(expected) + ", not the text " + shown(*v) + "; drop the quotes"
    );
    return std::nullopt;
  }
  return n;
}

std::optional<std::string>
map_reader::word(std::string_view key, std::initializer_list<std::string_view> words) {
  const value* v = scalar(key, listed(words));
  if (v == nullptr) {
    return std::nullopt;
  }
  if (!is_one_of(v->text, words)) {
    fail(key, "expected " + listed(words) + ", not " + shown(*v));
    return std::nullopt;
  }
  return v->text;
}

const value* map_reader::map(std::string_view key) {
  const value* v = get(key);
  if (v != nullptr && !v->is_map()) {
    fail(key, "expected a mapping, not " + std::string(kind_name(*v)));
    return nullptr;
  }
  return v;
}

const value* map_reader::list(std::string_view key) {
  const value* v = get(key);
  if (v != nullptr && !v->is_list()) {
    fail(key, "expected a list, not " + std::string(kind_name(*v)));
    return nullptr;
  }
  return v;
}

void map_reader::require(std::string_view key) {
  if (get(key) == nullptr) {
    fail(key, "required");
  }
}

void map_reader::fail(std::string_view key, std::string why) {
  report(true, key, std::move(why));
}

void map_reader::warn(std::string_view key, std::string why) {
  report(false, key, std::move(why));
}

// The value's place; the key's for an empty value, the mapping's for an absent key.
void map_reader::report(bool fatal, std::string_view key, std::string why) {
  fatal_count_ += fatal ? 1 : 0;
  const value* v = map_.find(key);
  position at = map_.at;
  if (v != nullptr) {
    at = v->is_null() || v->at.line == 0 ? v->key_at : v->at;
  }
  ctx_.findings.push_back({fatal, ctx_.file, at, path_of(key), std::move(why)});
}

void map_reader::finish(const std::function<bool(std::string_view)>& expected) {
  for (const auto& [key, v] : map_.map) {
    const bool known = std::find(known_.begin(), known_.end(), key) != known_.end();
    if (known || (expected && expected(key))) {
      continue;
    }
    const std::string_view similar = base::nearest(key, known_);
    const std::string hint =
        similar.empty() ? "ignored" : "did you mean '" + std::string(similar) + "'?";
    ctx_.findings.push_back({false, ctx_.file, v.key_at, path_of(key), "unknown key; " + hint});
  }
}

std::string map_reader::path_of(std::string_view key) const {
  return path_.empty() ? shown_key(key) : path_ + "." + shown_key(key);
}

} // namespace siteagent::config
