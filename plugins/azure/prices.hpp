// SPDX-License-Identifier: MIT
// Which rows of the retail price list count, and what they come to. List prices: no discount of an
// agreement, no traffic. Pure.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/decimal.hpp"
#include "core/base/json.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

inline constexpr std::int64_t hours_of_month = 730;

// One row that counts, for as long as it is valid.
struct list_price {
  base::decimal amount; // above zero, in the currency asked for
  base::wall_time from;
  std::optional<base::wall_time> until;
  bool cloud_services = false; // sold through another product than plain machines
  std::string size;            // of a machine, as the list spells it
  std::string meter;           // "D2s v5"
};

using list_prices = std::vector<list_price>;
// By what is sold, lower case: "standard_d2s_v5", "p6 lrs".
using prices_by_name = std::map<std::string, list_prices>;

// Adds the row when it is an hour of a Linux machine on demand in that currency: no Windows, spot,
// low priority, development, reservation or dedicated host, and no zero. Key: the size.
void add_machine_hour(prices_by_name& out, const base::json& row, std::string_view currency);
// A month of a managed disk of one tier. Key: "p6 lrs".
void add_disk_month(prices_by_name& out, const base::json& row, std::string_view currency);
// An hour of a Standard static IPv4 address. Key: "".
void add_address_hour(prices_by_name& out, const base::json& row, std::string_view currency);

// The row whose price counts at `now`; nullptr: there is none. The highest of the rows valid at
// `now`, so that a doubt never makes a machine look cheap. Rows of the product Cloud Services count
// only when there is no other.
const list_price* row_at(const list_prices& prices, base::wall_time now);
std::optional<base::decimal> price_at(const list_prices& prices, base::wall_time now);
std::optional<base::decimal>
price_at(const prices_by_name& prices, std::string_view name, base::wall_time now);

// What a managed disk is sold as.
struct disk_offer {
  std::string product; // "Premium SSD Managed Disks"
  std::string tier;    // "p6 lrs"
};

// nullopt: a kind of disk sold by figures of its own (Ultra, Premium v2), or larger than any tier.
std::optional<disk_offer> offer_of_disk(std::string_view storage_account_type, std::int64_t gib);

} // namespace siteagent::azure
