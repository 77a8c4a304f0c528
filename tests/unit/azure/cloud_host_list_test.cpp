// SPDX-License-Identifier: MIT
// Which hosts there are, over the emulated Azure.
#include "tests/unit/azure/cloud_host_fixture.hpp"

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using testing::IsEmpty;

using azure_host_list = azure_hosts;

TEST_F(azure_host_list, case_leak_07_list_hosts_follows_every_page) {
  for (const char* name : {"b1", "b2", "b3"}) {
    (void)rent(name);
  }
  azure.seed(json::object({{"page_size", 2}}));
  const fake_call call = run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  ASSERT_EQ(call.emitted.size(), 3U);
  for (const json& row : call.emitted) {
    EXPECT_EQ(row["state"].string_or(""), "running");
    EXPECT_EQ(row["location"].string_or(""), "westeurope");
    EXPECT_FALSE(row["vm_id"].string_or("").empty());
    EXPECT_EQ(row["tags"]["stado_cloud_host"].string_or(""), row["name"].string_or("-"));
    EXPECT_EQ(row["objects"].size(), 5U);
  }
}

TEST_F(azure_host_list, list_hosts_shows_leftovers_without_a_machine_as_absent) {
  const json created = rent();
  azure.seed(json::object(
      {{"actions",
        json::array({json::object({{"do", "delete"}, {"id", compute_id("virtualMachines/b1")}})})}}
  ));
  const fake_call call = run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  ASSERT_EQ(call.emitted.size(), 1U) << call.message;
  EXPECT_EQ(call.emitted[0]["state"].string_or(""), "absent");
  EXPECT_TRUE(call.emitted[0]["vm_id"].is_null());
  EXPECT_EQ(
      call.emitted[0]["resources"]["network_interface"], created["resources"]["network_interface"]
  );
}

TEST_F(azure_host_list, list_hosts_leaves_other_groups_alone) {
  azure.seed(*json::parse(
      R"({"publicIPAddresses":[{"resourceGroup":"shared-net","name":"x-ip","location":"westeurope","sku":{"name":"Standard"},
          "tags":{"stado_cloud_host":"x"},"properties":{"publicIPAllocationMethod":"Static"}}]})"
  ));
  const fake_call call = run(&provider::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(call.emitted, IsEmpty());
}

} // namespace

} // namespace siteagent::azure::test
