// SPDX-License-Identifier: MIT
// Rows of the retail price list, with every trap of it.
#pragma once

#include "core/base/json.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace siteagent::azure::test {

// An hour of a Linux machine on demand in West Europe; `changes` make it something else.
inline base::json machine_row(
    std::string_view size, std::string_view price, std::initializer_list<base::json::member> changes
) {
  base::json row = *base::json::parse(
      R"({"currencyCode":"USD","tierMinimumUnits":0.0,"armRegionName":"westeurope","location":"EU West",
          "effectiveStartDate":"2020-08-01T00:00:00Z","meterName":"D8s v5","skuName":"D8s v5",
          "productName":"Virtual Machines Dsv5 Series","serviceName":"Virtual Machines",
          "unitOfMeasure":"1 Hour","type":"Consumption","isPrimaryMeterRegion":true})"
  );
  row.set("armSkuName", size);
  row.set("retailPrice", base::json::number(price));
  row.set("unitPrice", base::json::number(price));
  for (const auto& [key, value] : changes) {
    row.set(key, value);
  }
  return row;
}

inline base::json machine_row(std::string_view size, std::string_view price) {
  return machine_row(size, price, {});
}

// Everything that is sold under the name of one size; 0.384 is the price.
inline std::vector<base::json> rows_of_a_size(std::string_view size) {
  using base::json;
  return {
      machine_row(size, "0.384"),
      machine_row(size, "0.752", {{"productName", "Virtual Machines Dsv5 Series Windows"}}),
      machine_row(size, "0.977", {{"skuName", "D8s v5 Spot"}, {"meterName", "D8s v5 Spot"}}),
      machine_row(size, "0.9768", {{"meterName", "D8s v5 Low Priority"}}),
      machine_row(size, "0.9", {{"skuName", "D8s v5 Low Priority"}}),
      machine_row(size, "0.9", {{"type", "DevTestConsumption"}}),
      machine_row(
          size,
          "2018",
          {{"type", "Reservation"}, {"reservationTerm", "1 Year"}, {"unitOfMeasure", "1 Hour"}}
      ),
      machine_row(size, "0.40", {{"productName", "Virtual Machines Dsv5 Series Cloud Services"}}),
      machine_row(size, "0.9", {{"effectiveEndDate", "2021-01-01T00:00:00Z"}}),
      machine_row(size, "0.9", {{"effectiveStartDate", "2200-01-01T00:00:00Z"}}),
      machine_row(size, "0.9", {{"effectiveStartDate", "soon"}}),
      machine_row(size, "0.9", {{"unitOfMeasure", "100 Hours"}}),
      machine_row(size, "0.9", {{"tierMinimumUnits", json::number("10.0")}}),
      machine_row(size, "0.9", {{"productName", "Dsv5 Dedicated Host"}}),
      machine_row(size, "0.9", {{"currencyCode", "EUR"}}),
      machine_row(size, "0.9", {{"armRegionName", "northeurope"}}),
      machine_row(size, "0.9", {{"serviceName", "Cloud Services"}}),
      machine_row(size, "0"),
      machine_row(size, "-1"),
      machine_row(
          size,
          "0.2",
          {{"savingsPlan",
            *json::parse(R"([{"unitPrice":9.9,"retailPrice":9.9,"term":"1 Year"}])")}}
      )};
}

} // namespace siteagent::azure::test
