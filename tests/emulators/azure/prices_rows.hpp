// SPDX-License-Identifier: MIT
// The rows of the price list before they are filtered and shown.
#pragma once

#include "prices.hpp"

#include "core/base/clock.hpp"

#include <string>
#include <vector>

namespace siteagent::azure_emulator {

struct price_row {
  std::string region;  // "westeurope"
  std::string place;   // "EU West"
  std::string product; // "Virtual Machines Dsv5 Series"
  std::string sku;     // "D2s v5 Spot"
  std::string meter;
  std::string service = "Virtual Machines";
  std::string family = "Compute";
  std::string unit = "1 Hour";
  std::string type = "Consumption";
  std::string size; // armSkuName
  base::decimal price;
  std::string tier = "0.0";
  std::string starts = "2021-01-01T00:00:00Z";
  std::string ends; // "" = open
  std::string term; // of a reservation
  bool primary = true;
  base::json as_given; // a row of the seed, else null
};

// Everything on sale, in a stable order.
std::vector<price_row> price_rows(const world& w, base::wall_time now);

// Values as a filter sees them and as an answer shows them.
std::optional<std::string> field_of(const price_row& row, std::string_view field);
bool is_price_field(std::string_view field);
base::json show_price(
    const price_row& row, const std::string& currency, const base::decimal& rate, bool savings_plans
);

// The names under which the seed knows the trap rows.
const std::set<std::string>& all_price_traps();

} // namespace siteagent::azure_emulator
