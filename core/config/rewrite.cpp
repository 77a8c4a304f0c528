// SPDX-License-Identifier: MIT
#include "core/config/rewrite.hpp"

#include "core/config/yaml.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace siteagent::config {

namespace {

// Stays what it is without quotes inside a flow collection.
bool is_safe_plain(std::string_view text) {
  if (text.empty() || text.front() == '-' || text.back() == ':') {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/' || c == '+';
  });
}

bool is_negative_number(std::string_view text) {
  return text.size() > 1 && text.front() == '-' &&
         text.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

// JSON strings are YAML's double-quoted scalars.
void write(std::string& out, const value& v) {
  switch (v.type) {
  case value::kind::null:
    out += "null";
    return;
  case value::kind::scalar:
    if (!v.quoted && (is_safe_plain(v.text) || is_negative_number(v.text))) {
      out += v.text;
    } else {
      out += base::json(v.text).dump();
    }
    return;
  case value::kind::list: {
    out += '[';
    bool first = true;
    for (const value& item : v.list) {
      out += first ? "" : ", ";
      write(out, item);
      first = false;
    }
    out += ']';
    return;
  }
  case value::kind::map: {
    out += '{';
    bool first = true;
    for (const value::entry& e : v.map) {
      out += (first ? "" : ", ") + base::json(e.first).dump() + ": ";
      write(out, e.second);
      first = false;
    }
    out += '}';
    return;
  }
  }
}

value scalar(std::string text, bool quoted) {
  value v;
  v.type = value::kind::scalar;
  v.text = std::move(text);
  v.quoted = quoted;
  return v;
}

} // namespace

base::result<value> read_tree(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return base::error{
        .code = base::error_code::invalid,
        .message = path + ": cannot be read: " + std::strerror(errno)};
  }
  std::ostringstream text;
  text << in.rdbuf();
  std::vector<finding> findings;
  base::result<value> tree = read_yaml(text.str(), path, findings);
  if (tree && !tree->is_map()) {
    return base::error{
        .code = base::error_code::invalid, .message = path + ":1:1: the file must be a mapping"};
  }
  return tree;
}

void set_key(value& map, std::string_view key, value v) {
  map.type = value::kind::map;
  for (value::entry& e : map.map) {
    if (e.first == key) {
      e.second = std::move(v);
      return;
    }
  }
  map.map.emplace_back(std::string(key), std::move(v));
}

void erase_key(value& map, std::string_view key) {
  std::erase_if(map.map, [&](const value::entry& e) { return e.first == key; });
}

value from_json(const base::json& j) {
  value v;
  if (j.is_array()) {
    v.type = value::kind::list;
    for (const base::json& item : j.items()) {
      v.list.push_back(from_json(item));
    }
  } else if (j.is_object()) {
    v.type = value::kind::map;
    for (const auto& [key, item] : j.members()) {
      v.map.emplace_back(key, from_json(item));
    }
  } else if (j.is_string()) {
    return scalar(j.string_or(""), true);
  } else if (!j.is_null()) {
    return scalar(j.dump(), false);
  }
  return v;
}

std::string to_yaml(const value& v) {
  if (!v.is_map()) {
    std::string out;
    write(out, v);
    return out + "\n";
  }
  std::string out;
  for (const value::entry& e : v.map) {
    out += base::json(e.first).dump() + ": ";
    write(out, e.second);
    out += '\n';
  }
  return out;
}

} // namespace siteagent::config
