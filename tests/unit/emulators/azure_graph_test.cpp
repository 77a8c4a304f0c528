// SPDX-License-Identifier: MIT
// Resource Graph and the activity log.
#include "azure_fixture.hpp"

#include <gmock/gmock.h>

namespace siteagent::azure_emulator {
namespace {

class azure_graph : public cloud {
public:
  answer post(const base::json& body) {
    return raw(
        "POST",
        "/providers/Microsoft.ResourceGraph/resources?api-version=2022-10-01",
        body.dump(),
        {{"authorization", "Bearer " + token_}}
    );
  }

  answer ask(const std::string& query, const base::json& options = base::json::object()) {
    return post(base::json::object(
        {{"subscriptions", base::json::array({"11111111-1111-1111-1111-111111111111"})},
         {"query", query},
         {"options", options}}
    ));
  }
};

TEST_F(azure_graph, projects_machines_with_their_power_state) {
  make_machine();
  const auto a =
      ask("Resources | where type =~ 'microsoft.compute/virtualmachines' | project id, tags, "
          "size=properties.hardwareProfile.vmSize, "
          "power=properties.extended.instanceView.powerState.code");
  ASSERT_EQ(a.status, 200) << a.body.dump();
  EXPECT_EQ(a.body["totalRecords"].integer(), 1);
  EXPECT_EQ(a.body["resultTruncated"].string_or(""), "false");
  const auto& row = a.body["data"][0];
  EXPECT_EQ(row["id"].string_or(""), subscription_1 + vm);
  EXPECT_EQ(row["size"].string_or(""), "Standard_B2s");
  EXPECT_EQ(row["power"].string_or(""), "PowerState/running");
  EXPECT_EQ(row.at({"tags", "order"}).string_or(""), "7");
  EXPECT_EQ(row.size(), 4U);
  EXPECT_EQ(a.header("x-ms-user-quota-remaining"), "14");
  EXPECT_EQ(a.header("x-ms-user-quota-resets-after"), "00:00:05");
}

TEST_F(azure_graph, knows_the_conditions_that_clients_use) {
  make_machine();

  struct row {
    std::string condition;
    std::size_t count;
  };

  for (const auto& r :
       {row{"type == 'microsoft.compute/virtualmachines'", 1},
        row{"type == 'Microsoft.Compute/virtualMachines'", 0},
        row{"type in~ ('Microsoft.Compute/virtualMachines','microsoft.compute/disks')", 2},
        row{"tags['order'] == '7'", 1},
        row{"tags.ORDER =~ '7' and name == 'vm'", 1},
        row{"isnotempty(tags['order'])", 1},
        row{"name contains 'IC' or name startswith 'vm'", 3},
        row{"not(name == 'vm') and resourceGroup =~ 'RG' and type has 'disks'", 1},
        row{"tostring(properties.hardwareProfile.vmSize) != '' and location == 'westeurope'", 1},
        row{"subscriptionId == 'another'", 0}}) {
    const auto a = ask("resources | where " + r.condition);
    EXPECT_EQ(a.status, 200) << a.body.dump();
    EXPECT_EQ(a.body["data"].size(), r.count) << r.condition;
  }
}

TEST_F(azure_graph, counts_sorts_and_limits) {
  make_machine();
  const auto by_type =
      ask("Resources | summarize n=count() by type | order by n desc, type").status;
  EXPECT_EQ(by_type, 400) << "one sort key only";
  const auto counts = ask("Resources | summarize n = count() by type | order by type asc");
  EXPECT_EQ(counts.body["data"][0]["type"].string_or(""), "microsoft.compute/disks");
  EXPECT_EQ(counts.body["data"][0]["n"].integer(), 1);
  EXPECT_EQ(ask("Resources | summarize count()").body["data"][0]["count_"].integer(), 5);
  EXPECT_EQ(ask("Resources | count").body["data"][0]["Count"].integer(), 5);
  EXPECT_EQ(
      ask("Resources | order by name desc | limit 2").body["data"][0]["name"].string_or(""), "vm-os"
  );
  EXPECT_EQ(ask("ResourceContainers | project name").body["data"][0]["name"].string_or(""), "rg");
}

TEST_F(azure_graph, pages_with_a_skip_token) {
  make_machine();
  std::size_t seen = 0;
  auto options = parsed(R"({"$top":2})");
  for (int i = 0; i < 9; ++i) {
    const auto page = ask("Resources | project id", options);
    EXPECT_EQ(page.body["totalRecords"].integer(), 5);
    seen += page.body["data"].size();
    const std::string token = page.body["$skipToken"].string_or("");
    if (token.empty()) {
      break;
    }
    options.set("$skipToken", token);
  }
  EXPECT_EQ(seen, 5U);
}

TEST_F(azure_graph, refuses_what_it_does_not_understand_and_too_much) {
  for (const auto* bad :
       {"Alerts",
        "Resources |",
        "Resources | join x",
        "Resources | where",
        "Resources | where a ~ 'b'",
        "Resources | where name == 'x"}) {
    EXPECT_EQ(ask(bad).status, 400) << bad;
  }
  advance(std::chrono::seconds(10));
  azure_.enforce_throttling(true);
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(ask("Resources").status, 200);
  }
  const auto refused = ask("Resources");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.code(), "RateLimiting");
  advance(std::chrono::seconds(5));
  EXPECT_EQ(ask("Resources").status, 200);
}

using azure_activity = cloud;

TEST_F(azure_activity, tells_every_write_and_what_became_of_it) {
  const std::string values = "/providers/Microsoft.Insights/eventtypes/management/values";
  const auto list = [&](const std::string& filter) {
    return get(values + "?$filter=" + net::encode(filter)).body["value"];
  };
  arm("PUT",
      rg,
      parsed(R"({"location":"westeurope"})"),
      compute_api,
      {{"x-ms-correlation-request-id", "order-1"}});
  put(nsg, R"({"location":"nowhere"})");
  get(rg);
  const auto all = list("eventTimestamp ge '2020-01-01T00:00:00Z'");
  ASSERT_EQ(all.size(), 2U) << "reads are not told";
  EXPECT_EQ(all[0].at({"status", "value"}).string_or(""), "Failed") << "newest first";
  EXPECT_EQ(
      all[0].at({"operationName", "value"}).string_or(""),
      "Microsoft.Network/networkSecurityGroups/write"
  );
  EXPECT_EQ(all[1]["resourceId"].string_or(""), subscription_1 + rg);
  EXPECT_EQ(all[1]["caller"].string_or(""), "44444444-4444-4444-4444-444444444444");
  EXPECT_EQ(
      list("eventTimestamp ge '2020-01-01T00:00:00Z' and correlationId eq 'order-1'").size(), 1U
  );
  EXPECT_EQ(
      list("eventTimestamp ge '2020-01-01T00:00:00Z' and resourceGroupName eq 'RG'").size(), 2U
  );
  EXPECT_EQ(list("eventTimestamp ge '2099-01-01T00:00:00Z'").size(), 0U);
  EXPECT_EQ(get(values).status, 400) << "a start is needed";
}

TEST_F(azure_activity, tells_the_end_of_what_was_begun) {
  make_machine();
  settle(arm("POST", vm + "/deallocate"));
  const std::string filter =
      "eventTimestamp ge '2020-01-01T00:00:00Z' and resourceProvider eq 'Microsoft.Compute'";
  const auto all = get("/providers/Microsoft.Insights/eventtypes/management/values?$filter=" +
                       net::encode(filter))
                       .body["value"];
  std::vector<std::string> told;
  for (const auto& e : all.items()) {
    told.push_back(
        e.at({"operationName", "value"}).string_or("").substr(18) + " " +
        e.at({"status", "value"}).string_or("")
    );
  }
  EXPECT_THAT(
      told,
      testing::ElementsAre(
          "virtualMachines/deallocate/action Succeeded",
          "virtualMachines/deallocate/action Accepted",
          "virtualMachines/write Succeeded",
          "virtualMachines/write Accepted"
      )
  );
  EXPECT_EQ(all[0]["operationId"], all[1]["operationId"]);
  EXPECT_FALSE(all[0]["eventDataId"] == all[1]["eventDataId"]);
  EXPECT_THAT(
      all[3].at({"properties", "responseBody"}).string_or(""), testing::HasSubstr("Standard_B2s")
  );
}

TEST_F(azure_activity, tells_what_failed_in_the_end) {
  make_machine();
  const auto begun = arm("POST", vm + "/deallocate");
  ASSERT_EQ(begun.status, 202);
  ASSERT_EQ(arm("DELETE", vm).status, 202); // takes over
  const auto all =
      get("/providers/Microsoft.Insights/eventtypes/management/values?$filter=" +
          net::encode("eventTimestamp ge '2020-01-01T00:00:00Z' and status eq 'Canceled'"))
          .body["value"];
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(
      all[0].at({"operationName", "value"}).string_or(""),
      "Microsoft.Compute/virtualMachines/deallocate/action"
  );
}

} // namespace
} // namespace siteagent::azure_emulator
