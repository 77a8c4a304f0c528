// SPDX-License-Identifier: MIT
// The operator's file as a tree that can be changed and written again. For commands that run the
// agent on a variant of it; comments and layout are lost.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/config/value.hpp"

#include <string>
#include <string_view>

namespace siteagent::config {

// Errors as config::load has them: unreadable, no YAML mapping, name:line:column.
base::result<value> read_tree(const std::string& path);

// Sets that key of a map, or adds it at the end. `map` null: becomes a map.
void set_key(value& map, std::string_view key, value v);
void erase_key(value& map, std::string_view key);

// Texts are quoted, numbers and booleans plain.
value from_json(const base::json& j);

// YAML that reads back as an equal tree (digest_of): plain scalars stay plain, quoted ones quoted.
std::string to_yaml(const value& v);

} // namespace siteagent::config
