// SPDX-License-Identifier: MIT
#include "core/base/clock.hpp"

#include <gtest/gtest.h>

namespace siteagent::base {
namespace {

using namespace std::chrono_literals;

TEST(rfc3339, reads_years_beyond_the_clock_as_no_time) {
  for (const char* text :
       {"0001-01-01T00:00:00Z", "1600-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    EXPECT_FALSE(parse_rfc3339(text).has_value()) << text;
  }
}

TEST(rfc3339, reads_every_form_azure_and_waldur_send) {
  const auto noon = parse_rfc3339("2026-01-31T12:00:00Z");
  ASSERT_TRUE(noon);
  EXPECT_EQ(parse_rfc3339("2026-01-31T12:00:00+00:00"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-31T13:00:00+01:00"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-31T06:30:00-05:30"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-31T12:00:00.0000000+00:00"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-31 12:00:00Z"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-31T12:00:00.1234567Z"), *noon + 123456700ns);
}

TEST(rfc3339, refuses_nonsense) {
  for (const char* text :
       {"",
        "2026-01-31",
        "2026-02-30T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00+1",
        "2026-01-31T12:00:00Zx",
        "x"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(rfc3339, prints_utc_with_z) {
  const auto t = parse_rfc3339("2026-03-01T00:59:59.250+01:00");
  ASSERT_TRUE(t);
  EXPECT_EQ(to_rfc3339(*t), "2026-02-28T23:59:59Z");
  EXPECT_EQ(to_rfc3339(*t, true), "2026-02-28T23:59:59.250Z");
}

TEST(http_date, goes_both_ways) {
  const auto t = parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
  ASSERT_TRUE(t);
  EXPECT_EQ(to_rfc3339(*t), "1994-11-06T08:49:37Z");
  EXPECT_EQ(to_http_date(*t), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_FALSE(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"));
  EXPECT_FALSE(parse_http_date("Sun, 06 Foo 1994 08:49:37 GMT"));
}

TEST(time_zone, knows_the_month_of_an_instant) {
  const auto tallinn = time_zone::find("Europe/Tallinn");
  ASSERT_TRUE(tallinn);
  const auto t = parse_rfc3339("2026-10-31T22:30:00Z");
  ASSERT_TRUE(t);
  EXPECT_EQ(tallinn->month_of(*t), (month{2026, 11}));
  EXPECT_EQ(time_zone().month_of(*t), (month{2026, 10}));
}

TEST(time_zone, starts_a_month_with_its_own_offset) {
  const auto tallinn = time_zone::find("Europe/Tallinn");
  ASSERT_TRUE(tallinn);
  EXPECT_EQ(tallinn->start_text({2026, 7}), "2026-07-01T00:00:00+03:00");
  EXPECT_EQ(tallinn->start_text({2026, 11}), "2026-11-01T00:00:00+02:00");
  EXPECT_EQ(time_zone().start_text({2026, 1}), "2026-01-01T00:00:00+00:00");
  EXPECT_EQ(to_rfc3339(tallinn->start_of({2026, 7})), "2026-06-30T21:00:00Z");
}

TEST(time_zone, is_absent_when_the_database_has_no_such_name) {
  EXPECT_FALSE(time_zone::find("Mars/Olympus"));
  EXPECT_FALSE(time_zone::find(""));
}

TEST(month, steps_back_over_new_year) {
  EXPECT_EQ((month{2026, 1}).previous(), (month{2025, 12}));
  EXPECT_EQ((month{2026, 12}).previous(), (month{2026, 11}));
}

TEST(manual_clock, moves_both_clocks_only_when_told) {
  manual_clock c;
  const auto steady = c.steady();
  const auto wall = c.wall();
  EXPECT_EQ(c.steady(), steady);
  c.advance(90s);
  EXPECT_EQ(c.steady() - steady, 90s);
  EXPECT_EQ(c.wall() - wall, 90s);
}

} // namespace
} // namespace siteagent::base
