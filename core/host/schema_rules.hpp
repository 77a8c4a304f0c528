// SPDX-License-Identifier: MIT
// Reading a draft 4 schema for the settings conversion: which types a rule allows, and the rules
// that can be checked value by value with words for people.
#pragma once

#include "core/base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::host {

// The "type" of a rule; empty: any type.
class type_set {
public:
  void add(std::string_view name) { names_.emplace_back(name); }

  bool empty() const { return names_.empty(); }

  bool contains(std::string_view name) const;

  // "a whole number or a text"
  std::string words() const;

private:
  std::vector<std::string> names_;
};

// From "type", else from what only fits one type ("properties", "items").
type_set allowed_types(const base::json& rule);

// Follows local references ("#/definitions/x"); a dangling one allows everything.
const base::json& resolved(const base::json& root, const base::json& rule);

// The rules of anyOf or oneOf when the rule says nothing else about the type; else empty.
std::vector<const base::json*> alternatives(const base::json& rule);

// enum, minimum, maximum, lengths and sizes. "" = kept, else why not ("must be at least 1").
std::string check_simple_rules(const base::json& value, const base::json& rule);

// Words for what the schema's full check found.
std::string
explain_violation(const base::json& root, const base::json_schema::violation& violation);

// The rule of backend_settings.limits: see instance.hpp.
base::json limits_schema();

} // namespace siteagent::host
