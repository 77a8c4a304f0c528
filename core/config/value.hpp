// SPDX-License-Identifier: MIT
// A YAML value with its position, as the operator wrote it: scalars stay text until a reader or a
// plugin's schema says what they are. Free of yaml-cpp.
#pragma once

#include "core/base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::config {

struct position {
  int line = 0; // from 1; 0: unknown
  int column = 0;
};

struct value {
  enum class kind : std::uint8_t { null, scalar, list, map };
  struct entry;

  kind type = kind::null;
  std::string text;    // scalars
  bool quoted = false; // a scalar in quotes: text, whatever it looks like
  std::vector<value> list;
  std::vector<entry> map; // unique keys, in file order; "<<" already expanded
  position at;
  position key_at; // of a value in a map: where its key starts

  bool is_null() const { return type == kind::null; }

  bool is_scalar() const { return type == kind::scalar; }

  bool is_list() const { return type == kind::list; }

  bool is_map() const { return type == kind::map; }

  // nullptr when absent or when this is no map; a null value is not absent.
  const value* find(std::string_view key) const;
};

struct value::entry {
  entry(std::string key, value v) : first(std::move(key)), second(std::move(v)) {}

  std::string first; // the key
  value second;
};

// For values that no schema describes. Quoted scalars and everything doubtful stay text; plain
// true/false (also True, TRUE, ...) become booleans, plain decimal integers and fractions without a
// leading zero become numbers that keep their spelling ("1.10").
base::json to_json(const value& v);
// Settings that were written as JSON: texts become quoted scalars, so that to_json and every schema
// read them as what they are. Positions are unknown.
value to_value(const base::json& j);

// Equal for equal values, wherever they stand in the file; kept in memory only.
std::size_t digest_of(const value& v);

// A key as findings show it: its first 60 bytes, ended by "..." at the first sign that is unusual
// in a key. A missing quote can make a key of half the file, with what is secret there.
std::string shown_key(std::string_view key);

// What was found wrong. Printed as "file:line:column: error|warning: key: why".
struct finding {
  bool fatal = false;
  std::string file;
  position at;
  std::string key; // path, for example "offerings[0].backend_settings.tenant_id"
  std::string why;

  std::string text() const;
};

} // namespace siteagent::config
