// SPDX-License-Identifier: MIT
// Usage: other months are no part of it, and the shares of single users.
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const base::uuid record_id = *base::uuid::parse("00000000000000000000000000000008");
const base::uuid user_id = *base::uuid::parse("00000000000000000000000000000007");

TEST_F(waldur_client, case_use_01_leaves_out_usage_of_other_months_whatever_the_server_filtered) {
  http->expect(answer(
      200,
      R"([{"uuid":"00000000000000000000000000000001","type":"cpu","usage":"310.00","billing_period":"2026-10-01"},
          {"uuid":"00000000000000000000000000000002","type":"cpu","usage":12.5,"billing_period":"2026-11-01"},
          {"uuid":"00000000000000000000000000000003","type":"ram","usage":"4"}])"
  ));
  const auto usages = waldur().list_usages(resource_id, "2026-11-01");
  ASSERT_TRUE(usages.has_value());
  ASSERT_THAT(*usages, SizeIs(2)) << "a row that does not tell its month is one of this";
  EXPECT_EQ((*usages)[0].usage, "12.5");
  EXPECT_EQ((*usages)[1].type, "ram");
}

TEST_F(waldur_client, case_use_07_takes_numbers_in_every_form) {
  http->expect(answer(
      200,
      R"([{"uuid":"00000000000000000000000000000001","type":"a","usage":"12.50"},
          {"uuid":"00000000000000000000000000000002","type":"b","usage":12.5},
          {"uuid":"00000000000000000000000000000003","type":"c","usage":12},
          {"uuid":"00000000000000000000000000000004","type":"d","usage":null},
          {"uuid":"00000000000000000000000000000005","type":"e","usage":"much"}])"
  ));
  const auto usages = waldur().list_usages(resource_id, "2026-11-01");
  ASSERT_TRUE(usages.has_value());
  std::vector<std::string> amounts;
  for (const component_usage& u : *usages) {
    amounts.push_back(u.type + "=" + u.usage);
  }
  EXPECT_THAT(amounts, testing::ElementsAre("a=12.50", "b=12.5", "c=12"));
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("usage")));
}

TEST_F(waldur_client, reads_the_shares_of_users) {
  http->expect(answer(
      200,
      R"([{"uuid":"00000000000000000000000000000001","username":"ada","usage":"1.50",
           "component_usage":"https://elsewhere.invalid/api/marketplace-component-usages/00000000000000000000000000000008/"},
          {"uuid":"00000000000000000000000000000002",
           "component_usage":"http://x/api/marketplace-component-usages/00000000-0000-0000-0000-000000000008/"},
          {"uuid":"00000000000000000000000000000003","component_usage":null}])"
  ));
  const auto shares = waldur().list_user_usages(resource_id, "2026-11-01");
  ASSERT_TRUE(shares.has_value());
  ASSERT_THAT(*shares, SizeIs(2));
  EXPECT_EQ((*shares)[0].component_usage, record_id);
  EXPECT_EQ((*shares)[0].username, "ada");
  EXPECT_EQ((*shares)[0].usage, "1.50");
  EXPECT_EQ((*shares)[1].component_usage, record_id);
  EXPECT_EQ((*shares)[1].username, "");
  EXPECT_THAT(request(0).url, HasSubstr("component_usage__billing_period=2026-11-01"));
  EXPECT_THAT(warnings, SizeIs(1)) << "the one that belongs nowhere";
}

TEST_F(waldur_client, books_users_together_or_one_by_one) {
  const std::string date = "2026-11-01T00:00:00+02:00";
  http->expect(answer(201, "{}"));
  ASSERT_TRUE(waldur().set_user_usages(
      record_id, {{"ada", "1.50", date, user_id}, {"bob", "0.00", date, std::nullopt}}
  ));
  const std::string record = "https://waldur.example.com/api/marketplace-component-usages/"
                             "00000000000000000000000000000008/";
  EXPECT_EQ(request(0).url, record + "set_user_usages/");
  EXPECT_EQ(
      request(0).body,
      R"({"usages":[{"username":"ada","usage":"1.50","date":"2026-11-01T00:00:00+02:00","user":"https://waldur.example.com/api/marketplace-offering-users/00000000000000000000000000000007/"},{"username":"bob","usage":"0.00","date":"2026-11-01T00:00:00+02:00"}]})"
  );
  http->expect(answer(201, "{}"));
  ASSERT_TRUE(waldur().set_user_usage(record_id, {"bob", "2.00", date, std::nullopt}));
  EXPECT_EQ(request(1).url, record + "set_user_usage/");
  EXPECT_EQ(
      request(1).body, R"({"username":"bob","usage":"2.00","date":"2026-11-01T00:00:00+02:00"})"
  );
}

} // namespace
} // namespace siteagent::waldur
