// SPDX-License-Identifier: MIT
// Credit and cost.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

class azure_billing : public cloud {
public:
  answer tenant(const std::string& path) {
    return raw(
        "GET",
        path + (path.find('?') == std::string::npos ? "?" : "&") + "api-version=2024-04-01",
        "",
        {{"authorization", "Bearer " + token_}}
    );
  }

  static inline const std::string accounts = "/providers/Microsoft.Billing/billingAccounts";
  static inline const std::string customer = accounts + "/aaaa:bbbb_2019-05-31";
  static inline const std::string profile = customer + "/billingProfiles/P-1";
  static inline const std::string summary =
      profile + "/providers/Microsoft.Consumption/credits/balanceSummary";

  void seed_customer(const std::string& more = "") {
    seed(R"({"billing":{"accounts":[{"name":"aaaa:bbbb_2019-05-31")" + more + R"(,"profiles":[
      {"name":"P-1","currency":"EUR","spending_limit":"On","available":"7",
       "credit":{"estimated":"600.25","current":"700","pending_charges":"99.75"},
       "lots":[{"original":"1000","closed":"600.25"},{"original":"5","closed":"0","status":"Expired"}],
       "events":[{"date":"2026-01-05","charges":"-10"},{"date":"2026-02-05","charges":"-20"}]},
      {"name":"P-2"}]}]}})");
  }
};

TEST_F(azure_billing, is_absent_by_default) {
  EXPECT_EQ(tenant(accounts).body["value"].size(), 0U);
  EXPECT_EQ(tenant(summary).status, 404);
}

TEST_F(azure_billing, shows_the_credit_of_a_customer_agreement) {
  seed_customer();
  const auto list = tenant(accounts).body["value"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["id"].string_or(""), customer);
  EXPECT_EQ(
      list[0].at({"properties", "agreementType"}).string_or(""), "MicrosoftCustomerAgreement"
  );
  const auto profiles = tenant(customer + "/billingProfiles").body["value"];
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[0]["id"].string_or(""), profile);
  EXPECT_EQ(profiles[0].at({"properties", "currency"}).string_or(""), "EUR");
  EXPECT_EQ(profiles[0].at({"properties", "spendingLimit"}).string_or(""), "On");
  const auto balance = tenant(summary);
  EXPECT_EQ(balance.status, 200);
  const auto& properties = balance.body["properties"];
  EXPECT_EQ(properties.at({"balanceSummary", "estimatedBalance", "value"}).number_text(), "600.25");
  EXPECT_EQ(properties.at({"balanceSummary", "currentBalance", "value"}).number_text(), "700.0");
  EXPECT_EQ(properties.at({"balanceSummary", "estimatedBalance", "currency"}).string_or(""), "EUR");
  EXPECT_EQ(properties.at({"expiredCredit", "value"}).number_text(), "0.0");
  EXPECT_EQ(
      tenant(profile + "/availableBalance/default")
          .body.at({"properties", "amount", "value"})
          .number_text(),
      "7.0"
  );
}

TEST_F(azure_billing, answers_204_where_there_is_no_credit) {
  seed_customer();
  const auto none = tenant(
      customer + "/billingProfiles/P-2/providers/Microsoft.Consumption/credits/balanceSummary"
  );
  EXPECT_EQ(none.status, 204);
  EXPECT_TRUE(none.body.is_null());
}

TEST_F(azure_billing, lists_lots_and_events) {
  seed_customer();
  const std::string consumption = profile + "/providers/Microsoft.Consumption";
  const auto lots = tenant(consumption + "/lots").body["value"];
  ASSERT_EQ(lots.size(), 2U);
  EXPECT_EQ(lots[0].at({"properties", "closedBalance", "value"}).number_text(), "600.25");
  EXPECT_EQ(lots[0].at({"properties", "status"}).string_or(""), "Active");
  EXPECT_EQ(lots[1].at({"properties", "status"}).string_or(""), "Expired");
  const auto events =
      tenant(consumption + "/events?startDate=2026-01-01&endDate=2026-01-31").body["value"];
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].at({"properties", "charges", "value"}).number_text(), "-10.0");
  EXPECT_EQ(tenant(consumption + "/events").status, 400);
}

TEST_F(azure_billing, is_refused_or_hidden_without_a_role) {
  seed_customer(R"(,"access":"denied")");
  EXPECT_EQ(tenant(accounts).body["value"].size(), 0U);
  EXPECT_EQ(tenant(summary).status, 403);
  EXPECT_EQ(tenant(summary).code(), "AuthorizationFailed");
  seed_customer(R"(,"access":"hidden")");
  EXPECT_EQ(tenant(summary).status, 404);
  seed_customer();
  const std::string application =
      R"({"applications":[{"client_id":"33333333-3333-3333-3333-333333333333","object_id":"44444444-4444-4444-4444-444444444444","permissions":[)";
  seed(application + R"({"scope":")" + subscription_1 + R"(","actions":["*"]}]}]})");
  EXPECT_EQ(tenant(summary).status, 403) << "a role on the subscription is none on the account";
  EXPECT_EQ(tenant(accounts).body["value"].size(), 0U);
  seed(
      application + R"({"scope":")" + profile +
      R"(","actions":["Microsoft.Consumption/*/read"]}]}]})"
  );
  EXPECT_EQ(tenant(summary).status, 200);
}

TEST_F(azure_billing, shows_the_commitment_of_an_enrollment) {
  seed(R"({"billing":{"accounts":[{"name":"1234567","agreement":"EnterpriseAgreement",
    "balances":{"currency":"USD","beginning":"1000","utilized":"250.5","ending":"749.5"},
    "lots":[{"original":"1000","closed":"749.5","source":"PurchasedCredit"}]}]}})");
  EXPECT_EQ(
      tenant(accounts).body["value"][0].at({"properties", "agreementType"}).string_or(""),
      "EnterpriseAgreement"
  );
  for (const auto* path :
       {"/providers/Microsoft.Consumption/balances",
        "/billingPeriods/202601/providers/Microsoft.Consumption/balances"}) {
    const auto balance = tenant(accounts + "/1234567" + path).body["properties"];
    EXPECT_EQ(balance["beginningBalance"].number_text(), "1000.0") << path;
    EXPECT_EQ(balance["endingBalance"].number_text(), "749.5");
    EXPECT_EQ(balance["newPurchases"].number_text(), "0.0");
  }
  EXPECT_EQ(
      tenant(accounts + "/1234567/providers/Microsoft.Consumption/lots").body["value"].size(), 1U
  );
}

TEST_F(azure_billing, tells_the_cost_of_the_month) {
  const std::string query = "/providers/Microsoft.CostManagement/query";
  const auto body = parsed(
      R"({"type":"ActualCost","timeframe":"MonthToDate","dataset":{"granularity":"None","aggregation":{"totalCost":{"name":"Cost","function":"Sum"}}}})"
  );
  EXPECT_EQ(arm("POST", query, body).body.at({"properties", "rows"}).size(), 0U);
  seed(R"({"billing":{"costs":[{"amount":"12.3","currency":"EUR"}]}})");
  const auto cost = arm("POST", query, body).body["properties"];
  EXPECT_EQ(cost["columns"][0]["name"].string_or(""), "Cost");
  EXPECT_EQ(cost["columns"][1]["name"].string_or(""), "Currency");
  EXPECT_EQ(cost["rows"][0][std::size_t{0}].number_text(), "12.3");
  EXPECT_EQ(cost["rows"][0][std::size_t{1}].string_or(""), "EUR");
  EXPECT_EQ(arm("POST", query, parsed(R"({"type":"Guess"})")).status, 400);
}

TEST_F(azure_billing, refuses_what_it_does_not_understand_in_a_seed) {
  for (const auto* bad :
       {R"({"billing":[]})",
        R"({"billing":{"account":[]}})",
        R"({"billing":{"accounts":[{}]}})",
        R"({"billing":{"accounts":[{"name":"a","access":"maybe"}]}})",
        R"({"billing":{"accounts":[{"name":"a","profiles":[{"name":"p","credits":1}]}]}})"}) {
    EXPECT_FALSE(azure_.seed(parsed(bad)).has_value()) << bad;
  }
}

} // namespace
} // namespace siteagent::azure_emulator
