// SPDX-License-Identifier: MIT
// What ARM itself does: versions, ids, groups, tags, lists.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_arm = cloud;
using azure_groups = cloud;

TEST_F(azure_arm, api_versions_are_required_and_checked) {
  const net::header_list headers = {{"authorization", "Bearer " + token_}};
  const auto code = [&](const std::string& query) {
    return raw("GET", subscription_1 + "/resourcegroups" + query, "", headers).code();
  };
  EXPECT_EQ(code(""), "MissingApiVersionParameter");
  for (const auto* bad :
       {"latest", "2014-01-01", "2024-13-01", "2024-7-1", "20240701", "2024-07-01x"}) {
    EXPECT_EQ(code("?api-version=" + std::string(bad)), "InvalidApiVersionParameter") << bad;
  }
  for (const auto* good : {"2015-06-15", "2024-07-01", "2030-01-01-preview"}) {
    EXPECT_EQ(code("?api-version=" + std::string(good)), "") << good;
  }
}

TEST_F(azure_arm, names_the_unknown) {
  make(rg, R"({"location":"westeurope"})");
  EXPECT_EQ(get(rg + "/providers/Microsoft.Nonsense/things/x").code(), "InvalidResourceNamespace");
  const auto type = get(rg + "/providers/Microsoft.Compute/things/x");
  EXPECT_EQ(type.status, 404);
  EXPECT_EQ(type.code(), "InvalidResourceType");
  EXPECT_EQ(get("/providers/Microsoft.Network/natGateways").code(), "InvalidResourceType");
  EXPECT_EQ(
      raw("GET",
          "/providers/Microsoft.Sundry/things?api-version=2024-04-01",
          "",
          {{"authorization", "Bearer " + token_}}
      ).code(),
      "InvalidResourceNamespace"
  );
  const auto missing = get(vm);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(
      missing.message(),
      "The Resource 'Microsoft.Compute/virtualMachines/vm' under resource group 'rg' was not "
      "found. "
      "For more details please go to https://aka.ms/ARMResourceNotFoundFix"
  );
  EXPECT_EQ(missing.header("x-ms-ratelimit-remaining-subscription-global-reads"), "")
      << "answers of ARM's own carry no limits";
  EXPECT_EQ(get("/resourceGroups/gone").code(), "ResourceGroupNotFound");
  EXPECT_EQ(
      get("/resourceGroups/gone/providers/Microsoft.Compute/virtualMachines/vm").code(),
      "ResourceGroupNotFound"
  );
  EXPECT_EQ(arm("POST", rg).status, 405);
}

TEST_F(azure_arm, every_answer_carries_the_request_ids) {
  const auto a =
      arm("GET",
          "/resourcegroups",
          {},
          resource_api,
          {{"x-ms-correlation-request-id", "corr-1"},
           {"x-ms-client-request-id", "client-1"},
           {"x-ms-return-client-request-id", "true"}});
  EXPECT_FALSE(a.header("x-ms-request-id").empty());
  EXPECT_EQ(a.header("x-ms-correlation-request-id"), "corr-1");
  EXPECT_EQ(a.header("x-ms-client-request-id"), "client-1");
  EXPECT_EQ(a.header("x-ms-routing-request-id").rfind("WESTEUROPE:", 0), 0U);
  EXPECT_FALSE(a.header("x-ms-ratelimit-remaining-subscription-global-reads").empty());
  EXPECT_EQ(a.header("Cache-Control"), "no-cache");
}

TEST_F(azure_arm, bodies_must_be_json_and_lengths_given) {
  const net::header_list headers = {{"authorization", "Bearer " + token_}};
  const std::string path = subscription_1 + rg + "?api-version=2021-04-01";
  EXPECT_EQ(raw("PUT", path, "{", headers).code(), "InvalidRequestContent");
  EXPECT_EQ(raw("PUT", path, "[]", headers).code(), "InvalidRequestContent");
  EXPECT_EQ(raw("PUT", path, "", headers).code(), "InvalidRequestContent");
}

TEST_F(azure_arm, writes_need_an_enabled_subscription_and_a_registered_provider) {
  make(rg, R"({"location":"westeurope"})");
  seed(R"({"providers":{"Microsoft.Network":"NotRegistered","Microsoft.Compute":"Registered"}})");
  const std::string body = R"({"location":"westeurope"})";
  const auto refused = put(nsg, body);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "MissingSubscriptionRegistration");
  EXPECT_NE(refused.message().find("to use namespace 'Microsoft.Network'"), std::string::npos);
  const auto begun = arm("POST", "/providers/Microsoft.Network/register");
  EXPECT_EQ(begun.body["registrationState"].string_or(""), "Registering");
  EXPECT_EQ(get("/providers/Microsoft.Network").status, 200);
  EXPECT_EQ(
      get("/providers/Microsoft.Network").body["registrationState"].string_or(""), "Registered"
  );
  EXPECT_EQ(put(nsg, body).status, 201);
  seed(R"({"subscriptions":[{"id":"11111111-1111-1111-1111-111111111111","state":"Disabled"}]})");
  EXPECT_EQ(put(nsg, body).code(), "ReadOnlyDisabledSubscription");
  EXPECT_EQ(get(rg).status, 200);
}

TEST_F(azure_arm, a_policy_denies_with_its_name) {
  make(rg, R"({"location":"westeurope"})");
  seed(R"({"policies":[{"name":"Allowed types","type":"Microsoft.Network/networkSecurityGroups"}]})"
  );
  const auto a = put(nsg, R"({"location":"westeurope"})");
  EXPECT_EQ(a.status, 403);
  EXPECT_EQ(a.code(), "RequestDisallowedByPolicy");
  EXPECT_EQ(
      a.body.at({"error", "additionalInfo"})[0]
          .at({"info", "policyAssignmentDisplayName"})
          .string_or(""),
      "Allowed types"
  );
}

TEST_F(azure_groups, are_created_read_changed_and_compared_without_case) {
  EXPECT_EQ(arm("HEAD", rg).status, 404);
  const auto made = put("/resourceGroups/Rg", R"({"location":"West Europe","tags":{"a":"1"}})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.body["id"].string_or(""), subscription_1 + "/resourceGroups/Rg");
  EXPECT_EQ(made.body["location"].string_or(""), "westeurope");
  EXPECT_EQ(arm("HEAD", "/resourcegroups/RG").status, 204);
  const auto again = put("/resourcegroups/rG", R"({"location":"westeurope"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body["name"].string_or(""), "rG") << "the case of the last writer";
  EXPECT_EQ(again.body.find("tags"), nullptr) << "tags left out of a PUT are removed";
  EXPECT_EQ(arm("PATCH", rg, parsed(R"({"tags":{"b":"2"}})")).status, 200);
  EXPECT_EQ(get(rg).body.at({"tags", "b"}).string_or(""), "2");
  EXPECT_EQ(put(rg, R"({"location":"eastus"})").code(), "InvalidResourceGroupLocation");
}

TEST_F(azure_groups, refuse_bad_names_locations_and_tags) {
  EXPECT_EQ(put("/resourceGroups/x.", R"({"location":"eastus"})").status, 400);
  EXPECT_EQ(put("/resourceGroups/a%23b", R"({"location":"eastus"})").status, 400);
  EXPECT_EQ(put(rg, R"({})").code(), "LocationRequired");
  EXPECT_EQ(put(rg, R"({"location":"atlantis"})").code(), "LocationNotAvailableForResourceGroup");
  const auto tagged = [&](const std::string& tags) {
    return put(rg, R"({"location":"eastus","tags":)" + tags + "}").code();
  };
  EXPECT_EQ(tagged(R"({"a<b":"x"})"), "InvalidTagNameCharacters");
  EXPECT_EQ(tagged(R"({"azure-x":"x"})"), "ReservedTagName");
  EXPECT_EQ(tagged(R"({"n":5})"), "InvalidTagValue");
  EXPECT_EQ(tagged(R"({"n":")" + std::string(257, 'v') + R"("})"), "InvalidTagValue");
  base::json many;
  for (int i = 0; i < 51; ++i) {
    many.set("t" + std::to_string(i), "v");
  }
  EXPECT_EQ(tagged(many.dump()), "TagCountExceeded");
}

TEST_F(azure_groups, deletion_takes_everything_in_it) {
  make_machine();
  const auto begun = remove(rg);
  EXPECT_EQ(begun.status, 202);
  const std::string url = begun.header("Location");
  EXPECT_NE(url.find("/operationresults/"), std::string::npos);
  EXPECT_EQ(begun.header("Azure-AsyncOperation"), "");
  const auto done = arm("GET", url);
  EXPECT_EQ(done.status, 200);
  EXPECT_TRUE(done.body.is_null());
  EXPECT_EQ(get(rg).code(), "ResourceGroupNotFound");
  EXPECT_EQ(remove(rg).status, 404) << "deleting what is not there is no success for groups";
  const auto all = inventory();
  for (const auto& [kind, list] : all.members()) {
    EXPECT_EQ(list.size(), 0U) << kind;
  }
}

TEST_F(azure_groups, while_deleting_show_it_and_refuse_writes) {
  azure_.set_timing(timing::fast());
  make(rg, R"({"location":"westeurope"})");
  const auto first = remove(rg);
  EXPECT_EQ(get(rg).state(), "Deleting");
  EXPECT_EQ(put(nsg, R"({"location":"westeurope"})").code(), "ResourceGroupBeingDeleted");
  EXPECT_EQ(put(rg, R"({"location":"westeurope"})").code(), "ResourceGroupBeingDeleted");
  EXPECT_EQ(remove(rg).header("Location"), first.header("Location"));
  const auto waiting = arm("GET", first.header("Location"));
  EXPECT_EQ(waiting.status, 202);
  EXPECT_EQ(waiting.header("Retry-After"), "1");
  advance(std::chrono::seconds(3));
  EXPECT_EQ(arm("GET", first.header("Location")).status, 200);
  EXPECT_EQ(get(rg).status, 404);
}

TEST_F(azure_groups, used_from_outside_block_their_deletion_and_come_back) {
  make_network();
  make("/resourceGroups/other", R"({"location":"westeurope"})");
  make(
      "/resourceGroups/other/providers/Microsoft.Network/networkInterfaces/n2",
      interface_body("sub", "")
  );
  const auto begun = remove(rg);
  const auto end = arm("GET", begun.header("Location"));
  EXPECT_EQ(end.status, 409);
  EXPECT_EQ(end.code(), "ResourceGroupDeletionBlocked");
  EXPECT_EQ(get(rg).state(), "Succeeded");
  EXPECT_EQ(get(net).status, 200) << "what is used stays";
  EXPECT_EQ(get(ip).status, 404) << "the rest is gone";
}

TEST_F(azure_groups, list_by_tag_and_page) {
  seed(R"({"page_size":2})");
  for (const auto* name : {"a", "b", "c", "d", "e"}) {
    put("/resourceGroups/" + std::string(name), R"({"location":"eastus","tags":{"Owner":"me"}})");
  }
  put("/resourceGroups/f", R"({"location":"eastus","tags":{"owner":"Me"}})");
  std::vector<std::string> seen;
  std::string url =
      "/resourcegroups?$filter=tagName%20eq%20%27owner%27%20and%20tagValue%20eq%20%27me%27";
  int pages = 0;
  while (!url.empty() && pages < 9) {
    const auto page = arm("GET", url, {}, resource_api);
    ASSERT_EQ(page.status, 200) << page.body.dump();
    for (const auto& g : page.body["value"].items()) {
      seen.push_back(g["name"].string_or(""));
    }
    url = page.body["nextLink"].string_or("");
    ++pages;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "d", "e"}))
      << "tag names compare without case, values with it";
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(arm("GET", "/resourcegroups?$top=1", {}, resource_api).body["value"].size(), 1U);
  EXPECT_EQ(
      arm("GET", "/resourcegroups?$filter=nonsense", {}, resource_api).code(),
      "InvalidFilterInQueryString"
  );
  EXPECT_EQ(
      arm("GET", "/resourcegroups?$skiptoken=!!", {}, resource_api).code(), "InvalidSkipToken"
  );
}

TEST_F(azure_groups, resources_are_found_by_tag) {
  make_machine();
  const std::string query = "?$filter=tagName%20eq%20%27order%27%20and%20tagValue%20eq%20%277%27";
  const auto found = arm("GET", "/resources" + query, {}, resource_api);
  ASSERT_EQ(found.body["value"].size(), 1U);
  EXPECT_EQ(found.body["value"][0]["type"].string_or(""), "Microsoft.Compute/virtualMachines");
  EXPECT_EQ(found.body["value"][0].at({"tags", "order"}).string_or(""), "7");
  const auto all =
      arm("GET", rg + "/resources?$expand=createdTime,provisioningState", {}, resource_api);
  EXPECT_EQ(all.body["value"].size(), 5U) << "subnets are no resources of their own";
  EXPECT_TRUE(all.body["value"][0]["createdTime"].is_string());
  const auto typed =
      arm("GET",
          "/resources?$filter=resourceType%20eq%20%27Microsoft.Network/networkInterfaces%27",
          {},
          resource_api);
  EXPECT_EQ(typed.body["value"].size(), 1U);
  EXPECT_EQ(get("/resourceGroups/gone/resources").code(), "ResourceGroupNotFound");
}

} // namespace
} // namespace siteagent::azure_emulator
