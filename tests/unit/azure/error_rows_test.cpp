// SPDX-License-Identifier: MIT
// Each row of what Azure may say, and the table as a whole.
#include "plugins/azure/error_table.hpp"
#include "tests/unit/azure/error_rows.hpp"

#include <gmock/gmock.h>

namespace siteagent::azure {

TEST_P(azure_error_row, has_its_class_and_words) {
  const error_case& r = GetParam();
  const base::json node = base::json::object({{"code", r.code}, {"message", r.text}});
  const base::json document = r.status == 200
                                  ? base::json::object({{"status", "Failed"}, {"error", node}})
                                  : base::json::object({{"error", node}});
  const base::error e = map_error(arm::parse_error(r.status, document), "create x");
  EXPECT_EQ(reason_of(e), r.why);
  EXPECT_EQ(e.code, r.result);
  EXPECT_EQ(e.provider_code, r.code);
  EXPECT_EQ(e.http_status, r.status);
  EXPECT_THAT(e.message, testing::StartsWith("create x: "));
  EXPECT_THAT(e.message, testing::HasSubstr(r.operator_text));
  EXPECT_EQ(e.message.find('\n'), std::string::npos);
  if (*r.customer == '\0') {
    EXPECT_EQ(e.public_message, "");
  } else {
    EXPECT_THAT(e.public_message, testing::HasSubstr(r.customer));
  }
  // The customer sees nothing of the provider's inside.
  for (const char* inside : {"subscription", "/", "quota.", "principal", "az ", "role"}) {
    if (std::string_view(inside) != "subscription" || r.why != reason::policy) {
      EXPECT_EQ(e.public_message.find(inside), std::string::npos) << inside;
    }
  }
  EXPECT_EQ(e.public_message.find_first_of("0123456789"), std::string::npos);
}

namespace {

TEST(azure_error_table, every_row_is_reached) {
  for (const error_row& r : error_rows()) {
    std::string code(r.code);
    while (code.find('*') != std::string::npos) {
      code.erase(code.find('*'), 1);
    }
    const int status = r.status != 0 ? r.status : r.where == said_in::operation ? 200 : 400;
    if (r.code == "*") {
      EXPECT_EQ(&error_row_of_status(status == 400 && r.text.empty() ? 418 : status, r.text), &r);
    } else {
      EXPECT_EQ(find_error_row(status, code, r.text), &r) << r.code << " " << r.text;
    }
  }
}

TEST(azure_error_table, codes_compare_without_case) {
  EXPECT_EQ(find_error_row(409, "SKUNOTAVAILABLE", ""), find_error_row(409, "SkuNotAvailable", ""));
  EXPECT_EQ(find_error_row(400, "countlimitreached", "")->what.why, reason::quota);
  EXPECT_EQ(find_error_row(400, "In", ""), nullptr);
}

constexpr const char* quota_paragraph =
    "Operation could not be completed as it results in exceeding approved standardDSv3Family "
    "Cores "
    "quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, "
    "Current "
    "Limit: 10, Current Usage: 8, Additional Required: 4, (Minimum) New Limit Required: 12. "
    "Setup "
    "Alerts when Quota reaches threshold. Submit a request for Quota increase at "
    "https://aka.ms/ProdportalCRP/x by specifying parameters listed in the 'Details' section";

TEST(azure_quota_text, becomes_one_clause_for_the_operator_and_no_figure_for_the_customer) {
  const base::json node =
      base::json::object({{"code", "OperationNotAllowed"}, {"message", quota_paragraph}});
  const base::error e =
      map_error(arm::parse_error(409, base::json::object({{"error", node}})), "create x");
  EXPECT_THAT(
      e.message,
      testing::HasSubstr("quota 'standardDSv3Family Cores' of westeurope: 8 of 10 used, 4 more "
                         "wanted, a limit of 12 would do")
  );
  EXPECT_EQ(e.message.find("aka.ms"), std::string::npos);
  EXPECT_EQ(e.public_message.find_first_of("0123456789"), std::string::npos);
  EXPECT_EQ(e.public_message.find("DSv3"), std::string::npos);
  EXPECT_EQ((*base::json::parse(e.detail))["quota"]["limit_needed"].string_or(""), "12");
}

TEST(azure_quota_text, that_cannot_be_parsed_stays_whole) {
  EXPECT_TRUE(quota_figures("no figures at all").is_null());
  EXPECT_TRUE(quota_figures("Current Limit:").is_null());
  EXPECT_TRUE(quota_figures("").is_null());
  const base::json node =
      base::json::object({{"code", "QuotaExceeded"}, {"message", "Your quota is used up, sorry."}});
  const base::error e =
      map_error(arm::parse_error(409, base::json::object({{"error", node}})), "create x");
  EXPECT_THAT(e.message, testing::HasSubstr("Your quota is used up, sorry."));
}

TEST(azure_quota_text, leaves_out_what_is_not_told) {
  const base::json q = quota_figures("Current Limit: 10, Current Usage: 10");
  EXPECT_EQ(q.dump(), R"({"limit":"10","used":"10"})");
}

} // namespace

} // namespace siteagent::azure
