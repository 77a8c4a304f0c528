// SPDX-License-Identifier: MIT
// Lists: every page or an error.
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {
namespace {

using base::error_code;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string usage_row(int n) {
  const std::string digits = std::to_string(n);
  return R"({"uuid":")" + std::string(32 - digits.size(), '0') + digits + R"(","type":"c)" +
         digits + R"(","usage":"1.00"})";
}

std::string page_of(std::initializer_list<int> rows) {
  std::string out = "[";
  for (const int n : rows) {
    out += (out.size() > 1 ? "," : "") + usage_row(n);
  }
  return out + "]";
}

net::header_list link_to(const std::string& page) {
  return {
      {"link",
       "<http://internal.invalid/api/x/?page=1>; rel=\"first\", "
       "<http://internal.invalid/api/x/?page=" +
           page + "&page_size=100>; rel=\"next\""}};
}

class waldur_paging : public waldur_client {
protected:
  base::result<std::vector<component_usage>> list() {
    return waldur().list_usages(resource_id, "2026-11-01");
  }

  std::vector<std::string> types() {
    std::vector<std::string> out;
    const auto rows = list();
    EXPECT_TRUE(rows.has_value()) << (rows ? "" : rows.error().message);
    if (rows) {
      for (const component_usage& u : *rows) {
        out.push_back(u.type);
      }
    }
    return out;
  }
};

TEST_F(waldur_paging, follows_the_page_number_and_never_the_host) {
  http->expect(answer(200, page_of({1, 2}), link_to("2")));
  http->expect(answer(200, page_of({3}), link_to("3")));
  http->expect(answer(200, page_of({4})));
  EXPECT_THAT(types(), ElementsAre("c1", "c2", "c3", "c4"));
  const std::string first =
      "https://waldur.example.com/api/marketplace-component-usages/"
      "?resource_uuid=0a1b2c3d4e5f60718293a4b5c6d7e8f9&billing_period=2026-11-01"
      "&field=uuid&field=type&field=usage&field=billing_period&page_size=100";
  EXPECT_EQ(request(0).url, first);
  EXPECT_EQ(request(1).url, first + "&page=2");
  EXPECT_EQ(request(2).url, first + "&page=3");
}

TEST_F(waldur_paging, goes_on_after_an_empty_page) {
  http->expect(answer(200, "[]", link_to("2")));
  http->expect(answer(200, page_of({1})));
  EXPECT_THAT(types(), ElementsAre("c1"));
}

TEST_F(waldur_paging, drops_rows_that_shifted_to_the_next_page) {
  http->expect(answer(200, page_of({1, 2}), link_to("2")));
  http->expect(answer(200, page_of({2, 3})));
  EXPECT_THAT(types(), ElementsAre("c1", "c2", "c3"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(waldur_paging, fails_as_a_whole_when_a_page_fails) {
  http->expect(answer(200, page_of({1, 2}), link_to("2")));
  for (int i = 0; i < 3; ++i) {
    http->expect(answer(500));
  }
  const auto rows = list();
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().code, error_code::transient);
}

TEST_F(waldur_paging, repeats_only_the_page_that_failed) {
  http->expect(answer(200, page_of({1}), link_to("2")));
  http->expect(answer(503));
  http->expect(answer(200, page_of({2})));
  EXPECT_THAT(types(), ElementsAre("c1", "c2"));
  EXPECT_EQ(request(1).url, request(2).url);
}

TEST_F(waldur_paging, never_calls_a_vanished_later_page_absence) {
  http->expect(answer(200, page_of({1}), link_to("2")));
  http->expect(answer(404, R"({"detail":"Invalid page."})"));
  const auto rows = list();
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().code, error_code::transient);
  EXPECT_THAT(rows.error().message, HasSubstr("the list changed while it was read"));
}

TEST_F(waldur_paging, ends_when_the_next_link_does_not_lead_further) {
  for (const std::string page : {"1", "0", "-5", "x", "", "99999999999999"}) {
    http->expect(answer(200, page_of({1}), link_to(page)));
    const auto rows = list();
    ASSERT_FALSE(rows.has_value()) << page;
    EXPECT_EQ(rows.error().code, error_code::transient);
    EXPECT_THAT(rows.error().message, HasSubstr("does not lead further"));
  }
  http->expect(answer(200, page_of({1}), link_to("2")));
  http->expect(answer(200, page_of({2}), link_to("2")));
  EXPECT_FALSE(list().has_value()) << "page 2 names itself as the next";
}

TEST_F(waldur_paging, ends_after_a_sane_number_of_pages) {
  int page = 1;
  http->handler = [&](const net::request&) -> fake_transport::reply {
    return answer(200, "[]", link_to(std::to_string(++page)));
  };
  const auto rows = list();
  ASSERT_FALSE(rows.has_value());
  EXPECT_THAT(rows.error().message, HasSubstr("more than 10000 pages"));
}

TEST_F(waldur_paging, notices_pages_that_somebody_on_the_way_cut_off) {
  http->expect(answer(200, page_of({1, 2}), {{"x-result-count", "150"}}));
  const auto rows = list();
  ASSERT_FALSE(rows.has_value());
  EXPECT_THAT(
      rows.error().message, HasSubstr("X-Result-Count is 150, but the pages ended after 2 rows")
  );
}

TEST_F(waldur_paging, survives_any_result_count) {
  for (const std::string count :
       {"2", "1", "0", "-1", "x", "", "1.5", "99999999999999999999999999"}) {
    http->expect(answer(200, page_of({1, 2}), {{"x-result-count", count}}));
    EXPECT_THAT(types(), ElementsAre("c1", "c2")) << count;
  }
  http->expect(answer(200, page_of({1, 2}), {{"x-result-count", "3e9"}}));
  EXPECT_FALSE(list().has_value());
}

TEST_F(waldur_paging, refuses_an_answer_that_is_no_list) {
  for (const std::string body : {R"({"results":[]})", "null", "\"x\"", "7"}) {
    http->expect(answer(200, body));
    const auto rows = list();
    ASSERT_FALSE(rows.has_value()) << body;
    EXPECT_EQ(rows.error().code, error_code::transient);
    EXPECT_THAT(rows.error().message, HasSubstr("the answer is no list"));
  }
}

TEST_F(waldur_paging, leaves_out_rows_it_cannot_read_with_a_warning_each) {
  http->expect(answer(
      200,
      "[5, null, {}, " + usage_row(1) +
          R"(, {"uuid":"x","type":"cpu","usage":"1"}, {"uuid":"000000000000000000000000000000aa","usage":"1"},)"
          R"({"uuid":"000000000000000000000000000000ab","type":"cpu","usage":null},)"
          R"({"uuid":"000000000000000000000000000000ac","type":"cpu","usage":"much"}])"
  ));
  EXPECT_THAT(types(), ElementsAre("c1"));
  ASSERT_EQ(warnings.size(), 7U);
  EXPECT_THAT(warnings[0], HasSubstr("the row without uuid was left out: it is no JSON object"));
  EXPECT_THAT(warnings[2], HasSubstr("field 'uuid' is missing"));
  EXPECT_THAT(warnings[3], HasSubstr("field 'uuid' is no UUID: 'x'"));
  EXPECT_THAT(
      warnings[4],
      HasSubstr("the row 000000000000000000000000000000aa was left out: field 'type' is missing")
  );
  EXPECT_THAT(warnings[5], HasSubstr("field 'usage' is no number"));
  EXPECT_THAT(warnings[6], HasSubstr("field 'usage' is no number: 'much'"));
}

} // namespace
} // namespace siteagent::waldur
