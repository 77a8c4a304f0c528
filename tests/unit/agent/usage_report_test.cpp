// SPDX-License-Identifier: MIT
// Usage: periods, rounding, components, unchanged values, months that end.
#include "usage_fixture.hpp"

#include <clocale>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(usage_report_test, books_the_total_of_the_month_with_two_decimals) {
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), ElementsAre(line("2026-11-01T00:00:00+00:00 cpu=2.00 ram=4096.00")));
}

TEST_F(usage_report_test, the_date_carries_the_offset_of_the_configured_zone) {
  w.settings.timezone = *base::time_zone::find("Europe/Tallinn");
  w.renew_offering();
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), ElementsAre(HasSubstr(" 2026-11-01T00:00:00+02:00 ")));
}

TEST_F(usage_report_test, the_zone_decides_which_month_it_is) {
  at("2026-11-30T23:30:00Z");
  w.settings.timezone = *base::time_zone::find("Europe/Tallinn");
  w.renew_offering();
  month = 12;
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), ElementsAre(HasSubstr(" 2026-12-01T00:00:00+02:00 ")));
}

struct rounding_case {
  const char* name;
  const char* measured;
  const char* booked;
};

class usage_rounding : public usage_report_test,
                       public ::testing::WithParamInterface<rounding_case> {};

TEST_P(usage_rounding, case_use_04_is_half_even_on_the_decimal_value) {
  total(1, json::object({{"cpu", GetParam().measured}}));
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), ElementsAre(HasSubstr(std::string(" cpu=") + GetParam().booked)));
  // Stored as booked: nothing to say.
  w.waldur.usages["2026-11-01"] = {{uuid_of(9), "cpu", GetParam().booked}};
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    amounts,
    usage_rounding,
    ::testing::Values(
        rounding_case{"half_down", "0.005", "0.00"},
        rounding_case{"half_up", "0.015", "0.02"},
        rounding_case{"third", "0.333333333333", "0.33"},
        rounding_case{"large", "1234567.891", "1234567.89"},
        rounding_case{"tiny", "1e-7", "0.00"},
        rounding_case{"whole", "12", "12.00"}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(usage_report_test, case_time_01_does_not_depend_on_the_locale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    std::setlocale(LC_ALL, "C");
  }
  total(1, json::object({{"cpu", "1234.5"}}));
  EXPECT_TRUE(report());
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_THAT(booked(), ElementsAre(HasSubstr(" cpu=1234.50")));
}

TEST_F(usage_report_test, case_use_05_sends_what_waldur_takes_and_warns_once_about_the_rest) {
  component("disk", "fixed");
  component("traffic", "usage");
  total(1, json::object({{"cpu", 2}, {"disk", 5}, {"traffic", 7}, {"gpu", 1}, {"ram", "much"}}));
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(report());
  }
  observe::capture_logs_for_test(nullptr);
  EXPECT_THAT(booked(), Contains(line("2026-11-01T00:00:00+00:00 cpu=2.00 traffic=7.00")).Times(5));
  std::erase_if(lines, [](const std::string& l) { return l.find("gpu") == l.npos; });
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(usage_report_test, negative_amounts_are_left_out) {
  total(1, json::object({{"cpu", "-1"}, {"ram", "1"}}));
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), ElementsAre(line("2026-11-01T00:00:00+00:00 ram=1.00")));
}

TEST_F(usage_report_test, no_data_is_not_zero) {
  total(1, nullptr);
  EXPECT_TRUE(report());
  totals = json::object();
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(usage_report_test, case_use_06_zero_is_booked_once) {
  total(1, json::object({{"cpu", 0}}));
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), ElementsAre(HasSubstr("cpu=0.00")));
  w.waldur.usages["2026-11-01"] = {{uuid_of(9), "cpu", "0.00"}};
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 1U);
}

TEST_F(usage_report_test, a_changed_missing_or_doubled_record_is_booked_again) {
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "2.00"}};
  EXPECT_TRUE(report());
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "2.00"}, {uuid_of(9), "ram", "4095.99"}};
  EXPECT_TRUE(report());
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "2.00"}, {uuid_of(9), "cpu", "2.00"}};
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 3U);
}

TEST_F(usage_report_test, unreadable_stored_usage_books_nothing) {
  w.waldur.always_fail("list_usages", http_failure(503));
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(usage_report_test, case_use_03_a_snapshot_may_shrink_but_hours_may_not) {
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "310.00"}, {uuid_of(9), "ram", "4096.00"}};
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 1U);

  meter_hours();
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 1U);
}

TEST_F(usage_report_test, case_use_02_what_was_measured_in_one_month_is_not_booked_in_the_next) {
  at("2026-11-30T23:59:58Z");
  w.cloud->on(operation::report_usage, [this](const auto&, const auto&) {
    at("2026-12-01T00:00:01Z");
    json r = json::object({{"uuid", uuid_of(1).hex()}, {"measured", true}});
    r.set("total", json::object({{"cpu", 2}}));
    return fake_cloud::emitted(std::vector{r});
  });
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(usage_report_test, past_months_are_asked_for_oldest_first_across_the_year) {
  at("2027-01-31T12:00:00Z");
  w.settings.reporting_periods = 3;
  w.renew_offering();
  EXPECT_TRUE(report());
  std::vector<std::string> asked;
  for (const auto& c : w.cloud->calls(operation::report_usage)) {
    asked.push_back(c.request.body["period"].dump());
  }
  EXPECT_THAT(
      asked,
      ElementsAre(
          R"({"year":2026,"month":11})", R"({"year":2026,"month":12})", R"({"year":2027,"month":1})"
      )
  );
  EXPECT_THAT(booked(), ElementsAre(HasSubstr(" 2026-11-01T00:00:00+00:00 ")));
}

TEST_F(usage_report_test, trouble_with_a_past_month_does_not_hold_the_current_one) {
  w.settings.reporting_periods = 2;
  w.renew_offering();
  w.cloud->fail(operation::report_usage, failure(error_code::transient));
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 1U);
}

TEST_F(usage_report_test, an_unreadable_cloud_is_an_offering_that_could_not_run) {
  w.cloud->fail(operation::report_usage, failure(error_code::transient));
  EXPECT_FALSE(report());
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(usage_report_test, one_refused_resource_does_not_stop_the_others) {
  machine(2);
  total(2, json::object({{"cpu", 1}}));
  w.waldur.fail("set_usage", http_failure(400, "Resource is not in valid state."));
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 2U);
}

TEST_F(usage_report_test, a_busy_waldur_is_asked_three_times) {
  w.waldur.fail("set_usage", http_failure(503), 2);
  EXPECT_TRUE(report());
  EXPECT_EQ(booked().size(), 3U);
}

TEST_F(usage_report_test, all_machines_are_measured_by_one_call) {
  for (unsigned n = 2; n < 40; ++n) {
    machine(n);
  }
  w.waldur.add_resource(40, "OK"); // no machine yet
  EXPECT_TRUE(report());
  const auto calls = w.cloud->calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].request.body["resources"].size(), 39U);
  EXPECT_EQ(calls[0].request.body["timezone"].string_or(""), "UTC");
}

TEST_F(usage_report_test, hours_are_not_booked_over_two_records_of_one_month) {
  meter_hours();
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "1.00"}, {uuid_of(9), "cpu", "1.00"}};
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(usage_report_test, records_of_what_is_not_measured_now_do_not_count_as_a_change) {
  total(1, json::object({{"cpu", "2"}}));
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "2.00"}, {uuid_of(9), "ram", "1.00"}};
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(usage_report_test, a_resource_in_error_is_no_fault_of_the_agent) {
  w.waldur.fail("set_usage", http_failure(400, "Resource is not in valid state."));
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  EXPECT_TRUE(report());
  observe::capture_logs_for_test(nullptr);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("warning"))));
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
}

TEST_F(usage_report_test, case_time_02_the_shift_of_summer_time_moves_the_date_and_not_the_month) {
  w.settings.timezone = *base::time_zone::find("Europe/Tallinn");
  w.renew_offering();
  const std::vector<std::pair<const char*, const char*>> cases{
      {"2026-10-25T00:30:00Z", "2026-10-01T00:00:00+03:00"}, // 03:30, the first time
      {"2026-10-25T01:30:00Z", "2026-10-01T00:00:00+03:00"}, // 03:30, the second time
      {"2026-10-31T21:59:59Z", "2026-10-01T00:00:00+03:00"},
      {"2026-10-31T22:00:00Z", "2026-11-01T00:00:00+02:00"},
      {"2027-03-28T01:30:00Z", "2027-03-01T00:00:00+02:00"},
      {"2027-03-31T21:00:00Z", "2027-04-01T00:00:00+03:00"}};
  for (const auto& [time, date] : cases) {
    at(time);
    month = std::stoi(std::string(date).substr(5, 2));
    EXPECT_TRUE(report());
    EXPECT_THAT(booked().back(), HasSubstr(date)) << time;
  }
}

} // namespace

} // namespace siteagent::agent::test
