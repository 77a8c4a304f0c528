// SPDX-License-Identifier: MIT
// The retail price list.
#include "azure_fixture.hpp"

#include "core/net/url.hpp"
#include "tests/emulators/azure/prices_filter.hpp"

#include <map>
#include <set>

namespace siteagent::azure_emulator {
namespace {

class azure_prices : public cloud {
public:
  answer list(const std::string& filter, const std::string& more = "") {
    return raw(
        "GET",
        "/api/retail/prices?api-version=2023-01-01-preview&$filter=" + net::encode(filter) + more
    );
  }

  // Every page of a filter.
  std::vector<base::json> all(const std::string& filter) {
    std::vector<base::json> rows;
    auto page = list(filter);
    for (int i = 0; i < 100; ++i) {
      for (const auto& row : page.body["Items"].items()) {
        rows.push_back(row);
      }
      const std::string next = page.body["NextPageLink"].string_or("");
      if (next.empty()) {
        return rows;
      }
      EXPECT_EQ(next.rfind(base_url, 0), 0U) << next;
      page = raw("GET", next.substr(base_url.size()));
    }
    return rows;
  }

  static inline const std::string one_size =
      "serviceName eq 'Virtual Machines' and armRegionName eq 'westeurope' and armSkuName eq "
      "'Standard_D2s_v5'";
};

TEST_F(azure_prices, need_no_token_and_no_version_and_refuse_a_bearer_with_a_note) {
  EXPECT_EQ(raw("GET", "/api/retail/prices").status, 200);
  const auto refused =
      raw("GET", "/api/retail/prices", "", {{"authorization", "Bearer " + token_}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.header(emulators::note_header), "credential sent to the price list");
}

TEST_F(azure_prices, have_every_row_that_must_not_be_taken_for_the_price) {
  const auto rows = all(one_size);
  const auto now = base::to_rfc3339(clock_.wall());
  std::map<std::string, int> seen;
  for (const auto& r : rows) {
    const std::string product = r["productName"].string_or("");
    const std::string meter = r["meterName"].string_or("");
    const std::string type = r["type"].string_or("");
    std::string what = "price";
    if (product.ends_with(" Windows")) {
      what = "windows";
    } else if (meter.ends_with(" Spot")) {
      what = "spot";
    } else if (meter.ends_with(" Low Priority")) {
      what = "low priority";
    } else if (type == "DevTestConsumption") {
      what = "dev test";
    } else if (type == "Reservation") {
      what = "reservation";
      EXPECT_FALSE(r["reservationTerm"].string_or("").empty());
    } else if (product.find("Dedicated Host") != std::string::npos) {
      what = "host";
    } else if (product.ends_with("Cloud Services")) {
      what = "cloud services";
    } else if (r["retailPrice"].number_text() == "0.000000") {
      what = "zero";
    } else if (r["effectiveStartDate"].string_or("") > now) {
      what = "future";
    } else if (r.find("effectiveEndDate") != nullptr) {
      EXPECT_LT(r["effectiveEndDate"].string_or(""), now);
      what = "ended";
    } else if (r["tierMinimumUnits"].number_text() != "0.0") {
      what = "tiered";
    } else if (r["unitOfMeasure"].string_or("") != "1 Hour") {
      what = "unit";
    } else {
      EXPECT_EQ(r["retailPrice"].number_text(), "0.115000");
      EXPECT_EQ(r["unitPrice"].number_text(), "0.115000");
      EXPECT_EQ(product, "Virtual Machines Dsv5 Series");
      EXPECT_EQ(r["skuName"].string_or(""), "D2s v5");
      EXPECT_EQ(r["savingsPlan"].size(), 1U);
    }
    ++seen[what];
  }
  const std::map<std::string, int> expected = {
      {"price", 1},
      {"windows", 1},
      {"spot", 1},
      {"low priority", 1},
      {"dev test", 1},
      {"host", 1},
      {"cloud services", 1},
      {"zero", 1},
      {"future", 1},
      {"ended", 1},
      {"tiered", 1},
      {"unit", 1},
      {"reservation", 2},
  };
  EXPECT_EQ(seen, expected);
  EXPECT_NE(rows[0]["productName"].string_or(""), "Virtual Machines Dsv5 Series")
      << "whoever takes the first row is wrong";
}

TEST_F(azure_prices, come_in_pages_of_a_hundred) {
  const std::string filter = "serviceName eq 'Virtual Machines' and armRegionName eq 'westeurope'";
  const auto first = list(filter);
  EXPECT_EQ(first.body["Count"].integer(), 100);
  EXPECT_NE(first.body["NextPageLink"].string_or("").find("%24skip=100"), std::string::npos);
  const auto rows = all(filter);
  EXPECT_EQ(rows.size(), 140U);
  std::set<std::string> different;
  for (const auto& r : rows) {
    different.insert(r.dump());
  }
  EXPECT_EQ(different.size(), rows.size());
  const auto last = list(one_size);
  EXPECT_TRUE(last.body.find("NextPageLink") != nullptr && last.body["NextPageLink"].is_null());
}

TEST_F(azure_prices, are_converted) {
  const auto row = list(
      one_size + " and productName eq 'Virtual Machines Dsv5 Series' and "
                 "priceType eq 'Consumption'",
      "&currencyCode=%27EUR%27"
  );
  EXPECT_EQ(row.body["BillingCurrency"].string_or(""), "EUR");
  EXPECT_EQ(row.body["Items"][0]["currencyCode"].string_or(""), "EUR");
  seed(R"({"prices":{"hourly":{"Standard_D2s_v5":"0.5"},"currencies":{"EUR":"0.5"},"traps":[]}})");
  const auto seeded = list(one_size, "&currencyCode=%27EUR%27");
  ASSERT_EQ(seeded.body["Items"].size(), 1U) << "without traps";
  EXPECT_EQ(seeded.body["Items"][0]["retailPrice"].number_text(), "0.250000");
  EXPECT_EQ(list(one_size, "&currencyCode=%27XXX%27").status, 400);
}

TEST_F(azure_prices, include_disks_and_addresses) {
  const auto disk = all("serviceName eq 'Storage' and armRegionName eq 'eastus' and productName eq "
                        "'Premium SSD Managed Disks' and skuName eq 'P6 LRS'");
  ASSERT_EQ(disk.size(), 2U);
  EXPECT_EQ(disk[0]["meterName"].string_or(""), "P6 LRS Disk");
  EXPECT_EQ(disk[0]["unitOfMeasure"].string_or(""), "1/Month");
  EXPECT_EQ(disk[1]["meterName"].string_or(""), "P6 LRS Disk Mount");
  const auto address =
      all("armRegionName eq 'eastus' and meterName eq 'Standard IPv4 Static Public IP'");
  ASSERT_EQ(address.size(), 1U);
  EXPECT_EQ(address[0]["productName"].string_or(""), "IP Addresses");
  EXPECT_EQ(address[0]["serviceName"].string_or(""), "Virtual Network");
  EXPECT_EQ(address[0]["retailPrice"].number_text(), "0.005000");
}

TEST_F(azure_prices, are_filtered) {
  struct row {
    std::string filter;
    bool found;
  };

  for (const auto& r :
       {row{one_size + " and contains(productName, 'Windows')", true},
        row{one_size + " and contains(productName,'Linux')", false},
        row{one_size + " and startswith(productName,'Virtual') and endswith(meterName,'Spot')",
            true},
        row{"(armSkuName eq 'Standard_B1s' or armSkuName eq 'Standard_B2s') and type eq "
            "'Consumption' and not contains(meterName, 'Spot')",
            true},
        row{"armSkuName ne '' and armRegionName eq 'nowhere'", false},
        row{"armSkuName eq 'standard_d2s_v5'", false}}) {
    EXPECT_EQ(list(r.filter).body["Items"].size() > 0, r.found) << r.filter;
  }
  const auto old = raw("GET", "/api/retail/prices?$filter=armSkuName%20eq%20%27standard_d2s_v5%27");
  EXPECT_GT(old.body["Items"].size(), 0U) << "case matters since 2023-01-01-preview only";
  EXPECT_EQ(old.body["Items"][0].find("savingsPlan"), nullptr);
  for (const auto* bad :
       {"armSkuName",
        "armSkuName eq",
        "nonsense eq 'x'",
        "armSkuName lt 'x'",
        "contains(armSkuName)",
        "(armSkuName eq 'x'",
        "armSkuName eq 'x",
        "armSkuName eq 'x' and",
        "armSkuName eq 'x' 'y'"}) {
    EXPECT_EQ(list(bad).status, 400) << bad;
  }
}

TEST_F(azure_prices, come_from_the_seed) {
  seed(
      R"({"prices":{"only_items":true,"items":[{"armSkuName":"Standard_Z","type":"Consumption","retailPrice":1.5}]}})"
  );
  const auto rows = all("armSkuName eq 'Standard_Z' and priceType eq 'Consumption'");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["retailPrice"].number_text(), "1.5");
  for (const auto* bad :
       {R"({"prices":[]})",
        R"({"prices":{"traps":["banana"]}})",
        R"({"prices":{"hourly":{"x":"cheap"}}})",
        R"({"prices":{"page_size":0}})"}) {
    EXPECT_FALSE(azure_.seed(parsed(bad)).has_value()) << bad;
  }
}

} // namespace
} // namespace siteagent::azure_emulator
