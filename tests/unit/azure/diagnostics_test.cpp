// SPDX-License-Identifier: MIT
// diagnostics over the fake Azure: every trouble is named with its remedy, none hides the others.
#include "tests/unit/azure/fixture.hpp"

namespace siteagent::azure::test {
namespace {

using base::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* tenant = "22222222-2222-2222-2222-222222222222";

class azure_diagnostics : public azure_test {
protected:
  azure_diagnostics() {
    settings.set("tenant_id", tenant);
    allow({"*"});
  }

  // What the permissions API answers from now on.
  void allow(const std::vector<std::string>& actions, const std::string& part = "") {
    json list = json::array();
    for (const std::string& a : actions) {
      list.push_back(a);
    }
    script(
        "GET",
        part + "/providers/Microsoft.Authorization/permissions",
        200,
        json::object(
            {{"value",
              json::array({json::object({{"actions", list}, {"notActions", json::array()}})})}}
        ).dump()
    );
  }

  void script(
      const char* verb, std::string part, int status, std::string text, net::header_list h = {}
  ) {
    scripted s;
    s.method = verb;
    s.path_part = std::move(part);
    s.times = -1;
    s.status = status;
    s.body = std::move(text);
    s.headers = std::move(h);
    arm.script(std::move(s));
  }

  // The first question, without a token.
  void script_challenge(int status, std::string text, net::header_list h) {
    scripted s;
    s.method = "GET";
    s.status = status;
    s.body = std::move(text);
    s.headers = std::move(h);
    arm.script(std::move(s)); // the first request that no other script takes
  }

  void check() {
    const fake_call call = run(&backend::diagnostics);
    EXPECT_EQ(call.code, SAGENT_OK) << call.message;
    checks = call.emitted;
  }

  // The check of that name; null: there is none.
  json find(std::string_view name) const {
    for (const json& c : checks) {
      if (c["name"].string_or("").starts_with(name)) {
        return c;
      }
    }
    return {};
  }

  void expect(std::string_view name, bool ok, std::string_view says) const {
    const json c = find(name);
    EXPECT_EQ(c["ok"], json(ok)) << name << ": " << c.dump();
    EXPECT_THAT(c["detail"].string_or(""), HasSubstr(std::string(says))) << name;
  }

  std::vector<json> checks;
};

TEST_F(azure_diagnostics, of_a_good_site_all_pass) {
  check();
  for (const json& c : checks) {
    EXPECT_EQ(c["ok"], json(true)) << c.dump();
  }
  expect("quota", true, "room for 10 more Standard_B1s in westeurope");
  expect("default_image", true, "22.04.10");
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_diagnostics, name_each_missing_action_with_scope_and_remedy) {
  arm.clear_scripts();
  allow({"*/read", "Microsoft.Compute/virtualMachines/*"});
  check();
  const json c = find("permissions at /subscriptions/11111111");
  EXPECT_EQ(c["ok"], json(false));
  EXPECT_THAT(
      c["detail"].string_or(""),
      AllOf(
          HasSubstr("Microsoft.Network/virtualNetworks/subnets/join/action"),
          HasSubstr("Microsoft.Resources/subscriptions/resourceGroups/delete"),
          HasSubstr("az role assignment create --assignee c "),
          HasSubstr("--scope /subscriptions/11111111-1111-1111-1111-111111111111"),
          Not(HasSubstr("virtualMachines/write")),
          Not(HasSubstr("register/action"))
      )
  ) << "registered providers need no registering";
}

TEST_F(azure_diagnostics, read_permissions_over_all_pages) {
  arm.clear_scripts();
  script(
      "GET",
      "/providers/Microsoft.Authorization/permissions?api-version=2022-04-01&more",
      200,
      R"({"value":[{"actions":["*/write","*/delete","*/action"],"notActions":[]}]})"
  );
  script(
      "GET",
      "/providers/Microsoft.Authorization/permissions",
      200,
      R"({"value":[{"actions":["*/read"],"notActions":[]}],"nextLink":"http://127.0.0.1:1)"
      R"(/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Authorization)"
      R"(/permissions?api-version=2022-04-01&more"})"
  );
  check();
  expect("permissions at", true, "are allowed");
}

TEST_F(azure_diagnostics, ask_for_rights_in_the_shared_group_when_it_exists) {
  settings.set("default_resource_group", "shared");
  check();
  expect("default_resource_group", true, "does not exist yet");
  EXPECT_TRUE(find("permissions at " + group_id("shared")).is_null());
  arm.put(group_id("shared"), json::object({{"location", "westeurope"}}));
  azure.reset();
  arm.clear_scripts();
  allow({"*/read"});
  check();
  expect("permissions at " + group_id("shared"), false, "Microsoft.Compute/virtualMachines/write");
}

TEST_F(azure_diagnostics, say_that_rights_cannot_be_read) {
  arm.clear_scripts();
  script(
      "GET",
      "/providers/Microsoft.Authorization/permissions",
      403,
      fake_arm::error_text(
          "AuthorizationFailed", "action 'Microsoft.Authorization/permissions/read'"
      )
  );
  check();
  expect("permissions at", false, "Microsoft.Authorization/permissions/read");
  expect("permissions at", false, "az role assignment create");
  expect("defaults", true, ""); // the others go on
}

TEST_F(azure_diagnostics, name_a_provider_that_is_not_registered_and_the_right_to_do_it) {
  arm.clear_scripts();
  allow({"*/read"});
  script("GET", "/providers/Microsoft.Network?", 200, R"({"registrationState":"NotRegistered"})");
  check();
  expect("provider Microsoft.Compute", true, "registered");
  expect("provider Microsoft.Network", false, "az provider register --namespace Microsoft.Network");
  expect("permissions at", false, "Microsoft.Network/register/action");
  EXPECT_THAT(
      find("permissions at")["detail"].string_or(""), Not(HasSubstr("Compute/register/action"))
  );
}

TEST_F(azure_diagnostics, name_the_tenant_that_owns_the_subscription) {
  script_challenge(
      401,
      "",
      {{"www-authenticate",
        R"(Bearer authorization_uri="https://login.example/99999999-9999-9999-9999-999999999999", error="invalid_token")"}}
  );
  check();
  expect("tenant", false, "set tenant_id to 99999999-9999-9999-9999-999999999999");
  expect("subscription", true, "Enabled");
}

TEST_F(azure_diagnostics, agree_with_the_right_tenant) {
  script_challenge(
      401,
      "",
      {{"www-authenticate",
        std::string(R"(Bearer authorization_uri="https://login.example/)") + tenant + "/\""}}
  );
  check();
  expect("tenant", true, "owns the subscription");
}

TEST_F(azure_diagnostics, say_that_a_cloud_does_not_know_the_subscription) {
  script_challenge(404, fake_arm::error_text("SubscriptionNotFound"), {});
  check();
  expect("tenant", false, "knows no subscription");
}

struct skew_case {
  const char* name;
  int ahead_s;
  const char* says; // "": fine
};

class azure_clock : public azure_diagnostics, public testing::WithParamInterface<skew_case> {};

TEST_P(azure_clock, is_held_against_the_date_of_the_answer) {
  script_challenge(
      401,
      "",
      {{"date", base::to_http_date(clock.wall() - std::chrono::seconds(GetParam().ahead_s))}}
  );
  check();
  expect("clock", *GetParam().says == '\0', GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    table,
    azure_clock,
    testing::Values(
        skew_case{"right", 0, ""},
        skew_case{"nearly_right", 200, ""},
        skew_case{"ahead", 900, "900 s ahead of Azure's"},
        skew_case{"behind", -4000, "4000 s behind Azure's"}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(azure_diagnostics, name_a_host_that_cannot_be_reached_and_still_try_the_credentials) {
  scripted cut;
  cut.method = "GET";
  cut.times = -1;
  arm.clear_scripts();
  arm.script(cut);
  check();
  expect("resource manager http://127.0.0.1:1", false, "connection cut; correct");
  expect("credentials", true, "token");
  expect("further checks", false, "correct the above first");
}

TEST_F(azure_diagnostics, say_that_something_else_answers_in_place_of_azure) {
  script_challenge(200, "<html>welcome</html>", {});
  check();
  expect("resource manager", false, "is an Azure Resource Manager");
  expect("further checks", false, "");
}

TEST_F(azure_diagnostics, go_on_after_a_passing_fault_of_the_first_answer) {
  script_challenge(503, "", {});
  check();
  expect("resource manager", false, "HTTP 503");
  expect("subscription", true, "Enabled");
}

TEST_F(azure_diagnostics, tell_a_wrong_secret_and_what_was_not_looked_at) {
  host_data.secret = "wrong";
  check();
  expect("resource manager", true, "answers");
  expect("credentials", false, "the client secret is wrong");
  expect("further checks", false, "were not looked at");
}

TEST_F(azure_diagnostics, tell_a_subscription_that_is_disabled) {
  scripted s;
  s.method = "GET";
  s.path_part = std::string(subscription) + "?api-version=2022-12-01";
  s.skip = 1; // the question without a token
  s.status = 200;
  s.body = R"({"state":"Disabled","displayName":"Old"})";
  arm.script(s);
  check();
  expect("subscription", false, "Old is Disabled; re-enable it");
}

TEST_F(azure_diagnostics, explain_the_restriction_of_the_default_size) {
  settings.set("default_size", "Standard_Closed");
  check();
  expect("default_size", false, "NotAvailableForSubscription): ask Azure support");
  expect("default_image", true, ""); // one does not hide the other
}

TEST_F(azure_diagnostics, suggest_the_size_that_was_meant) {
  settings.set("default_size", "Standard_B1");
  check();
  expect("default_size", false, "did you mean Standard_B1s?");
}

TEST_F(azure_diagnostics, tell_an_image_that_does_not_exist) {
  settings.set("default_image", "Nobody:nothing:sku:latest");
  check();
  expect("default_image", false, "Nobody:nothing:sku:latest");
  expect("default_size", true, "Standard_B1s in westeurope");
}

TEST_F(azure_diagnostics, tell_a_location_the_subscription_does_not_have) {
  settings.set("default_location", "atlantis");
  check();
  expect("default_location", false, "choose one of: westeurope, northeurope");
}

TEST_F(azure_diagnostics, tell_how_much_quota_is_left_and_of_what) {
  arm.cores_used = arm.cores_limit;
  check();
  expect(
      "quota", false, "no room for any more Standard_B1s in westeurope: regional cores 50 of 50"
  );
  expect("quota", false, "request more of regional cores");
}

TEST_F(azure_diagnostics, need_no_quota_of_addresses_without_them) {
  settings.set("public_ip", "none");
  check();
  EXPECT_THAT(find("quota")["detail"].string_or(""), Not(HasSubstr("addresses")));
}

TEST_F(azure_diagnostics, leave_to_the_orders_what_has_no_default) {
  settings.erase("default_size");
  settings.erase("default_image");
  check();
  expect("default_size", true, "each order must name it");
  expect("defaults", true, "each order must name it");
}

} // namespace
} // namespace siteagent::azure::test
