// SPDX-License-Identifier: MIT
// Who may do what: access control, locks, policies, registration, states of a subscription.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

class azure_access : public cloud {
public:
  static inline const std::string object = "66666666-6666-6666-6666-666666666666";

  // A second application with these permissions; its token is used from here on.
  void become(const std::string& permissions) {
    seed(
        R"({"applications":[
      {"client_id":"33333333-3333-3333-3333-333333333333","object_id":"44444444-4444-4444-4444-444444444444"},
      {"client_id":"55555555-5555-5555-5555-555555555555","secret":"other","object_id":")" +
        object + R"(","permissions":)" + permissions + "}]}"
    );
    token_ = fetch_token("55555555-5555-5555-5555-555555555555", "other");
    ASSERT_FALSE(token_.empty());
  }

  static inline const std::string authorization = "/providers/Microsoft.Authorization";
};

using azure_locks = azure_access;
using azure_policies = azure_access;
using azure_subscription_state = azure_access;

TEST_F(azure_access, everything_is_allowed_without_permissions_in_the_seed) {
  const auto own = get(authorization + "/permissions").body["value"];
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0]["actions"][0].string_or(""), "*");
  EXPECT_EQ(own[0]["notActions"].size(), 0U);
}

TEST_F(azure_access, each_request_needs_the_action_of_its_method_and_type) {
  make_machine();

  struct row {
    std::string method;
    std::string path;
    std::string action;
    std::string body;
  };

  const std::string plain = R"({"location":"westeurope"})";
  const row rows[] = {
      {"GET", vm, "Microsoft.Compute/virtualMachines/read", ""},
      {"GET", vm + "/instanceView", "Microsoft.Compute/virtualMachines/instanceView/read", ""},
      {"PUT", vm, "Microsoft.Compute/virtualMachines/write", machine_body().dump()},
      {"PATCH", vm, "Microsoft.Compute/virtualMachines/write", R"({"tags":{}})"},
      {"DELETE", vm, "Microsoft.Compute/virtualMachines/delete", ""},
      {"POST", vm + "/start", "Microsoft.Compute/virtualMachines/start/action", ""},
      {"POST", vm + "/deallocate", "Microsoft.Compute/virtualMachines/deallocate/action", ""},
      {"PUT", nsg, "Microsoft.Network/networkSecurityGroups/write", plain},
      {"GET", net + "/subnets/sub", "Microsoft.Network/virtualNetworks/subnets/read", ""},
      {"GET", networks + "/networkInterfaces", "Microsoft.Network/networkInterfaces/read", ""},
      {"PUT", rg, "Microsoft.Resources/subscriptions/resourceGroups/write", plain},
      {"DELETE", rg, "Microsoft.Resources/subscriptions/resourceGroups/delete", ""},
      {"GET", rg, "Microsoft.Resources/subscriptions/resourceGroups/read", ""},
      {"GET",
       rg + "/resources",
       "Microsoft.Resources/subscriptions/resourceGroups/resources/read",
       ""},
      {"GET", "/resources", "Microsoft.Resources/subscriptions/resources/read", ""},
      {"GET", "", "Microsoft.Resources/subscriptions/read", ""},
      {"GET", "/locations", "Microsoft.Resources/subscriptions/locations/read", ""},
      {"GET",
       "/providers/Microsoft.Compute",
       "Microsoft.Resources/subscriptions/providers/read",
       ""},
      {"POST", "/providers/Microsoft.Compute/register", "Microsoft.Compute/register/action", ""},
      {"GET", "/providers/Microsoft.Compute/skus", "Microsoft.Compute/skus/read", ""},
      {"GET",
       "/providers/Microsoft.Compute/locations/westeurope/usages",
       "Microsoft.Compute/locations/usages/read",
       ""},
  };
  become("[]");
  for (const auto& r : rows) {
    const auto a = arm(r.method, r.path, r.body.empty() ? base::json() : parsed(r.body));
    EXPECT_EQ(a.status, 403) << r.method << " " << r.path;
    EXPECT_EQ(a.code(), "AuthorizationFailed");
    EXPECT_NE(
        a.message().find("'" + r.action + "' over scope '" + subscription_1), std::string::npos
    ) << r.method
      << " " << r.path << ": " << a.message();
    EXPECT_NE(a.message().find("The client '" + object + "' with object id"), std::string::npos);
  }
  for (const auto& r : rows) {
    become(
        R"([{"scope":")" + subscription_1 + R"(","actions":[")" + r.action +
        R"(","*/join/action"]}])"
    );
    const auto a = arm(r.method, r.path, r.body.empty() ? base::json() : parsed(r.body));
    EXPECT_NE(a.status, 403) << r.method << " " << r.path << ": " << a.message();
    settle(a);
    seed(R"({"resourceGroups":[]})");
    token_ = fetch_token();
    make_machine();
  }
}

TEST_F(azure_access, wildcards_not_actions_and_scopes_decide) {
  make_machine();
  make("/resourceGroups/other", R"({"location":"westeurope"})");
  become(
      R"([{"scope":")" + subscription_1 +
      R"(/resourcegroups/RG","actions":["*"],"notActions":["Microsoft.Compute/*/delete"]},
          {"scope":")" +
      subscription_1 + R"(","actions":["Microsoft.Compute/locations/*/READ"]}])"
  );
  EXPECT_EQ(get(vm).status, 200);
  EXPECT_EQ(remove(vm).status, 403);
  EXPECT_EQ(get("/resourceGroups/other").status, 403);
  EXPECT_EQ(get("/providers/Microsoft.Compute/locations/westeurope/usages").status, 200);
  EXPECT_EQ(get("/providers/Microsoft.Compute/skus").status, 403);
  const auto here = get(rg + authorization + "/permissions").body["value"];
  ASSERT_EQ(here.size(), 2U);
  EXPECT_EQ(here[0]["notActions"][0].string_or(""), "Microsoft.Compute/*/delete");
  EXPECT_EQ(get(authorization + "/permissions").body["value"].size(), 1U) << "at the subscription";
}

TEST_F(azure_access, a_rule_names_an_application_group_by_an_action_of_its_own) {
  make_network();
  const std::string group = networks + "/applicationSecurityGroups/a";
  make(group, R"({"location":"westeurope","properties":{}})");
  make(nsg, R"({"location":"westeurope"})");
  const std::string rule =
      R"({"properties":{"priority":100,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*","sourcePortRange":"*","destinationPortRange":"22","destinationApplicationSecurityGroups":[{"id":")" +
      subscription_1 + group + R"("}]}})";
  const std::string own = "Microsoft.Network/applicationSecurityGroups/";
  for (const bool right : {false, true}) {
    become(
        R"([{"scope":"/","actions":["*/read","*/write",")" + own +
        (right ? "joinNetworkSecurityRule" : "joinIpConfiguration") + R"(/action"]}])"
    );
    EXPECT_EQ(put(nsg + "/securityRules/r", rule).status, right ? 201 : 403);
  }
}

TEST_F(azure_access, lists_show_what_may_be_read) {
  make_machine();
  make("/resourceGroups/other", R"({"location":"westeurope"})");
  become(R"([{"scope":")" + subscription_1 + rg + R"(","actions":["*/read"]}])");
  EXPECT_EQ(get("/resourcegroups").body["value"].size(), 1U);
  EXPECT_EQ(get("/providers/Microsoft.Compute/virtualMachines").body["value"].size(), 1U);
  EXPECT_EQ(get("").status, 200) << "a role below shows the subscription";
  EXPECT_EQ(arm("GET", "/subscriptions").body["value"].size(), 1U);
  become(R"([{"scope":"/subscriptions/99999999-0000-0000-0000-000000000000","actions":["*"]}])");
  EXPECT_EQ(arm("GET", "/subscriptions").body["value"].size(), 0U);
}

TEST_F(azure_access, references_need_the_right_to_join) {
  make_network();
  become(
      R"([{"scope":")" + subscription_1 + R"(","actions":["*"],"notActions":["*/join/action"]}])"
  );
  const auto interface = put(nic, interface_body("sub", "ip"));
  EXPECT_EQ(interface.status, 403);
  EXPECT_EQ(interface.code(), "LinkedAuthorizationFailed");
  EXPECT_NE(
      interface.message().find("Microsoft.Network/virtualNetworks/subnets/join/action"),
      std::string::npos
  );
  const auto machine = put(vm, machine_body().dump());
  EXPECT_EQ(machine.code(), "LinkedAuthorizationFailed");
  EXPECT_NE(
      machine.message().find("Microsoft.Network/networkInterfaces/join/action"), std::string::npos
  );
}

TEST_F(azure_access, a_new_role_takes_effect_later) {
  make(rg, R"({"location":"westeurope"})");
  become(R"([{"scope":"/","actions":["*"],"effective_after_s":300}])");
  EXPECT_EQ(get(rg).code(), "AuthorizationFailed");
  advance(std::chrono::seconds(299));
  EXPECT_EQ(get(rg).status, 403);
  advance(std::chrono::seconds(1));
  EXPECT_EQ(get(rg).status, 200);
}

TEST_F(azure_access, monitors_need_no_role) {
  make_machine();
  const auto started = arm("POST", vm + "/deallocate");
  become(R"([{"scope":")" + subscription_1 + rg + R"(","actions":["*"]}])");
  EXPECT_EQ(settle(started).body["status"].string_or(""), "Succeeded");
}

TEST_F(azure_locks, are_kept_at_every_scope) {
  make_machine();
  for (const auto& scope : {std::string(), rg, vm}) {
    const std::string lock = scope + authorization + "/locks/keep";
    EXPECT_EQ(put(lock, R"({"properties":{"level":"CanNotDelete","notes":"n"}})").status, 201);
    EXPECT_EQ(put(lock, R"({"properties":{"level":"readonly"}})").status, 200);
    const auto one = get(lock).body;
    EXPECT_EQ(one.at({"properties", "level"}).string_or(""), "ReadOnly");
    EXPECT_EQ(one["id"].string_or(""), subscription_1 + lock);
    EXPECT_EQ(put(lock, R"({"properties":{"level":"Never"}})").status, 400);
  }
  EXPECT_EQ(get(authorization + "/locks").body["value"].size(), 3U);
  EXPECT_EQ(remove(rg + authorization + "/locks/keep").status, 200);
  EXPECT_EQ(remove(rg + authorization + "/locks/keep").status, 204);
  EXPECT_EQ(get(rg + authorization + "/locks/keep").code(), "LockNotFound");
}

TEST_F(azure_locks, forbid_deletions_and_read_only_ones_every_write) {
  make_machine();
  make(rg + authorization + "/locks/l", R"({"properties":{"level":"CanNotDelete"}})");
  const auto refused = remove(vm);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "ScopeLocked");
  EXPECT_EQ(
      refused.message(),
      "The scope '" + subscription_1 + vm +
          "' cannot perform delete operation because following scope(s) are locked: '" +
          subscription_1 + rg + "'. Please remove the lock and try again."
  );
  EXPECT_EQ(settle(arm("POST", vm + "/deallocate")).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(arm("PATCH", vm, parsed(R"({"tags":{"a":"b"}})")).status, 200);
  make(rg + authorization + "/locks/l", R"({"properties":{"level":"ReadOnly"}})");
  EXPECT_EQ(arm("POST", vm + "/start").code(), "ScopeLocked");
  EXPECT_EQ(arm("PATCH", vm, parsed(R"({"tags":{"a":"b"}})")).code(), "ScopeLocked");
  EXPECT_EQ(put(nsg, R"({"location":"westeurope"})").code(), "ScopeLocked");
  EXPECT_EQ(get(vm).status, 200);
}

TEST_F(azure_locks, a_locked_member_keeps_its_group) {
  make_machine();
  make(ip + authorization + "/locks/l", R"({"properties":{"level":"CanNotDelete"}})");
  const auto refused = remove(rg);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "ScopeLocked");
  EXPECT_EQ(get(vm).status, 200) << "nothing was deleted";
  EXPECT_EQ(remove(ip + authorization + "/locks/l").status, 200);
  settle(remove(rg));
  EXPECT_EQ(get(rg).status, 404);
}

TEST_F(azure_locks, end_with_what_they_lock) {
  make_machine();
  make(vm + authorization + "/locks/l", R"({"properties":{"level":"ReadOnly"}})");
  seed(R"({"virtualMachines":[]})");
  EXPECT_EQ(get(authorization + "/locks").body["value"].size(), 0U);
}

TEST_F(azure_policies, deny_by_type_location_size_and_tag) {
  make_network();

  struct row {
    std::string policy;
    std::string field;
  };

  const row rows[] = {
      {R"("type":"Microsoft.Compute/virtualMachines")", "type"},
      {R"("location":"West Europe")", "location"},
      {R"("allowed_locations":["northeurope"])", "location"},
      {R"("allowed_sizes":["Standard_B1s"])", "Microsoft.Compute/virtualMachines/sku.name"},
      {R"("denied_sizes":["standard_b2s"])", "Microsoft.Compute/virtualMachines/sku.name"},
      {R"("required_tag":"cost-center")", "tags[cost-center]"},
  };
  for (const auto& r : rows) {
    seed(R"({"policies":[{"name":"Company rule",)" + r.policy + "}]}");
    const auto refused = put(vm, machine_body().dump());
    EXPECT_EQ(refused.status, 403) << r.policy;
    EXPECT_EQ(refused.code(), "RequestDisallowedByPolicy");
    EXPECT_EQ(refused.body.at({"error", "target"}).string_or(""), "vm");
    EXPECT_NE(refused.message().find("Company rule"), std::string::npos);
    const auto info = refused.body.at({"error", "additionalInfo"})[0]["info"];
    EXPECT_EQ(info["policyAssignmentDisplayName"].string_or(""), "Company rule");
    EXPECT_EQ(info["policyDefinitionEffect"].string_or(""), "deny");
    EXPECT_EQ(
        info.at({"evaluationDetails", "evaluatedExpressions"})[0]["path"].string_or(""), r.field
    );
  }
  for (const auto* fine :
       {R"("location":"eastus")",
        R"("allowed_sizes":["Standard_B2s"])",
        R"("required_tag":"order")",
        R"("scope":"/subscriptions/99999999-0000-0000-0000-000000000000")"}) {
    seed(std::string(R"({"policies":[{"name":"Company rule",)") + fine + "}]}");
    const auto accepted = put(vm, machine_body().dump());
    EXPECT_LT(accepted.status, 300) << fine;
    settle(accepted);
  }
}

TEST_F(azure_policies, add_tags) {
  make(rg, R"({"location":"westeurope"})");
  seed(R"({"policies":[
    {"name":"a","effect":"append","tags":{"owner":"corp","cost":"1"}},
    {"name":"m","effect":"modify","tags":{"env":"prod"}},
    {"name":"d","required_tag":"cost"}]})");
  make(nsg, R"({"location":"westeurope","tags":{"Owner":"me","env":"test"}})");
  const auto tags = get(nsg).body["tags"];
  EXPECT_EQ(tags["Owner"].string_or(""), "me") << "append leaves what is there";
  EXPECT_EQ(tags["cost"].string_or(""), "1") << "and comes before a denial";
  EXPECT_EQ(tags["env"].string_or(""), "prod") << "modify overrides";
}

TEST_F(azure_subscription_state, decides_about_writes) {
  make(rg, R"({"location":"westeurope"})");
  make(nsg, R"({"location":"westeurope"})");

  struct row {
    std::string state;
    int put;
    int get;
  };

  for (const auto& r :
       {row{"Enabled", 200, 200},
        row{"PastDue", 200, 200},
        row{"Warned", 409, 200},
        row{"Disabled", 409, 200},
        row{"Deleted", 404, 404}}) {
    seed(
        R"({"subscriptions":[{"id":"11111111-1111-1111-1111-111111111111","state":")" + r.state +
        "\"}]}"
    );
    const auto written = put(nsg, R"({"location":"westeurope"})");
    EXPECT_EQ(written.status, r.put) << r.state;
    settle(written);
    EXPECT_EQ(get(nsg).status, r.get) << r.state;
  }
  seed(R"({"subscriptions":[{"id":"11111111-1111-1111-1111-111111111111","state":"Disabled"}]})");
  EXPECT_LT(remove(nsg).status, 300) << "a disabled subscription can be emptied";
}

TEST_F(azure_subscription_state, a_closed_region_is_named) {
  make(rg, R"({"location":"westeurope"})");
  seed(R"({"denied_locations":["West Europe"]})");
  const auto refused = put(nsg, R"({"location":"westeurope"})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "RequestDisallowedByAzure");
  EXPECT_NE(refused.message().find("westeurope"), std::string::npos);
}

TEST_F(azure_subscription_state, registration_takes_its_time) {
  azure_.set_timing(timing::fast());
  make(rg, R"({"location":"westeurope"})");
  seed(
      R"({"providers":{"Microsoft.Network":"NotRegistered","Microsoft.Compute":"Registered"},"registration_s":90})"
  );
  EXPECT_EQ(put(nsg, R"({"location":"westeurope"})").code(), "MissingSubscriptionRegistration");
  const std::string provider = "/providers/Microsoft.Network";
  arm("POST", provider + "/register");
  EXPECT_EQ(get(provider).body["registrationState"].string_or(""), "Registering");
  EXPECT_EQ(get(provider).body["registrationState"].string_or(""), "Registering");
  EXPECT_EQ(put(nsg, R"({"location":"westeurope"})").status, 201) << "regions begin early";
  advance(std::chrono::seconds(90));
  EXPECT_EQ(get(provider).body["registrationState"].string_or(""), "Registered");
}

// The same request with ever fewer faults: the next check in line answers.
TEST_F(azure_access, checks_win_in_their_order) {
  const std::string misplaced = R"({"location":"atlantis"})";
  EXPECT_EQ(
      raw("PUT", subscription_1 + nsg + "?api-version=1", "{").code(), "AuthenticationFailed"
  );
  EXPECT_EQ(arm("PUT", nsg, parsed(misplaced), "1").code(), "InvalidApiVersionParameter");
  seed(R"({"subscriptions":[{"id":"11111111-1111-1111-1111-111111111111","state":"Disabled"}],
    "providers":{"Microsoft.Network":"NotRegistered"}})");
  become("[]");
  EXPECT_EQ(put(nsg, misplaced).code(), "ReadOnlyDisabledSubscription");
  seed(R"({"subscriptions":[{"id":"11111111-1111-1111-1111-111111111111"}]})");
  EXPECT_EQ(put(nsg, misplaced).code(), "MissingSubscriptionRegistration");
  seed(R"({"providers":{"Microsoft.Network":"Registered"}})");
  EXPECT_EQ(put(nsg, misplaced).code(), "ResourceGroupNotFound");
  seed(R"({"resourceGroups":[{"name":"rg"}],"policies":[{"name":"p"}]})");
  EXPECT_EQ(put(nsg, misplaced).code(), "AuthorizationFailed");
  token_ = fetch_token();
  make(rg + authorization + "/locks/l", R"({"properties":{"level":"ReadOnly"}})");
  EXPECT_EQ(put(nsg, misplaced).code(), "ScopeLocked");
  EXPECT_EQ(remove(rg + authorization + "/locks/l").status, 200);
  EXPECT_EQ(put(nsg, misplaced).code(), "RequestDisallowedByPolicy");
  seed(R"({"policies":[]})");
  EXPECT_EQ(put(nsg, misplaced).code(), "LocationNotAvailableForResourceType");
  const net::header_list bearer = {{"authorization", "Bearer " + token_}};
  EXPECT_EQ(
      raw("PUT", subscription_1 + nsg + "?api-version=2024-05-01", "{", bearer).code(),
      "InvalidRequestContent"
  );
}

} // namespace
} // namespace siteagent::azure_emulator
