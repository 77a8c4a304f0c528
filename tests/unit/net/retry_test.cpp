// SPDX-License-Identifier: MIT
#include "core/net/retry.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>

namespace siteagent::net {

namespace {

using std::chrono::milliseconds;

const base::wall_time now = *base::parse_rfc3339("2026-01-31T12:00:00Z");

struct advice {
  header_list headers;
  std::optional<long> expected_ms;
};

void PrintTo(const advice& c, std::ostream* to) {
  *to << (c.headers.empty() ? "none" : c.headers.back().first + ": " + c.headers.back().second);
}

class retry_after_of : public testing::TestWithParam<advice> {};

TEST_P(retry_after_of, reads_every_form) {
  const response r{.status = 429, .headers = GetParam().headers, .body = ""};
  const auto wait = retry_after(r, now);
  ASSERT_EQ(wait.has_value(), GetParam().expected_ms.has_value());
  if (wait) {
    EXPECT_EQ(wait->count(), *GetParam().expected_ms);
  }
}

constexpr long day_ms = 86'400'000;

INSTANTIATE_TEST_SUITE_P(
    retry,
    retry_after_of,
    testing::Values(
        advice{{}, std::nullopt},
        advice{{{"retry-after", "3"}}, 3'000},
        advice{{{"retry-after", " 17 "}}, 17'000},
        advice{{{"retry-after", "0"}}, 0},
        advice{{{"retry-after", "1.5"}}, 1'500},
        advice{{{"retry-after", "0.0004"}}, 0},
        advice{{{"retry-after", "-5"}}, 0},
        advice{{{"retry-after", "86401"}}, day_ms},
        advice{{{"retry-after", "99999999999999999999999999"}}, day_ms},
        advice{{{"retry-after", "soon"}}, std::nullopt},
        advice{{{"retry-after", ""}}, std::nullopt},
        advice{{{"retry-after", "-"}}, std::nullopt},
        advice{{{"retry-after", "3s"}}, std::nullopt},
        advice{{{"retry-after", "1.2.3"}}, std::nullopt},
        advice{{{"retry-after", "nan"}}, std::nullopt},
        advice{{{"retry-after", "Sat, 31 Jan 2026 12:00:04 GMT"}}, 4'000},
        advice{{{"retry-after", "Sat, 31 Jan 2026 11:00:00 GMT"}}, 0},
        advice{{{"retry-after", "Fri, 01 Jan 2027 00:00:00 GMT"}}, day_ms},
        advice{{{"retry-after", "Sat, 31 Feb 2026 12:00:04 GMT"}}, std::nullopt},
        // The server's clock is ten minutes ahead of ours.
        advice{
            {{"date", "Sat, 31 Jan 2026 12:10:00 GMT"},
             {"retry-after", "Sat, 31 Jan 2026 12:10:04 GMT"}},
            4'000},
        advice{{{"date", "yesterday"}, {"retry-after", "Sat, 31 Jan 2026 12:00:04 GMT"}}, 4'000},
        advice{{{"retry-after-ms", "250"}}, 250},
        advice{{{"x-ms-retry-after-ms", "1200"}}, 1'200},
        advice{{{"retry-after", "2"}, {"x-ms-retry-after-ms", "1200"}}, 1'200},
        advice{{{"retry-after", "2"}, {"x-ms-retry-after-ms", "soon"}}, 2'000},
        advice{{{"x-ms-retry-after-ms", "-1"}}, 0}
    )
);

TEST(transient_status, is_what_may_work_later) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_TRUE(is_transient_status(status)) << status;
  }
  for (const int status : {200, 202, 301, 400, 401, 403, 404, 409, 412, 501, 505}) {
    EXPECT_FALSE(is_transient_status(status)) << status;
  }
}

TEST(backoff, doubles_up_to_its_cap) {
  const backoff b{milliseconds{1'000}, milliseconds{60'000}};
  const long expected[] = {1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 60'000, 60'000};
  unsigned attempt = 0;
  for (const long ms : expected) {
    EXPECT_EQ(b.delay(attempt++, 1.0).count(), ms);
  }
  EXPECT_EQ(b.delay(4'000'000'000U, 1.0).count(), 60'000);
}

TEST(backoff, spreads_over_the_upper_half) {
  const backoff b{milliseconds{1'000}, milliseconds{60'000}};
  EXPECT_EQ(b.delay(0, 0.0).count(), 500);
  EXPECT_EQ(b.delay(0, 0.5).count(), 750);
  EXPECT_EQ(b.delay(0, 7.0).count(), 1'000);
  EXPECT_EQ(b.delay(0, -7.0).count(), 500);
}

TEST(backoff, never_comes_before_the_advice) {
  const backoff b{milliseconds{1'000}, milliseconds{60'000}};
  EXPECT_EQ(b.delay(0, 1.0, milliseconds{3'000}).count(), 3'000);
  EXPECT_EQ(b.delay(0, 1.0, milliseconds{90'000}).count(), 90'000);
  EXPECT_EQ(b.delay(3, 1.0, milliseconds{0}).count(), 8'000);
}

TEST(backoff, bears_odd_settings) {
  EXPECT_EQ((backoff{milliseconds{0}, milliseconds{10}}.delay(9, 1.0).count()), 0);
  EXPECT_EQ((backoff{milliseconds{-5}, milliseconds{10}}.delay(9, 1.0).count()), 0);
  EXPECT_EQ((backoff{milliseconds{50}, milliseconds{10}}.delay(0, 1.0).count()), 10);
}

TEST(jitter, stays_below_one) {
  for (int i = 0; i < 1'000; ++i) {
    const double j = random_jitter();
    EXPECT_GE(j, 0.0);
    EXPECT_LT(j, 1.0);
  }
}

struct link_case {
  const char* value;
  std::optional<std::string> page;
};

void PrintTo(const link_case& c, std::ostream* to) {
  *to << c.value;
}

class next_page_of : public testing::TestWithParam<link_case> {};

TEST_P(next_page_of, takes_only_the_number) {
  const response r{.status = 200, .headers = {{"link", GetParam().value}}, .body = "[]"};
  EXPECT_EQ(next_page(r), GetParam().page);
}

INSTANTIATE_TEST_SUITE_P(
    retry,
    next_page_of,
    testing::Values(
        link_case{"<http://internal/api/?page=3&state=a>; rel=\"next\"", "3"},
        link_case{
            "<http://h/?page=1>; rel=\"first\", <http://h/?page=1>; rel=\"prev\", "
            "<http://h/?a=1,2&page=3>; rel=\"next\", <http://h/?page=9>; rel=\"last\"",
            "3"},
        link_case{"<http://h/?page=9>; rel=\"last\"", std::nullopt},
        link_case{"<http://h/?page=2>;rel=next", "2"},
        link_case{"<http://h/?page=2>; title=\"a, b\"; REL=\"last NEXT\"", "2"},
        link_case{"<?page=2>; rel=\"next\"", "2"},
        // There is a next page, but which? Not the end of the list.
        link_case{"<http://h/?cursor=abc>; rel=\"next\"", ""},
        link_case{"<http://h/>; rel=\"next\"", ""},
        link_case{"", std::nullopt},
        link_case{"<http://h/?page=2; rel=\"next\"", std::nullopt},
        link_case{"garbage", std::nullopt},
        link_case{"<http://h/?page=2>", std::nullopt}
    )
);

TEST(next_page, is_absent_without_a_link_header) {
  EXPECT_EQ(next_page(response{.status = 200, .headers = {}, .body = "[]"}), std::nullopt);
}

TEST(response, finds_headers_by_lower_case_name) {
  const response r{.status = 200, .headers = {{"a", "1"}, {"a", "2"}, {"b", ""}}, .body = ""};
  EXPECT_EQ(r.header("a"), "1");
  EXPECT_EQ(r.header("b"), "");
  EXPECT_EQ(r.header("c"), std::nullopt);
}

} // namespace

} // namespace siteagent::net
