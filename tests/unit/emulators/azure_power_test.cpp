// SPDX-License-Identifier: MIT
// Power actions, instance views and lists of machines.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_power = cloud;

TEST_F(azure_power, deallocate_and_start_pass_through_their_states) {
  make_machine();
  azure_.set_timing(timing::fast());
  const auto stopping = arm("POST", vm + "/deallocate");
  EXPECT_EQ(stopping.status, 202);
  EXPECT_TRUE(stopping.body.is_null());
  EXPECT_EQ(get(vm).state(), "Updating");
  EXPECT_EQ(power_of(), "deallocating");
  EXPECT_EQ(arm("GET", stopping.header("Location")).status, 202);
  advance(std::chrono::seconds(3));
  EXPECT_EQ(power_of(), "deallocated");
  EXPECT_EQ(arm("GET", stopping.header("Location")).status, 200);
  EXPECT_EQ(
      get(compute + "/disks/vm-os").body.at({"properties", "diskState"}).string_or(""), "Reserved"
  );
  EXPECT_EQ(get(vm + "/instanceView").body.find("vmAgent"), nullptr);
  arm("POST", vm + "/start");
  EXPECT_EQ(power_of(), "starting");
  advance(std::chrono::seconds(3));
  EXPECT_EQ(power_of(), "running");
  EXPECT_EQ(get(vm).state(), "Succeeded");
}

TEST_F(azure_power, power_off_keeps_the_machine_allocated) {
  make_machine();
  settle(arm("POST", vm + "/powerOff?skipShutdown=true"));
  EXPECT_EQ(power_of(), "stopped");
  settle(arm("POST", vm + "/start"));
  EXPECT_EQ(power_of(), "running");
  settle(arm("POST", vm + "/restart"));
  EXPECT_EQ(power_of(), "running");
}

TEST_F(azure_power, actions_that_make_no_sense_are_refused) {
  make_machine();
  EXPECT_EQ(arm("POST", vm + "x/start").status, 404);
  EXPECT_EQ(arm("POST", vm + "/explode").status, 404);
  settle(arm("POST", vm + "/deallocate"));
  EXPECT_EQ(arm("POST", vm + "/restart").code(), "OperationNotAllowed");
  EXPECT_EQ(arm("POST", vm + "/powerOff").code(), "OperationNotAllowed");
  EXPECT_EQ(arm("POST", vm + "/deallocate").status, 202) << "again is no error";
}

TEST_F(azure_power, a_second_action_waits_but_deallocate_wins) {
  make_machine();
  azure_.set_timing(timing::fast());
  const auto restart = arm("POST", vm + "/restart");
  EXPECT_EQ(arm("POST", vm + "/powerOff").code(), "OperationNotAllowed");
  EXPECT_EQ(arm("POST", vm + "/deallocate").status, 202);
  EXPECT_EQ(settle(restart).code(), "OperationPreempted");
  advance(std::chrono::seconds(3));
  EXPECT_EQ(power_of(), "deallocated");
}

TEST_F(azure_power, a_start_without_capacity_leaves_it_deallocated) {
  make_machine();
  settle(arm("POST", vm + "/deallocate"));
  seed(R"({"restrictions":[{"size":"Standard_B2s","reason":"AllocationFailed"}]})");
  const auto begun = arm("POST", vm + "/start");
  EXPECT_EQ(begun.status, 202);
  EXPECT_EQ(settle(begun).code(), "AllocationFailed");
  EXPECT_EQ(power_of(), "deallocated");
  EXPECT_EQ(get(vm).state(), "Failed");
  EXPECT_GE(arm("GET", begun.header("Location")).status, 400);
  seed(R"({"restrictions":[]})");
  settle(arm("POST", vm + "/start"));
  EXPECT_EQ(get(vm).state(), "Succeeded");
}

TEST_F(azure_power, lists_show_status_only_or_everything) {
  make_machine();
  const std::string all = "/providers/Microsoft.Compute/virtualMachines";
  const auto plain = get(all).body["value"];
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0]["properties"].find("instanceView"), nullptr);
  EXPECT_TRUE(plain[0]["tags"].is_object());
  const auto status = get(all + "?statusOnly=true").body["value"];
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].find("tags"), nullptr);
  EXPECT_EQ(status[0]["properties"].find("osProfile"), nullptr);
  EXPECT_EQ(
      status[0].at({"properties", "instanceView", "statuses"})[1]["code"].string_or(""),
      "PowerState/running"
  );
  EXPECT_EQ(
      get(compute + "/virtualMachines?$expand=instanceView")
          .body["value"][0]
          .at({"properties", "instanceView", "statuses"})
          .size(),
      2U
  );
  EXPECT_EQ(
      get("/providers/Microsoft.Compute/locations/westeurope/virtualMachines").body["value"].size(),
      1U
  );
  EXPECT_EQ(
      get("/providers/Microsoft.Compute/locations/eastus/virtualMachines").body["value"].size(), 0U
  );
  EXPECT_EQ(
      get("/providers/Microsoft.Compute/locations/mars/virtualMachines").code(),
      "NoRegisteredProviderFound"
  );
  EXPECT_EQ(
      get("/resourceGroups/gone/providers/Microsoft.Compute/virtualMachines").code(),
      "ResourceGroupNotFound"
  );
  EXPECT_EQ(
      get(compute + "/virtualMachines?$filter=%27virtualMachineScaleSet/id%27%20eq%20%27x%27")
          .body["value"]
          .size(),
      0U
  );
}

TEST_F(azure_power, group_names_in_lists_may_come_in_upper_case) {
  make_machine();
  seed(R"({"upper_case_groups_in_lists":true})");
  const auto list = get("/providers/Microsoft.Compute/virtualMachines").body["value"];
  EXPECT_NE(list[0]["id"].string_or("").find("/resourceGroups/RG/"), std::string::npos);
  EXPECT_EQ(get(vm).body["id"].string_or(""), subscription_1 + vm);
}

TEST_F(azure_power, user_data_is_shown_on_demand_only) {
  make_network();
  auto body = machine_body();
  body.member_ref("properties").set("userData", "aGVsbG8=");
  make(vm, body.dump());
  EXPECT_EQ(get(vm).body["properties"].find("userData"), nullptr);
  EXPECT_EQ(
      get(vm + "?$expand=userData").body.at({"properties", "userData"}).string_or(""), "aGVsbG8="
  );
}

} // namespace
} // namespace siteagent::azure_emulator
