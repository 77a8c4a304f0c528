// SPDX-License-Identifier: MIT
#include "prices_rows.hpp"

#include "world.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace siteagent::azure_emulator {

using base::decimal;
using base::json;

namespace {

decimal times(const decimal& price, std::string_view factor) {
  return price.times(*decimal::parse(factor)).value_or(price).rounded(6);
}

// "Standard_D2s_v5" -> "D2s v5"
std::string short_name(std::string_view size) {
  constexpr std::string_view prefix = "Standard_";
  std::string name(size.starts_with(prefix) ? size.substr(prefix.size()) : size);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// "Standard_D2s_v5" -> "Dsv5 Series": the name without its digits up to the version.
std::string series_of(std::string_view size) {
  const std::string name = short_name(size);
  const auto space = name.find(' ');
  std::string series;
  for (const char c : name.substr(0, space)) {
    if (c < '0' || c > '9') {
      series += c;
    }
  }
  return series + (space == std::string::npos ? "" : name.substr(space + 1)) + " Series";
}

std::string day(base::wall_time t) {
  return base::to_rfc3339(t).substr(0, 10) + "T00:00:00Z";
}

struct trap {
  std::string_view name;
  void (*spoil)(price_row& row, base::wall_time now);
};

// Each turns the right row into one that must not be taken for it.
constexpr trap traps[] = {
    {"windows",
     [](price_row& r, base::wall_time) {
       r.product += " Windows";
       r.price = times(r.price, "1.8");
     }},
    {"spot",
     [](price_row& r, base::wall_time) {
       r.sku += " Spot";
       r.meter += " Spot";
       r.price = times(r.price, "0.2");
     }},
    {"low_priority",
     [](price_row& r, base::wall_time) {
       r.sku += " Low Priority";
       r.meter += " Low Priority";
       r.price = times(r.price, "0.25");
     }},
    {"dev_test",
     [](price_row& r, base::wall_time) {
       r.type = "DevTestConsumption";
       r.price = times(r.price, "0.9");
     }},
    {"reservation",
     [](price_row& r, base::wall_time) {
       r.type = "Reservation";
       r.term = "1 Year";
       r.price = times(r.price, "5256");
     }},
    {"reservation",
     [](price_row& r, base::wall_time) {
       r.type = "Reservation";
       r.term = "3 Years";
       r.price = times(r.price, "10512");
     }},
    {"dedicated_host",
     [](price_row& r, base::wall_time) {
       r.product =
           series_of(r.size).substr(0, series_of(r.size).find(' ')) + " Series Dedicated Host";
       r.price = times(r.price, "40");
     }},
    {"cloud_services",
     [](price_row& r, base::wall_time) {
       r.product = series_of(r.size) + " Cloud Services";
       r.price = times(r.price, "1.25");
     }},
    {"zero", [](price_row& r, base::wall_time) { r.price = decimal(0); }},
    {"future",
     [](price_row& r, base::wall_time now) {
       r.starts = day(now + std::chrono::hours(24 * 30));
       r.price = times(r.price, "0.5");
     }},
    {"ended",
     [](price_row& r, base::wall_time now) {
       r.starts = "2019-01-01T00:00:00Z";
       r.ends = day(now - std::chrono::hours(24 * 30));
       r.price = times(r.price, "2");
     }},
    {"tiered",
     [](price_row& r, base::wall_time) {
       r.tier = "100.0";
       r.price = times(r.price, "0.8");
     }},
    {"other_unit",
     [](price_row& r, base::wall_time) {
       r.unit = "1/Month";
       r.price = times(r.price, "730");
     }},
};

struct disk_row {
  std::string_view letter;
  std::string_view product;
  std::string_view factor; // of the price of a premium disk
};

constexpr disk_row disk_kinds[] = {
    {"P", "Premium SSD Managed Disks", "1"},
    {"E", "Standard SSD Managed Disks", "0.5"},
    {"S", "Standard HDD Managed Disks", "0.3"},
};

struct tier_row {
  int number;
  std::string_view monthly; // USD, locally redundant premium
};

// 4 is 32 GiB, each next one is twice as large.
constexpr tier_row tiers[] = {
    {4, "5.81"},
    {6, "11.23"},
    {10, "21.68"},
    {15, "41.84"},
    {20, "80.54"},
    {30, "148.68"},
    {40, "284.95"},
    {50, "545.17"},
    {60, "946.08"},
    {70, "1802.06"},
    {80, "3604.11"},
};

void add_machine_rows(
    std::vector<price_row>& out, const world& w, const price_row& base, base::wall_time now
) {
  // Not the first: whoever takes the first row he sees shall be wrong.
  const auto& wanted = w.prices.traps;
  bool done = false;
  for (const auto& t : traps) {
    if (!done && t.name == "dedicated_host") {
      out.push_back(base);
      done = true;
    }
    if (wanted.count(std::string(t.name)) != 0) {
      out.push_back(base);
      t.spoil(out.back(), now);
    }
  }
}

void add_disk_rows(std::vector<price_row>& out, const price_row& base) {
  for (const auto& kind : disk_kinds) {
    for (const auto& tier : tiers) {
      price_row r = base;
      r.service = "Storage";
      r.family = "Storage";
      r.product = kind.product;
      r.unit = "1/Month";
      const std::string name = std::string(kind.letter) + std::to_string(tier.number);
      const auto price = times(*decimal::parse(tier.monthly), kind.factor);
      r.sku = name + " LRS";
      r.meter = r.sku + " Disk";
      r.price = price;
      out.push_back(r);
      r.meter = r.sku + " Disk Mount";
      r.price = times(price, "0.05");
      out.push_back(r);
      r.sku = name + " ZRS";
      r.meter = r.sku + " Disk";
      r.price = times(price, "1.5");
      out.push_back(r);
    }
    if (kind.letter != "P") {
      price_row r = base;
      r.service = "Storage";
      r.family = "Storage";
      r.product = kind.product;
      r.sku = std::string(kind.letter) + "4 LRS";
      r.meter = r.sku + " Disk Operations";
      r.unit = "10K";
      r.price = *decimal::parse("0.002");
      out.push_back(r);
    }
  }
}

void add_address_rows(std::vector<price_row>& out, const price_row& base) {
  struct row {
    std::string_view sku;
    std::string_view meter;
    std::string_view hourly;
  };

  constexpr row rows[] = {
      {"Basic", "Basic IPv4 Static Public IP", "0.0036"},
      {"Basic", "Basic IPv4 Dynamic Public IP", "0.004"},
      {"Global", "Global IPv4 Static Public IP", "0.01"},
      {"Standard", "Standard IPv4 Static Public IP", "0.005"},
      {"Standard", "Standard IPv6 Static Public IP", "0"},
  };
  for (const auto& r : rows) {
    price_row p = base;
    p.service = "Virtual Network";
    p.family = "Networking";
    p.product = "IP Addresses";
    p.sku = r.sku;
    p.meter = r.meter;
    p.price = *decimal::parse(r.hourly);
    out.push_back(p);
  }
}

// "West Europe" is called "EU West" here, and so are its like.
std::string place_of(const location_entry& l) {
  return l.geography == "Europe" && l.display.find(' ') != std::string::npos
             ? "EU " + l.display.substr(0, l.display.find(' '))
             : l.display;
}

// The same text always gives the same id.
std::string stable_id(std::string_view text) {
  std::uint64_t h = 1469598103934665603U;
  for (const char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  std::array<char, 40> out{};
  std::snprintf(
      out.data(),
      out.size(),
      "%08x-%04x-4%03x-8%03x-%012llx",
      static_cast<unsigned>(h >> 32U),
      static_cast<unsigned>(h >> 16U) & 0xFFFFU,
      static_cast<unsigned>(h) & 0xFFFU,
      static_cast<unsigned>(h >> 12U) & 0xFFFU,
      static_cast<unsigned long long>(h & 0xFFFFFFFFFFFFU)
  );
  return out.data();
}

std::string product_id(const price_row& r) {
  std::string id = "DZH318Z0" + base::to_lower(stable_id(r.product)).substr(0, 4);
  std::transform(id.begin(), id.end(), id.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return id;
}

std::string service_id(const price_row& r) {
  return r.service == "Virtual Machines" ? "DZH313Z7MMC8"
         : r.service == "Storage"        ? "DZH317F1HKN0"
                                         : "DZH314HC0WV9";
}

} // namespace

const std::set<std::string>& all_price_traps() {
  static const std::set<std::string> names = [] {
    std::set<std::string> out;
    for (const auto& t : traps) {
      out.emplace(t.name);
    }
    return out;
  }();
  return names;
}

std::vector<price_row> price_rows(const world& w, base::wall_time now) {
  std::vector<price_row> out;
  for (const auto& item : w.prices.items) {
    price_row r;
    r.as_given = item;
    out.push_back(r);
  }
  if (w.prices.only_items) {
    return out;
  }
  for (const auto& l : w.offer.locations) {
    price_row base;
    base.region = l.name;
    base.place = place_of(l);
    for (const auto& size : w.offer.sizes) {
      if (w.offer.find_size(size.name, l.name) == nullptr) {
        continue;
      }
      price_row r = base;
      r.size = size.name;
      r.sku = short_name(size.name);
      r.meter = r.sku;
      r.product = "Virtual Machines " + series_of(size.name);
      r.price = w.prices.hourly_of(size.name, size.cores);
      add_machine_rows(out, w, r, now);
    }
    add_disk_rows(out, base);
    add_address_rows(out, base);
  }
  return out;
}

bool is_price_field(std::string_view field) {
  constexpr std::string_view known[] = {
      "armRegionName",
      "location",
      "meterId",
      "meterName",
      "productId",
      "skuId",
      "productName",
      "skuName",
      "serviceName",
      "serviceId",
      "serviceFamily",
      "priceType",
      "armSkuName",
      "type",
      "unitOfMeasure",
      "currencyCode",
      "reservationTerm"};
  return std::find(std::begin(known), std::end(known), field) != std::end(known);
}

std::optional<std::string> field_of(const price_row& row, std::string_view field) {
  struct column {
    std::string_view field;
    std::string price_row::*member;
  };

  // What filters name, without building the whole row.
  static constexpr column columns[] = {
      {"armRegionName", &price_row::region},
      {"location", &price_row::place},
      {"productName", &price_row::product},
      {"skuName", &price_row::sku},
      {"meterName", &price_row::meter},
      {"serviceName", &price_row::service},
      {"serviceFamily", &price_row::family},
      {"priceType", &price_row::type},
      {"type", &price_row::type},
      {"armSkuName", &price_row::size},
      {"unitOfMeasure", &price_row::unit},
      {"reservationTerm", &price_row::term},
  };
  for (const auto& c : columns) {
    if (c.field == field && row.as_given.is_null()) {
      return row.*c.member;
    }
  }
  const json shown = show_price(row, "USD", decimal(1), false);
  const auto* value = shown.find(field == "priceType" ? "type" : field);
  return value == nullptr ? std::nullopt
                          : std::optional<std::string>(value->number_text().value_or(""));
}

json show_price(
    const price_row& row, const std::string& currency, const decimal& rate, bool savings_plans
) {
  if (!row.as_given.is_null()) {
    return row.as_given;
  }
  const auto price = json::number(row.price.times(rate).value_or(row.price).rounded(6).to_fixed(6));
  const std::string meter =
      stable_id(row.region + row.product + row.meter + row.type + row.starts + row.unit);
  json out = json::object(
      {{"currencyCode", currency},
       {"tierMinimumUnits", json::number(row.tier)},
       {"retailPrice", price},
       {"unitPrice", price},
       {"armRegionName", row.region},
       {"location", row.place},
       {"effectiveStartDate", row.starts}}
  );
  if (!row.ends.empty()) {
    out.set("effectiveEndDate", row.ends);
  }
  out.set("meterId", meter);
  out.set("meterName", row.meter);
  out.set("productId", product_id(row));
  out.set("skuId", product_id(row) + "/" + meter.substr(0, 4));
  out.set("availabilityId", json());
  out.set("productName", row.product);
  out.set("skuName", row.sku);
  out.set("serviceName", row.service);
  out.set("serviceId", service_id(row));
  out.set("serviceFamily", row.family);
  out.set("unitOfMeasure", row.unit);
  out.set("type", row.type);
  out.set("isPrimaryMeterRegion", row.primary);
  out.set("armSkuName", row.size);
  if (!row.term.empty()) {
    out.set("reservationTerm", row.term);
  }
  if (savings_plans && row.type == "Consumption" && !row.size.empty() && !row.price.is_zero()) {
    const auto saved = json::number(times(row.price, "0.65").times(rate)->to_fixed(6));
    out.set(
        "savingsPlan",
        json::array({json::object({{"unitPrice", saved}, {"retailPrice", saved}, {"term", "1 Year"}}
        )})
    );
  }
  return out;
}

} // namespace siteagent::azure_emulator
