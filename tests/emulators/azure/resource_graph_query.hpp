// SPDX-License-Identifier: MIT
// Queries over rows of JSON: reading and running them. Knows nothing about Azure.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

struct graph_query {
  // One step of the pipeline.
  using step = std::function<void(std::vector<base::json>& rows)>;

  std::string table; // lower case
  std::vector<step> steps;

  // Errors say what was not understood.
  static base::result<graph_query> parse(std::string_view text);
};

} // namespace siteagent::azure_emulator
