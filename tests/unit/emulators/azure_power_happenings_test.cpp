// SPDX-License-Identifier: MIT
// What happens to machines without a request, the smaller actions, and views that lag.
#include "azure_bodies.hpp"
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_happenings = cloud;

void make_spot(cloud& c, const std::string& policy) {
  c.make_network();
  auto body = cloud::machine_body();
  properties_of(body).set("priority", "Spot").set("evictionPolicy", policy);
  c.make(cloud::vm, body.dump());
}

std::string action(const std::string& word, const std::string& id) {
  return R"({"actions":[{"do":")" + word + R"(","id":")" + id + "\"}]}";
}

TEST_F(azure_happenings, a_guest_may_shut_itself_down) {
  make_machine();
  seed(action("guest_shutdown", vm));
  EXPECT_EQ(power_of(), "stopped");
  EXPECT_EQ(get(vm).state(), "Succeeded");
}

TEST_F(azure_happenings, a_resource_may_vanish_out_of_band) {
  make_machine();
  seed(action("delete", vm));
  for (const auto& path : {vm, nic, ip, compute + "/disks/vm-os"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  seed(action("delete", subscription_1 + net));
  EXPECT_EQ(get(net + "/subnets/sub").status, 404);
}

TEST_F(azure_happenings, the_platform_may_touch_and_fail_resources) {
  make_machine();
  const std::string etag = get(nic).header("ETag");
  seed(action("touch", nic));
  EXPECT_NE(get(nic).header("ETag"), etag);
  seed(action("fail", vm));
  EXPECT_EQ(get(vm).state(), "Failed");
  EXPECT_EQ(power_of(), "running");
}

TEST_F(azure_happenings, the_platform_may_not_know_the_power_state) {
  make_machine();
  seed(action("hide_power", vm));
  EXPECT_EQ(power_of(), "");
  EXPECT_EQ(
      get("/providers/Microsoft.Compute/virtualMachines?statusOnly=true")
          .body["value"][0]
          .at({"properties", "instanceView", "statuses"})
          .size(),
      1U
  );
  seed(action("show_power", vm));
  EXPECT_EQ(power_of(), "running");
}

TEST_F(azure_happenings, an_action_that_cannot_happen_is_an_error_of_the_seed) {
  make_machine();
  for (const auto& document :
       {action("explode", vm), action("delete", nic + "9"), action("evict", nic)}) {
    EXPECT_FALSE(azure_.seed(parsed(document)).has_value()) << document;
  }
  EXPECT_EQ(get(nic).status, 200);
}

TEST_F(azure_happenings, spot_machines_are_evicted_as_their_policy_says) {
  make_spot(*this, "Deallocate");
  EXPECT_EQ(arm("POST", vm + "/simulateEviction").status, 204);
  EXPECT_EQ(power_of(), "deallocated");
  settle(arm("POST", vm + "/start"));
  seed(action("evict", vm));
  EXPECT_EQ(power_of(), "deallocated");
}

TEST_F(azure_happenings, an_evicted_spot_machine_may_be_gone) {
  make_spot(*this, "Delete");
  arm("POST", vm + "/simulateEviction");
  EXPECT_EQ(get(vm).status, 404);
}

TEST_F(azure_happenings, only_spot_machines_are_evicted_on_request) {
  make_machine();
  EXPECT_EQ(arm("POST", vm + "/simulateEviction").code(), "OperationNotAllowed");
}

TEST_F(azure_happenings, an_instance_view_may_lag) {
  make_machine();
  seed(R"({"instance_view_lag_s":30})");
  advance(std::chrono::seconds(30));
  settle(arm("POST", vm + "/powerOff"));
  EXPECT_EQ(get(vm).state(), "Succeeded");
  EXPECT_NE(power_of(), "stopped");
  advance(std::chrono::seconds(30));
  EXPECT_EQ(power_of(), "stopped");
}

TEST_F(azure_happenings, a_generalized_machine_never_starts_again) {
  make_machine();
  EXPECT_EQ(arm("POST", vm + "/generalize").code(), "OperationNotAllowed");
  settle(arm("POST", vm + "/deallocate"));
  EXPECT_EQ(arm("POST", vm + "/generalize").status, 200);
  EXPECT_EQ(arm("POST", vm + "/start").code(), "OperationNotAllowed");
}

TEST_F(azure_happenings, a_command_answers_at_its_location) {
  make_machine();
  EXPECT_EQ(arm("POST", vm + "/runCommand", parsed("{}")).code(), "InvalidParameter");
  const auto begun =
      arm("POST", vm + "/runCommand", parsed(R"({"commandId":"RunShellScript","script":["true"]})")
      );
  EXPECT_EQ(begun.status, 202);
  const auto end = arm("GET", begun.header("Location"));
  EXPECT_EQ(end.status, 200);
  EXPECT_EQ(end.body["value"][0]["code"].string_or(""), "ProvisioningState/succeeded");
  settle(arm("POST", vm + "/deallocate"));
  EXPECT_EQ(
      arm("POST", vm + "/runCommand", parsed(R"({"commandId":"RunShellScript"})")).code(),
      "OperationNotAllowed"
  );
}

TEST_F(azure_happenings, boot_diagnostics_need_to_be_on) {
  make_machine();
  EXPECT_EQ(arm("POST", vm + "/retrieveBootDiagnosticsData").status, 409);
  settle(
      arm("PATCH",
          vm,
          parsed(R"({"properties":{"diagnosticsProfile":{"bootDiagnostics":{"enabled":true}}}})"))
  );
  const auto data = arm("POST", vm + "/retrieveBootDiagnosticsData");
  EXPECT_EQ(data.status, 200);
  EXPECT_FALSE(data.body["serialConsoleLogBlobUri"].string_or("").empty());
}

TEST_F(azure_happenings, hibernation_must_be_enabled) {
  make_machine();
  EXPECT_EQ(arm("POST", vm + "/deallocate?hibernate=true").code(), "OperationNotAllowed");
  settle(
      arm("PATCH",
          vm,
          parsed(R"({"properties":{"additionalCapabilities":{"hibernationEnabled":true}}})"))
  );
  settle(arm("POST", vm + "/deallocate?hibernate=true"));
  EXPECT_EQ(power_of(), "deallocated");
  EXPECT_EQ(
      get(vm + "/instanceView").body["statuses"][2]["code"].string_or(""),
      "HibernationState/Hibernated"
  );
  settle(arm("POST", vm + "/start"));
  EXPECT_EQ(get(vm + "/instanceView").body["statuses"].size(), 2U);
}

TEST_F(azure_happenings, a_deallocated_machine_may_hide_its_disk) {
  make_machine();
  seed(R"({"hide_stopped_disks":true})");
  EXPECT_EQ(
      get(vm).body.at({"properties", "storageProfile", "osDisk", "diskSizeGB"}).integer(), 30
  );
  settle(arm("POST", vm + "/deallocate"));
  EXPECT_EQ(
      get(vm).body.at({"properties", "storageProfile", "osDisk"}).find("diskSizeGB"), nullptr
  );
  EXPECT_EQ(put(vm, get(vm).body.dump()).status, 200);
}

TEST_F(azure_happenings, an_ephemeral_disk_keeps_a_machine_on_its_host) {
  make_network();
  auto body = machine_body();
  os_disk(body).set("diffDiskSettings", parsed(R"({"option":"Local"})"));
  EXPECT_EQ(put(vm, body.dump()).code(), "InvalidParameter") << "it needs caching ReadOnly";
  os_disk(body).set("caching", "ReadOnly");
  make(vm, body.dump());
  EXPECT_EQ(arm("POST", vm + "/deallocate").code(), "OperationNotAllowed");
  settle(arm("POST", vm + "/reimage"));
  EXPECT_EQ(power_of(), "running");
}

} // namespace
} // namespace siteagent::azure_emulator
