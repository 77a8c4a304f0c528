// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/host_prices.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/cloud_host/size_name.hpp"

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

// One size is asked for by its name, whose case counts there; a name the list spells otherwise is
// found among all of the location.
base::result<prices_by_name> rows_of(
    const price_client& list,
    const arm::scope& call,
    const std::string& size,
    const std::string& location
) {
  auto rows = list.machine(call, location, canonical_size(size));
  if (!rows || !rows->empty()) {
    return rows;
  }
  return list.machines(call, location);
}

} // namespace

base::result<json> price_size(
    const price_client& list,
    const arm::scope& call,
    base::wall_time now,
    const std::string& size,
    const std::vector<std::string>& locations
) {
  json quotes = json::array();
  std::string spelled = canonical_size(size);
  for (const std::string& location : locations) {
    const auto rows = rows_of(list, call, size, location);
    if (!rows) {
      return base::with_context(rows.error(), "price " + spelled + " in " + location);
    }
    const auto of_size = rows->find(base::to_lower(size));
    const list_price* row = of_size == rows->end() ? nullptr : row_at(of_size->second, now);
    if (row == nullptr) {
      continue;
    }
    spelled = row->size;
    quotes.push_back(json::object(
        {{"location", location},
         {"hour", row->amount.to_string()},
         {"currency", list.currency()},
         {"meter", row->meter}}
    ));
  }
  return json::object(
      {{"quotes", std::move(quotes)},
       {"size", spelled},
       {"source", list.origin() + " (retail list, consumption)"},
       {"read_at", base::to_rfc3339(now)}}
  );
}

} // namespace siteagent::azure::cloud_host
