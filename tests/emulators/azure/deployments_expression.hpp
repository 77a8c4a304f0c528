// SPDX-License-Identifier: MIT
// The expressions of deployment templates: "[concat(parameters('name'), '-nic')]".
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// What an expression can refer to.
struct template_scope {
  std::string subscription;
  std::string group;
  std::string location; // of the group
  std::string deployment;
  const base::json* parameters = nullptr; // name -> value
  const base::json* variables = nullptr;  // name -> value, evaluated when used
  std::int64_t copy_index = -1;
  // The object with this id or name; null = not there. `full`: with id, location, tags.
  std::function<base::json(const std::string& id, bool full)> reference;
};

// Evaluates every string of a value that is an expression; errors name the expression.
base::result<base::json> evaluate(const base::json& value, const template_scope& scope);

} // namespace siteagent::azure_emulator
