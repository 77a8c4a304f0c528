// SPDX-License-Identifier: MIT
// Strict reading of one YAML mapping: remembers which keys were asked for and complains about the
// rest. Internal to core/config.
#pragma once

#include "core/base/decimal.hpp"
#include "core/config/value.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::config {

// Where findings of one file go.
struct context {
  std::string file;
  std::vector<finding> findings;
};

// A problem with a value goes to the context as a fatal finding, and the value reads as absent.
// Messages show at most 60 bytes of a value, and nothing of a secret one.
class map_reader {
public:
  // `map` must outlive the reader; `path` is "" for the root.
  map_reader(context& ctx, const value& map, std::string path);

  // The value as written; nullptr when absent or null.
  const value* get(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  // Like text; absent and empty are errors.
  std::string required_text(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::int64_t>
  integer(std::string_view key, std::int64_t lowest, std::int64_t highest);
  // Plain decimal notation, quoted or an exponent refused.
  std::optional<base::decimal> decimal(std::string_view key);
  // One of `words`; nullopt also when it is none (reported).
  std::optional<std::string>
  word(std::string_view key, std::initializer_list<std::string_view> words);
  const value* map(std::string_view key);
  const value* list(std::string_view key);

  void require(std::string_view key); // reports an absent or null key
  void fail(std::string_view key, std::string why);
  void warn(std::string_view key, std::string why);

  // Warns about every key nobody asked for, unless `expected(key)`.
  void finish(const std::function<bool(std::string_view)>& expected = {});

  std::string path_of(std::string_view key) const;

  // How many fatal findings this reader has made.
  std::size_t fatal_count() const { return fatal_count_; }

  const std::vector<std::string_view>& known_keys() const { return known_; }

private:
  void report(bool fatal, std::string_view key, std::string why);
  const value* scalar(std::string_view key, std::string_view expected);

  context& ctx_;
  const value& map_;
  std::string path_;
  std::vector<std::string_view> known_;
  std::size_t fatal_count_ = 0;
};

// Up to 60 bytes of a value in quotes, for messages.
std::string shown(const value& v);

} // namespace siteagent::config
