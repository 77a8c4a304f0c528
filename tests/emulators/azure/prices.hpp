// SPDX-License-Identifier: MIT
// The public retail price list, with every row that a careless reader takes for the price.
#pragma once

#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/server.hpp"
#include "tests/emulators/common/emulator.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

class world;

// The seed's "prices".
struct price_settings {
  std::map<std::string, base::decimal> hourly;     // lower-case size -> USD per hour
  std::map<std::string, base::decimal> currencies; // code -> units per USD
  std::set<std::string> traps;                     // names of the trap rows, see prices.cpp
  std::vector<base::json> items;                   // further rows, as they are shown
  bool only_items = false;                         // nothing but those
  std::size_t page_size = 100;

  static price_settings defaults();
  base::decimal hourly_of(std::string_view size, std::int64_t cores) const;
};

// {"hourly": {"Standard_B1s": "0.012"}, "currencies": {"EUR": "0.9"}, "traps": ["spot"],
//  "items": [{...}], "only_items": false, "page_size": 100}; what is absent keeps its default.
base::result<price_settings> read_prices(const base::json& value);

// GET /api/retail/prices; nullopt: another path.
std::optional<net::server_response>
answer_prices(const world& w, const net::server_request& http, const emulators::call& call);

} // namespace siteagent::azure_emulator
