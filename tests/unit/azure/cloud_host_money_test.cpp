// SPDX-License-Identifier: MIT
// Hours of sizes and credit, over the emulated price list and billing accounts.
#include "tests/unit/azure/cloud_host_fixture.hpp"

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class azure_host_price : public azure_hosts {
protected:
  fake_call price(const std::string& size, std::vector<std::string> locations = {"westeurope"}) {
    json list = json::array();
    for (const std::string& l : locations) {
      list.push_back(l);
    }
    return run(
        &provider::price_size, json::object({{"size", size}, {"locations", std::move(list)}})
    );
  }

  void prices(const std::string& members) {
    azure.seed(*json::parse(R"({"prices":{)" + members + "}}"));
  }
};

TEST_F(azure_host_price, case_price_01_only_the_on_demand_hour_counts_on_every_page) {
  for (const int page : {3, 100}) {
    prices(R"("hourly":{"Standard_D2s_v5":"0.384"},"page_size":)" + std::to_string(page));
    const fake_call call = price("Standard_D2s_v5", {"westeurope", "North Europe"});
    ASSERT_EQ(call.code, SAGENT_OK) << call.message;
    const json& quotes = call.emitted[0]["quotes"];
    ASSERT_EQ(quotes.size(), 2U);
    EXPECT_EQ(quotes[0]["location"].string_or(""), "westeurope");
    EXPECT_EQ(quotes[1]["location"].string_or(""), "northeurope");
    for (const json& q : quotes.items()) {
      EXPECT_EQ(base::decimal::parse(q["hour"].string_or("")), base::decimal::parse("0.384"));
      EXPECT_EQ(q["currency"].string_or(""), "USD");
      EXPECT_EQ(q["meter"].string_or(""), "D2s v5");
    }
  }
  EXPECT_THAT(azure.log(), Not(IsEmpty()));
  EXPECT_EQ(azure.count("POST", "/oauth2/"), 0U) << "no credentials are needed";
}

TEST_F(azure_host_price, any_spelling_of_a_size_is_found_and_the_lists_own_is_told) {
  prices(R"("hourly":{"Standard_D2s_v5":"0.1"})");
  const fake_call call = price("STANDARD_d2S_V5");
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["size"].string_or(""), "Standard_D2s_v5");
  EXPECT_EQ(call.emitted[0]["quotes"].size(), 1U);
}

TEST_F(azure_host_price, case_price_02_zero_and_future_rows_are_no_price) {
  const auto row = [](const std::string& price, const std::string& from) {
    return R"({"currencyCode":"USD","tierMinimumUnits":0.0,"retailPrice":)" + price +
           R"(,"unitPrice":0,"armRegionName":"westeurope","location":"EU West","effectiveStartDate":")" +
           from +
           R"(","meterName":"D2s v5","productName":"Virtual Machines Dsv5 Series","skuName":"D2s v5","serviceName":"Virtual Machines","unitOfMeasure":"1 Hour","type":"Consumption","armSkuName":"Standard_D2s_v5"})";
  };
  const std::string zero = row("0.0", "2020-01-01T00:00:00Z");
  const std::string later = row("0.5", "2099-01-01T00:00:00Z");
  prices(R"("only_items":true,"items":[)" + zero + "," + later + "]");
  const fake_call none = price("Standard_D2s_v5");
  ASSERT_EQ(none.code, SAGENT_OK) << none.message;
  EXPECT_THAT(none.emitted[0]["quotes"].items(), IsEmpty());
  prices(
      R"("only_items":true,"items":[)" + zero + "," + later + "," +
      row("0.45", "2021-01-01T00:00:00Z") + "," + row("0.44", "2021-01-01T00:00:00Z") + "]"
  );
  const fake_call now = price("Standard_D2s_v5");
  ASSERT_EQ(now.emitted[0]["quotes"].size(), 1U);
  EXPECT_EQ(now.emitted[0]["quotes"][0]["hour"].string_or(""), "0.45");
}

TEST_F(azure_host_price, F10_a_page_that_fails_is_a_failure_and_names_the_location) {
  prices(R"("hourly":{"Standard_D2s_v5":"0.384"},"page_size":3)");
  wire.add({"GET", "$skip=", -1, 1, false, 500, "", {}});
  const fake_call call = price("Standard_D2s_v5");
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT);
  EXPECT_THAT(call.message, AllOf(HasSubstr("Standard_D2s_v5"), HasSubstr("westeurope")));
  EXPECT_THAT(call.emitted, IsEmpty());
}

TEST_F(azure_host_price, F11_a_size_sold_nowhere_has_no_quote) {
  const fake_call call = price("Standard_Nothing1_v1");
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(call.emitted[0]["quotes"].items(), IsEmpty());
}

class azure_host_credit : public azure_hosts {
protected:
  azure_host_credit() {
    settings.member_ref("credentials")
        .set(
            "billing",
            *json::parse(
                R"({"tenant_id":"22222222-2222-2222-2222-222222222222","client_id":"33333333-3333-3333-3333-333333333333",
                    "client_secret":"reference","billing_account":"acc:ount_2019-05-31","billing_profile_system_id":"sys","billing_profile":"pro"})"
            )
        );
  }

  void stored(const char* key, const json& value) {
    json& item = settings.member_ref("credentials").member_ref("billing");
    if (value.is_null()) {
      item.erase(key);
    } else {
      item.set(key, value);
    }
    provider.reset();
  }

  void billing(const std::string& account) {
    azure.seed(*json::parse(R"({"billing":{"accounts":[)" + account + "]}}"));
  }

  fake_call credit() { return run(&provider::credit_balance, json::object()); }
};

const char* const customer_agreement =
    R"({"name":"acc:ount_2019-05-31","profiles":[{"name":"sys","credit":{"estimated":880.10,"current":900}},{"name":"pro","available":12.5}]})";

TEST_F(azure_host_credit, A11_both_figures_of_a_customer_agreement_are_told) {
  billing(customer_agreement);
  const fake_call call = credit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  const json& a = call.emitted[0];
  EXPECT_EQ(a["reported"].boolean(), true);
  EXPECT_EQ(base::decimal::parse(a["current"].string_or("")), base::decimal(900));
  EXPECT_EQ(base::decimal::parse(a["estimated"].string_or("")), base::decimal::parse("880.1"));
  EXPECT_EQ(a["currency"].string_or(""), "USD");
  EXPECT_THAT(a["scope"].string_or(""), HasSubstr("sys"));
  EXPECT_TRUE(base::parse_rfc3339(a["read_at"].string_or("")));
  EXPECT_EQ(azure.count("GET", "/metadata/"), 0U) << "the billing credential is its own";
}

TEST_F(azure_host_credit, the_first_scope_whose_fields_are_stored_counts) {
  billing(customer_agreement);
  stored("billing_profile_system_id", json());
  const fake_call profile = credit();
  ASSERT_EQ(profile.code, SAGENT_OK) << profile.message;
  EXPECT_EQ(
      base::decimal::parse(profile.emitted[0]["current"].string_or("")),
      base::decimal::parse("12.5")
  );
  EXPECT_TRUE(profile.emitted[0]["estimated"].is_null());
  stored("billing_profile", json());
  billing(
      R"({"name":"acc:ount_2019-05-31","agreement":"EnterpriseAgreement","balances":{"currency":"USD","beginning":1000,"ending":640.25}})"
  );
  const fake_call enrollment = credit();
  ASSERT_EQ(enrollment.code, SAGENT_OK) << enrollment.message;
  EXPECT_EQ(
      base::decimal::parse(enrollment.emitted[0]["current"].string_or("")),
      base::decimal::parse("640.25")
  );
  EXPECT_EQ(enrollment.emitted[0]["currency"].string_or(""), "USD");
  stored("billing_account", json());
  const fake_call nothing = credit();
  EXPECT_EQ(nothing.code, SAGENT_E_INVALID);
  EXPECT_THAT(nothing.message, HasSubstr("billing_account"));
  stored("subscription_id", "11111111-1111-1111-1111-111111111111");
  wire.add(
      {"GET",
       "/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Consumption/"
       "balances",
       1,
       0,
       false,
       200,
       R"({"properties":{"currency":"USD","availableBalance":"77.7"}})",
       {}}
  );
  const fake_call subscription = credit();
  ASSERT_EQ(subscription.code, SAGENT_OK) << subscription.message;
  EXPECT_EQ(subscription.emitted[0]["current"].string_or(""), "77.7");
}

TEST_F(azure_host_credit, F14_204_is_no_credit_with_a_reason) {
  billing(R"({"name":"acc:ount_2019-05-31","profiles":[{"name":"sys"}]})");
  const fake_call call = credit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["reported"].boolean(), false);
  EXPECT_THAT(call.emitted[0]["reason"].string_or(""), HasSubstr("204"));
}

TEST_F(azure_host_credit, an_agreement_without_a_credit_api_says_so) {
  billing(R"({"name":"acc:ount_2019-05-31","agreement":"MicrosoftOnlineServicesProgram"})");
  const fake_call call = credit();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted[0]["reported"].boolean(), false);
  EXPECT_THAT(
      call.emitted[0]["reason"].string_or(""),
      AllOf(HasSubstr("MicrosoftOnlineServicesProgram"), HasSubstr("no credit API"))
  );
}

TEST_F(azure_host_credit, case_price_03_whatever_holds_no_figure_is_refused_with_its_cause) {
  billing(customer_agreement);

  struct row {
    int status;
    const char* body;
    sagent_code code; // SAGENT_OK: read
  };

  const row rows[] = {
      {200, "{}", SAGENT_E_PERMANENT},
      {200, R"({"properties":{"creditCurrency":"USD","amount":null}})", SAGENT_E_PERMANENT},
      {200, R"({"properties":{"creditCurrency":"USD","amount":"much"}})", SAGENT_E_PERMANENT},
      {200, R"({"properties":{"amount":5}})", SAGENT_E_PERMANENT},
      {200, R"({"properties":{"creditCurrency":"USD","amount":"900.00"}})", SAGENT_OK},
      {200, R"({"properties":{"amount":{"currency":"EUR","value":1.5}}})", SAGENT_OK},
      {400,
       R"({"error":{"code":"BadRequest","message":"offer type not supported"}})",
       SAGENT_E_PERMANENT},
      {403, R"({"error":{"code":"AuthorizationFailed","message":"no"}})", SAGENT_E_FORBIDDEN},
      {404, R"({"error":{"code":"NotFound","message":"no"}})", SAGENT_E_PERMANENT},
      {502, "<html>", SAGENT_E_TRANSIENT}};
  for (const row& r : rows) {
    wire.add({"GET", "balanceSummary", -1, 0, false, r.status, r.body, {}});
    const fake_call call = credit();
    EXPECT_EQ(call.code, r.code) << r.status << " " << r.body << ": " << call.message;
    wire.clear();
  }
}

TEST_F(azure_host_credit, case_price_06_a_billing_credential_that_fails_stops_nothing_else) {
  stored("client_id", "99999999-9999-9999-9999-999999999999");
  EXPECT_EQ(credit().code, SAGENT_E_AUTH);
  const json created = rent();
  EXPECT_EQ(run(&provider::delete_host, delete_body("b1", created)).code, SAGENT_OK);
}

TEST_F(azure_host_credit, without_a_stored_billing_credential_the_item_is_named) {
  settings.member_ref("credentials").erase("billing");
  const fake_call call = credit();
  EXPECT_EQ(call.code, SAGENT_E_AUTH);
  EXPECT_THAT(call.message, HasSubstr("wisent-azure-billing-sp"));
}

class azure_host_access : public azure_hosts {
protected:
  fake_call list() {
    return run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  }

  std::vector<std::string> lines_of(const fake_call& call, bool ok) {
    std::vector<std::string> out;
    for (const json& line : call.emitted) {
      if (line["ok"].boolean().value_or(false) == ok) {
        out.push_back(line["name"].string_or(""));
      }
    }
    return out;
  }
};

TEST_F(azure_host_access, the_managed_identity_comes_first) {
  azure.seed(*json::parse(
      R"({"identities":[{"client_id":"55555555-5555-5555-5555-555555555555","object_id":"i","tenant":"22222222-2222-2222-2222-222222222222"}]})"
  ));
  settings.member_ref("credentials").erase("control");
  const fake_call call = list();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(azure.count("POST", "/oauth2/"), 0U);
}

TEST_F(azure_host_access, without_an_identity_the_stored_principal_is_used) {
  EXPECT_EQ(list().code, SAGENT_OK);
  EXPECT_EQ(azure.count("POST", "/oauth2/"), 1U);
  const auto asked = azure.count("GET", "/metadata/");
  EXPECT_EQ(list().code, SAGENT_OK);
  EXPECT_EQ(azure.count("GET", "/metadata/"), asked) << "chosen once";
}

TEST_F(azure_host_access, both_refusals_are_told_together) {
  host_data.secret = "wrong";
  const fake_call call = list();
  EXPECT_EQ(call.code, SAGENT_E_AUTH);
  EXPECT_THAT(call.message, AllOf(HasSubstr("managed identity"), HasSubstr("AADSTS7000215")));
  EXPECT_THAT(call.message, Not(HasSubstr("wrong&")));
  settings.member_ref("credentials").erase("control");
  provider.reset();
  const fake_call none = list();
  EXPECT_EQ(none.code, SAGENT_E_AUTH);
  EXPECT_THAT(none.message, AllOf(HasSubstr("managed identity"), HasSubstr("stado-azure")));
}

TEST_F(azure_host_access, a_metadata_service_that_is_not_there_costs_two_seconds_at_most) {
  wire.add({"GET", "/metadata/", -1, 0, false, 503, "", {{"retry-after", "60"}}});
  const auto began = azure.clock.steady();
  EXPECT_EQ(list().code, SAGENT_OK);
  EXPECT_LE(azure.clock.steady() - began, std::chrono::seconds(2));
}

TEST_F(azure_host_access, check_tells_every_thing_that_renting_needs) {
  settings.member_ref("credentials")
      .set(
          "billing",
          *json::parse(
              R"({"tenant_id":"22222222-2222-2222-2222-222222222222","client_id":"33333333-3333-3333-3333-333333333333",
                  "client_secret":"reference","billing_account":"acc:ount_2019-05-31","billing_profile_system_id":"sys"})"
          )
      );
  azure.seed(*json::parse(R"({"billing":{"accounts":[)" + std::string(customer_agreement) + "]}}"));
  const fake_call call =
      run(&provider::check, json::object({{"locations", json::array({"westeurope"})}}));
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(lines_of(call, false), IsEmpty());
  EXPECT_THAT(
      lines_of(call, true),
      testing::ElementsAre(
          "credentials",
          "subscription",
          "resource group",
          "network in westeurope",
          "image in westeurope",
          "rights on the subscription",
          "rights on the resource group",
          "rights on the security group of the subnet",
          "billing"
      )
  );
}

TEST_F(azure_host_access, check_goes_on_behind_what_fails) {
  settings.member_ref("bindings").set("image_urn", "Canonical:nothing:server:latest");
  azure.seed(*json::parse(
      R"({"applications":[{"client_id":"33333333-3333-3333-3333-333333333333","secret":"right","object_id":"o","permissions":[
          {"scope":"/subscriptions/11111111-1111-1111-1111-111111111111","actions":["*/read"]}]}]})"
  ));
  const fake_call call =
      run(&provider::check, json::object({{"locations", json::array({"westeurope", "eastus"})}}));
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      lines_of(call, false),
      testing::ElementsAre(
          "image in westeurope",
          "network in eastus",
          "image in eastus",
          "rights on the resource group",
          "rights on the security group of the subnet",
          "billing"
      )
  );
  for (const json& line : call.emitted) {
    if (line["name"].string_or("") == "rights on the resource group") {
      EXPECT_THAT(
          line["detail"].string_or(""), HasSubstr("Microsoft.Compute/virtualMachines/write")
      );
    }
  }
}

} // namespace

} // namespace siteagent::azure::test
