// SPDX-License-Identifier: MIT
// Past months, booked by hand.
#include "usage_fixture.hpp"

#include "core/agent/usage/history.hpp"

namespace siteagent::agent::test {

namespace {

using base::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using kind = booking_outcome::kind;

class usage_history : public usage_report_test {
protected:
  usage_history() {
    w.waldur.books = &books;
    request.first = {2026, 9};
    request.last = {2026, 11};
    w.cloud->on(host::operation::report_usage, [this](const host::call_request& r, const auto&) {
      const auto number = r.body.at({"period", "month"}).integer().value_or(0);
      std::vector<json> rows;
      for (const json& asked : r.body["resources"].items()) {
        json row = json::object({{"uuid", asked["uuid"]}, {"measured", number != 9}});
        row.set("total", json::object({{"cpu", number}}));
        row.set("users", json::object({{"ada", json::object({{"cpu", number}})}}));
        rows.push_back(std::move(row));
      }
      return fake_cloud::emitted(rows);
    });
  }

  base::result<history_summary> load() {
    told.clear();
    return load_history(*w.offering, w.waldur, w.env, request, [this](const history_line& l) {
      std::string text = period_text(l.period).substr(0, 7) + " " +
                         (l.is_measured ? std::to_string(static_cast<int>(l.outcome.what)) : "-");
      for (const usage_change& c : l.outcome.changes) {
        text += " " + c.component + (c.user.empty() ? "" : "/" + c.user) + ":" + c.before + ">" +
                c.after;
      }
      told.push_back(std::move(text));
    });
  }

  fake_books books;
  history_request request;
  std::vector<std::string> told;
};

TEST_F(usage_history, is_booked_month_by_month_from_the_oldest) {
  w.settings.timezone = *base::time_zone::find("Europe/Tallinn");
  w.renew_offering();
  const auto sum = load();
  ASSERT_TRUE(sum);
  EXPECT_THAT(
      booked(),
      ElementsAre(
          line("2026-10-01T00:00:00+03:00 cpu=10.00"), line("2026-11-01T00:00:00+02:00 cpu=11.00")
      )
  );
  EXPECT_EQ(sum->months, 3U);
  EXPECT_EQ(sum->booked, 2U);
  EXPECT_EQ(sum->no_data, 1U);
  EXPECT_THAT(told.front(), HasSubstr("2026-09 -"));
}

TEST_F(usage_history, of_months_to_come_is_not_asked_for) {
  request.last = {2027, 3};
  ASSERT_TRUE(load());
  EXPECT_EQ(w.cloud->calls(host::operation::report_usage).size(), 3U);
  request.first = request.last;
  EXPECT_EQ(load()->months, 0U);
}

TEST_F(usage_history, in_a_dry_run_is_only_told) {
  request.rules.dry_run = true;
  w.waldur.usages["2026-10-01"] = {{uuid_of(8), "cpu", "12.00"}};
  books.stored["2026-10-01"] = {{uuid_of(8), "ada", "10.00"}};
  const auto sum = load();
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->booked, 2U);
  EXPECT_THAT(booked(), IsEmpty());
  EXPECT_THAT(books.writes, IsEmpty());
  EXPECT_THAT(
      told,
      ElementsAre("2026-09 -", "2026-10 0 cpu:12.00>10.00", "2026-11 0 cpu:>11.00 cpu/ada:>11.00")
  );
}

TEST_F(usage_history, may_go_down_and_is_not_repeated) {
  meter_hours();
  w.waldur.usages["2026-10-01"] = {{uuid_of(8), "cpu", "12.00"}};
  w.waldur.usages["2026-11-01"] = {{uuid_of(9), "cpu", "11.00"}};
  books.stored["2026-11-01"] = {{uuid_of(9), "ada", "11.00"}};
  const auto sum = load();
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->unchanged, 1U);
  EXPECT_THAT(booked(), ElementsAre(HasSubstr("2026-10-01T00:00:00+00:00 cpu=10.00")));
  EXPECT_THAT(books.writes, ElementsAre("set_user_usage 08 ada=10.00")) << "one by one";
}

TEST_F(usage_history, leaves_out_users_when_told_to) {
  request.rules.with_users = false;
  ASSERT_TRUE(load());
  EXPECT_EQ(books.reads, 0U);
}

TEST_F(usage_history, zeroes_what_only_waldur_has_of_a_measured_resource) {
  request.rules.zero_stale = true;
  component("traffic", "usage");
  component("once", "one");
  for (const char* period : {"2026-09-01", "2026-10-01"}) {
    w.waldur.usages[period] = {
        {uuid_of(7), "cpu", "10.00"},
        {uuid_of(8), "traffic", "5.00"},
        {uuid_of(9), "once", "1.00"}};
    books.stored[period] = {
        {uuid_of(7), "ada", "10.00"}, {uuid_of(7), "gone", "3.00"}, {uuid_of(8), "gone", "0.00"}};
  }
  request.last = {2026, 10};
  ASSERT_TRUE(load());
  EXPECT_THAT(booked(), ElementsAre(HasSubstr("2026-10-01T00:00:00+00:00 cpu=10.00 traffic=0.00")))
      << "in September nothing was measured, which is not zero";
  EXPECT_THAT(books.writes, ElementsAre("set_user_usage 07 gone=0.00"));
}

TEST_F(usage_history, of_chosen_resources_is_theirs_alone) {
  machine(2);
  request.backend_ids = {"/VM/2"};
  ASSERT_TRUE(load());
  EXPECT_THAT(booked(), ::testing::Each(HasSubstr(uuid_of(2).hex())));
  request.backend_ids = {"/vm/3"};
  const auto none = load();
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("/vm/3"));
}

TEST_F(usage_history, goes_on_after_what_fails) {
  w.waldur.fail("set_usage", http_failure(400, "the amount is wrong"));
  auto sum = load();
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->failed, 1U);
  EXPECT_EQ(sum->booked, 1U);
  w.waldur.fail("set_usage", http_failure(400, "no backfilling past billing periods, please"));
  sum = load();
  EXPECT_EQ(sum->refused, 1U);
  w.cloud->fail(host::operation::report_usage, failure(base::error_code::transient));
  sum = load();
  EXPECT_EQ(sum->failed_months, 1U);
  EXPECT_EQ(sum->months, 3U);
}

TEST_F(usage_history, needs_a_plugin_that_reports) {
  config::offering c = make_offering();
  c.reporting_backend.clear();
  w.renew_offering(c);
  EXPECT_FALSE(load());
}

TEST(usage_history_days, name_months) {
  EXPECT_EQ(month_of_day("2026-09-17"), (base::month{2026, 9}));
  EXPECT_EQ(month_of_day("2028-02-29"), (base::month{2028, 2}));
  for (const char* bad : {"", "2026-09", "2026-13-01", "2026-02-30", "17.09.2026", "2026-9-1x"}) {
    EXPECT_FALSE(month_of_day(bad)) << bad;
  }
}

} // namespace

} // namespace siteagent::agent::test
