// SPDX-License-Identifier: MIT
// Lists in pages.
#include "plugins/azure/arm/paging.hpp"

#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"

namespace siteagent::azure::test {

namespace {

const std::string list_path = "/subscriptions/" + std::string(subscription) + "/x?p=1";

class azure_paging : public azure_arm {
protected:
  // A page with one element and this link.
  void
  page(const std::string& query, const std::string& id, const std::string& next, int times = 1) {
    const std::string items = id.empty() ? "" : R"({"id":")" + id + "\"}";
    arm.script(
        {"GET",
         query,
         times,
         0,
         false,
         200,
         R"({"value":[)" + items + R"(],"nextLink":)" + next + "}",
         {}}
    );
  }

  static std::string link(const std::string& query) {
    return "\"" + std::string(base_url) + "/subscriptions/" + std::string(subscription) + "/x?" +
           query + "\"";
  }

  base::result<std::vector<base::json>> list() {
    return arm::read_all(*pipe_, scope_, list_path, "list");
  }
};

struct ending_of_list {
  const char* name;
  const char* link;
};

class azure_list_endings : public azure_paging,
                           public testing::WithParamInterface<ending_of_list> {};

TEST_P(azure_list_endings, is_the_last_page) {
  page("p=1", "/a", GetParam().link);
  const auto all = list();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    links,
    azure_list_endings,
    testing::Values(
        ending_of_list{"null", "null"},
        ending_of_list{"empty", "\"\""},
        ending_of_list{"number", "7"}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

TEST_F(azure_paging, comes_page_by_page_and_each_element_once) {
  page("p=1", "/A", link("p=2"));
  page("p=2", "", link("p=3"));
  page("p=3", "/a", link("p=4"));
  page("p=4", "/b", "null");
  std::vector<std::string> seen;
  std::vector<std::size_t> reads;
  ASSERT_TRUE(arm::read_each(*pipe_, scope_, list_path, "list", [&](base::json&& o) {
    seen.push_back(o["id"].string_or(""));
    reads.push_back(arm.count_requests("GET", "/x?"));
  }));
  EXPECT_THAT(seen, testing::ElementsAre("/A", "/b"));
  EXPECT_THAT(reads, testing::ElementsAre(1U, 4U));
}

TEST_F(azure_paging, an_expired_link_starts_the_list_again) {
  for (const int status : {400, 410}) {
    page("p=1", "/a", link("p=2"), 2);
    arm.script({"GET", "p=2", 1, 0, false, status, fake_arm::error_text("InvalidSkipToken"), {}});
    page("p=2", "/b", "null");
    const auto all = list();
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->size(), 2U);
  }
}

TEST_F(azure_paging, a_link_that_always_expires_is_an_error) {
  page("p=1", "/a", link("p=2"), -1);
  arm.script({"GET", "p=2", -1, 0, false, 410, "", {}});
  EXPECT_FALSE(list());
  EXPECT_EQ(arm.count_requests("GET", "p=1"), 3U);
}

TEST_F(azure_paging, a_first_page_that_is_refused_is_an_error_at_once) {
  arm.script({"GET", "p=1", -1, 0, false, 400, fake_arm::error_text("InvalidFilter"), {}});
  EXPECT_FALSE(list());
  EXPECT_EQ(arm.count_requests("GET", "p=1"), 1U);
}

TEST_F(azure_paging, pages_without_a_value_are_no_list) {
  for (const char* text : {"{}", "[]", "null", R"({"value":{}})", R"({"value":null})"}) {
    arm.script({"GET", "p=1", 1, 0, false, 200, text, {}});
    EXPECT_FALSE(list()) << text;
  }
}

} // namespace

} // namespace siteagent::azure::test
