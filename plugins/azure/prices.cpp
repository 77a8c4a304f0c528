// SPDX-License-Identifier: MIT
#include "plugins/azure/prices.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

bool contains(const base::json& text, std::string_view lower_case_part) {
  return base::to_lower(text.string_or("")).find(lower_case_part) != std::string::npos;
}

bool is(const base::json& text, std::string_view wanted) {
  return base::equals_ignoring_case(text.string_or(""), wanted);
}

// What every row that counts has in common. nullopt: it does not count.
std::optional<list_price>
priced(const base::json& row, std::string_view currency, std::string_view unit) {
  const auto tier = base::decimal::parse(row["tierMinimumUnits"].number_text().value_or("0"));
  const bool plain = is(row["type"], "Consumption") && row["reservationTerm"].is_null() &&
                     is(row["unitOfMeasure"], unit) && is(row["currencyCode"], currency) && tier &&
                     tier->is_zero();
  const auto amount = base::decimal::parse(row["retailPrice"].number_text().value_or(""));
  const auto from = base::parse_rfc3339(row["effectiveStartDate"].string_or(""));
  // New sizes are listed at zero for weeks: that is no price.
  if (!plain || !amount || amount->is_zero() || amount->is_negative() || !from) {
    return std::nullopt;
  }
  list_price out{
      *amount,
      *from,
      std::nullopt,
      contains(row["productName"], "cloud services"),
      row["armSkuName"].string_or(""),
      row["meterName"].string_or("")};
  if (!row["effectiveEndDate"].is_null()) {
    out.until = base::parse_rfc3339(row["effectiveEndDate"].string_or(""));
    if (!out.until) {
      return std::nullopt;
    }
  }
  return out;
}

bool is_interruptible(const base::json& name) {
  return contains(name, " spot") || contains(name, " low priority");
}

struct disk_tier {
  std::int64_t gib;
  int number;
};

constexpr auto disk_tiers = std::to_array<disk_tier>(
    {{4, 1},
     {8, 2},
     {16, 3},
     {32, 4},
     {64, 6},
     {128, 10},
     {256, 15},
     {512, 20},
     {1024, 30},
     {2048, 40},
     {4096, 50},
     {8192, 60},
     {16384, 70},
     {32767, 80}}
);

struct disk_family {
  std::string_view account_type; // before "_LRS"
  std::string_view product;
  char letter;
  int first; // number of the smallest tier
};

constexpr auto disk_families = std::to_array<disk_family>(
    {{"Premium", "Premium SSD Managed Disks", 'p', 1},
     {"StandardSSD", "Standard SSD Managed Disks", 'e', 1},
     {"Standard", "Standard HDD Managed Disks", 's', 4}}
);

} // namespace

void add_machine_hour(prices_by_name& out, const base::json& row, std::string_view currency) {
  const bool other = contains(row["productName"], "windows") ||
                     contains(row["productName"], "dedicated host") ||
                     is_interruptible(row["skuName"]) || is_interruptible(row["meterName"]) ||
                     !is(row["serviceName"], "Virtual Machines");
  const std::string size = base::to_lower(row["armSkuName"].string_or(""));
  const auto price = priced(row, currency, "1 Hour");
  if (!other && price && !size.empty()) {
    out[size].push_back(*price);
  }
}

void add_disk_month(prices_by_name& out, const base::json& row, std::string_view currency) {
  const std::string sku = base::to_lower(row["skuName"].string_or(""));
  const std::string meter = base::to_lower(row["meterName"].string_or(""));
  // Beside the disk itself its mounts, operations and bursts are sold under the same name.
  const bool disk = meter == sku + " disk" || meter == sku + " disks" ||
                    meter == sku.substr(0, sku.find(' ')) + " disks";
  const auto price = priced(row, currency, "1/Month");
  if (disk && price) {
    out[sku].push_back(*price);
  }
}

void add_address_hour(prices_by_name& out, const base::json& row, std::string_view currency) {
  const auto price = priced(row, currency, "1 Hour");
  if (is(row["meterName"], "Standard IPv4 Static Public IP") && price) {
    out[""].push_back(*price);
  }
}

const list_price* row_at(const list_prices& prices, base::wall_time now) {
  const list_price* best = nullptr;
  for (const bool cloud_services : {false, true}) {
    for (const list_price& p : prices) {
      const bool valid = p.from <= now && (!p.until || now < *p.until);
      if (valid && p.cloud_services == cloud_services &&
          (best == nullptr || p.amount > best->amount)) {
        best = &p;
      }
    }
    if (best != nullptr) {
      return best;
    }
  }
  return best;
}

std::optional<base::decimal> price_at(const list_prices& prices, base::wall_time now) {
  const list_price* row = row_at(prices, now);
  return row == nullptr ? std::nullopt : std::optional(row->amount);
}

std::optional<base::decimal>
price_at(const prices_by_name& prices, std::string_view name, base::wall_time now) {
  const auto it = prices.find(base::to_lower(name));
  return it == prices.end() ? std::nullopt : price_at(it->second, now);
}

std::optional<disk_offer> offer_of_disk(std::string_view storage_account_type, std::int64_t gib) {
  const auto dash = storage_account_type.find('_');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view kind = storage_account_type.substr(0, dash);
  const std::string redundancy = base::to_lower(storage_account_type.substr(dash + 1));
  for (const disk_family& f : disk_families) {
    if (!base::equals_ignoring_case(f.account_type, kind)) {
      continue;
    }
    for (const disk_tier& t : disk_tiers) {
      if (gib > 0 && gib <= t.gib && t.number >= f.first) {
        return disk_offer{
            std::string(f.product), f.letter + std::to_string(t.number) + " " + redundancy};
      }
    }
  }
  return std::nullopt;
}

} // namespace siteagent::azure
