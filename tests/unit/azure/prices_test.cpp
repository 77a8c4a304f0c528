// SPDX-License-Identifier: MIT
// Which row of the price list is the price, and how the list is read.
#include "plugins/azure/clients/prices.hpp"

#include "core/net/url.hpp"
#include "tests/unit/azure/fixture.hpp"
#include "tests/unit/azure/price_rows.hpp"

#include <algorithm>
#include <random>

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* size = "Standard_D8s_v5";

class azure_prices : public azure_test {
protected:
  azure_prices() : call(clock), wrapped(call.raw()), scope(wrapped, "trace") {}

  price_client client(std::string currency = "USD") {
    return price_client(price_options{
        std::string(base_url), std::move(currency), &arm, &clock, std::chrono::seconds(1)});
  }

  std::string hour(std::string_view of = size) {
    const auto known = client().machines(scope, "westeurope");
    if (!known) {
      return known.error().message;
    }
    const auto price = price_at(*known, of, clock.wall());
    return price ? price->to_string() : "none";
  }

  fake_call call;
  sagent::call wrapped;
  arm::scope scope;
};

TEST_F(azure_prices, case_price_01_the_on_demand_linux_hour_in_any_order_and_on_any_page) {
  arm.prices = rows_of_a_size(size);
  std::mt19937 order(1);
  for (const std::size_t page : {1000U, 7U, 3U, 1U}) {
    std::shuffle(arm.prices.begin(), arm.prices.end(), order);
    arm.prices_per_page = page;
    EXPECT_EQ(hour(), "0.384") << page;
  }
}

TEST_F(azure_prices, case_price_01_cloud_services_count_only_when_nothing_else_is_sold) {
  arm.prices = {
      machine_row(size, "0.40", {{"productName", "Virtual Machines Dsv5 Series Cloud Services"}}),
      machine_row(size, "0.39", {{"productName", "Dsv5 Series Cloud Services"}})};
  EXPECT_EQ(hour(), "0.40");
  arm.prices.push_back(machine_row(size, "0.38"));
  EXPECT_EQ(hour(), "0.38");
}

TEST_F(azure_prices, case_price_02_zero_is_no_price_and_next_months_price_begins_next_month) {
  const auto day = [&](int days) {
    return base::to_rfc3339(clock.wall() + std::chrono::hours(24 * days));
  };
  arm.prices = {
      machine_row(size, "0"),
      machine_row(size, "0.50", {{"effectiveStartDate", day(20)}}),
      machine_row(size, "0.45", {{"effectiveStartDate", day(-1)}, {"meterId", "second"}}),
      machine_row("Standard_New", "0.0")};
  const auto known = client().machines(scope, "westeurope");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(price_at(*known, size, clock.wall())->to_string(), "0.45");
  EXPECT_EQ(price_at(*known, "Standard_New", clock.wall()), std::nullopt);
  // The same list, kept over the day the price changes.
  clock.advance(std::chrono::hours(24 * 20));
  EXPECT_EQ(price_at(*known, size, clock.wall())->to_string(), "0.50");
}

TEST_F(azure_prices, a_price_ends_at_its_last_moment) {
  arm.prices = {
      machine_row(size, "0.9", {{"effectiveEndDate", base::to_rfc3339(clock.wall())}}),
      machine_row(size, "0.1", {{"effectiveStartDate", base::to_rfc3339(clock.wall())}})};
  EXPECT_EQ(hour(), "0.1");
}

TEST_F(azure_prices, case_price_05_rows_of_another_currency_never_count) {
  arm.prices = {
      machine_row(size, "0.9", {{"currencyCode", "EUR"}}),
      machine_row(size, "0.384"),
      machine_row(size, "0.5", {{"currencyCode", nullptr}})};
  EXPECT_EQ(hour(), "0.384");
  const auto euros = client("EUR").machines(scope, "westeurope");
  EXPECT_EQ(price_at(*euros, size, clock.wall())->to_string(), "0.9");
}

TEST_F(azure_prices, are_exact_to_the_last_digit) {
  arm.prices = {machine_row(size, "1.23E-05"), machine_row("b", "0.000001")};
  EXPECT_EQ(hour(), "0.0000123");
  EXPECT_EQ(hour("B"), "0.000001");
}

TEST_F(azure_prices, no_token_is_ever_sent_with_the_question) {
  arm.prices = {machine_row(size, "0.384")};
  EXPECT_EQ(hour(), "0.384");
  ASSERT_EQ(arm.log().size(), 1U);
  for (const auto& [name, value] : arm.log()[0].headers) {
    EXPECT_NE(name, "Authorization");
  }
  EXPECT_EQ(arm.tokens_issued, 0);
  const std::string query = net::decode(arm.log()[0].query);
  EXPECT_THAT(query, HasSubstr("api-version=2023-01-01-preview&currencyCode='USD'&$filter="));
  EXPECT_THAT(
      query,
      HasSubstr("serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and "
                "armRegionName eq 'westeurope'")
  );
}

struct bad_answer {
  const char* name;
  int status;
  const char* body;
  std::size_t questions;
};

class azure_price_list : public azure_prices, public testing::WithParamInterface<bad_answer> {};

TEST_P(azure_price_list, that_cannot_be_read_is_an_error_and_no_price) {
  arm.script({"GET", "", -1, 0, false, GetParam().status, GetParam().body, {}});
  const auto known = client().machines(scope, "westeurope");
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, base::error_code::transient);
  EXPECT_THAT(known.error().message, HasSubstr("read the list prices"));
  EXPECT_EQ(arm.log().size(), GetParam().questions);
}

INSTANTIATE_TEST_SUITE_P(
    answers,
    azure_price_list,
    testing::Values(
        bad_answer{"server_error", 500, "", 3},
        bad_answer{"html", 200, "<html>", 3},
        bad_answer{"no_rows", 200, R"({"Items":null})", 3},
        bad_answer{"refused", 400, "bad filter", 1},
        bad_answer{"moved", 302, "", 1},
        bad_answer{"too_many", 429, "", 1},
        bad_answer{
            "another_host",
            200,
            R"({"Items":[],"NextPageLink":"https://prices.example/api/retail/prices?x"})",
            1},
        bad_answer{
            "endless",
            200,
            R"({"Items":[],"NextPageLink":"http://127.0.0.1:1/api/retail/prices?x"})",
            2}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

TEST_F(azure_prices, a_lost_answer_is_asked_for_again) {
  arm.prices = {machine_row(size, "0.384")};
  arm.script({"GET", "", 1, 0, false, std::nullopt, "", {}});
  arm.script({"GET", "", 1, 0, false, 503, "", {}});
  EXPECT_EQ(hour(), "0.384");
}

TEST_F(azure_prices, a_429_keeps_every_question_back_until_its_time_is_over) {
  arm.prices = {machine_row(size, "0.384")};
  arm.script({"GET", "", 1, 0, false, 429, "", {{"retry-after", "120"}}});
  const price_client one = client();
  EXPECT_FALSE(one.machines(scope, "westeurope"));
  EXPECT_FALSE(one.machines(scope, "westeurope"));
  EXPECT_FALSE(one.addresses(scope, "westeurope"));
  EXPECT_EQ(arm.log().size(), 1U);
  clock.advance(std::chrono::seconds(121));
  EXPECT_TRUE(one.machines(scope, "westeurope"));
}

TEST_F(azure_prices, a_cloud_without_a_list_says_so) {
  const price_client none(price_options{"", "USD", &arm, &clock, std::chrono::seconds(1)});
  const auto known = none.machines(scope, "westeurope");
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, base::error_code::not_ready);
  EXPECT_THAT(known.error().message, HasSubstr("cloud.prices"));
  EXPECT_TRUE(arm.log().empty());
}

TEST(azure_disk_prices, a_disk_is_sold_as_the_smallest_tier_it_fits_in) {
  struct row {
    const char* type;
    std::int64_t gib;
    const char* tier;
  };

  for (const row& r :
       {row{"Premium_LRS", 1, "p1 lrs"},
        row{"Premium_LRS", 30, "p4 lrs"},
        row{"Premium_LRS", 64, "p6 lrs"},
        row{"Premium_ZRS", 65, "p10 zrs"},
        row{"StandardSSD_LRS", 4, "e1 lrs"},
        row{"standardssd_lrs", 32767, "e80 lrs"},
        row{"Standard_LRS", 4, "s4 lrs"},
        row{"Standard_LRS", 2048, "s40 lrs"}}) {
    const auto offer = offer_of_disk(r.type, r.gib);
    ASSERT_TRUE(offer) << r.type << r.gib;
    EXPECT_EQ(offer->tier, r.tier);
  }
  for (const row& r :
       {row{"PremiumV2_LRS", 64, ""},
        row{"UltraSSD_LRS", 64, ""},
        row{"Premium_LRS", 40000, ""},
        row{"Premium_LRS", 0, ""},
        row{"", 64, ""}}) {
    EXPECT_FALSE(offer_of_disk(r.type, r.gib)) << r.type << r.gib;
  }
}

TEST(azure_disk_prices, mounts_and_operations_are_no_disks) {
  prices_by_name out;
  for (const char* meter : {"P6 LRS Disk", "P6 LRS Disk Mount", "P6 LRS Disk Operations"}) {
    add_disk_month(
        out,
        machine_row(
            "",
            std::string_view(meter) == "P6 LRS Disk" ? "10.21" : "99",
            {{"skuName", "P6 LRS"}, {"meterName", meter}, {"unitOfMeasure", "1/Month"}}
        ),
        "USD"
    );
  }
  ASSERT_EQ(out["p6 lrs"].size(), 1U);
  EXPECT_EQ(out["p6 lrs"][0].amount.to_string(), "10.21");
}

} // namespace

} // namespace siteagent::azure::test
