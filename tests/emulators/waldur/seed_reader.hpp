// SPDX-License-Identifier: MIT
// Reading of one object of a seed list: typed fields with defaults; unknown keys and wrong types
// are collected and reported with their place.
#pragma once

#include "core/base/result.hpp"
#include "model.hpp"

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace siteagent::waldur_emulator {

base::error seed_error(std::string_view where, std::string_view what);

class seed_item {
public:
  seed_item(json object, std::string where);

  const std::string& where() const { return where_; }

  bool has(std::string_view key) const { return object_.find(key) != nullptr; }

  // nullptr when absent; marks the key as known.
  const json* take(std::string_view key);

  std::string text(std::string_view key, std::string fallback);
  bool flag(std::string_view key, bool fallback);
  json object(std::string_view key);
  std::string uuid(std::string_view key, std::string fallback);
  base::wall_time time(std::string_view key, base::wall_time fallback);
  std::string
  one_of(std::string_view key, std::string fallback, std::span<const std::string_view> allowed);

  // The uuid of a row of `t`.
  template <class Row>
  std::string reference(std::string_view key, const table<Row>& t, std::string fallback) {
    if (!has(key)) {
      return fallback;
    }
    std::string hex = uuid(key, std::move(fallback));
    if (t.find(hex) == nullptr) {
      complain(std::string(key) + " " + hex + " does not exist");
    }
    return hex;
  }

  void complain(std::string_view what);
  // Takes over what a nested item has to complain about.
  void adopt(const seed_item& nested);
  // The first complaint, or an unknown key.
  base::result<void> verdict() const;

private:
  json object_;
  std::string where_;
  std::set<std::string, std::less<>> taken_;
  std::string complaint_;
};

// A list: an array of objects; or a count n; or {"count": n, ...}, n times the same object in whose
// strings "{n}" is the number from 1.
base::result<void> for_each_item(
    const json& list,
    std::string_view key,
    const std::function<void(seed_item& item, std::size_t index)>& read
);

} // namespace siteagent::waldur_emulator
