// SPDX-License-Identifier: MIT
// Changing and deleting machines.
#include "azure_bodies.hpp"
#include "azure_fixture.hpp"

#include <functional>

namespace siteagent::azure_emulator {
namespace {

using azure_machine_change = cloud;
using edit = std::function<void(base::json&)>;

TEST_F(azure_machine_change, the_same_put_again_changes_nothing) {
  make_machine();
  const auto before = get(vm);
  const auto again = put(vm, machine_body().dump());
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.state(), "Updating");
  EXPECT_EQ(again.header("Azure-AsyncOperation"), "");
  EXPECT_EQ(get(vm).state(), "Succeeded");
  EXPECT_EQ(get(vm).body.at({"properties", "vmId"}), before.body.at({"properties", "vmId"}));
  EXPECT_NE(get(vm).header("ETag"), before.header("ETag"));
  const auto guarded = put(vm, machine_body().dump(), {{"if-none-match", "*"}});
  EXPECT_EQ(guarded.status, 412);
  const auto stale = put(vm, machine_body().dump(), {{"if-match", "invalid"}});
  EXPECT_EQ(
      stale.message(),
      "Etag provided in if-match header \"invalid\" does not match etag " + get(vm).header("ETag") +
          " of resource."
  );
}

TEST_F(azure_machine_change, what_is_fixed_at_birth_cannot_change) {
  make_machine();

  struct row {
    std::string property;
    edit change;
  };

  const row rows[] = {
      {"osProfile.computerName", [](auto& b) { profile_of(b).set("computerName", "other"); }},
      {"osProfile.adminUsername", [](auto& b) { profile_of(b).set("adminUsername", "other"); }},
      {"osProfile.customData", [](auto& b) { profile_of(b).set("customData", "AAAA"); }},
      {"osProfile.adminPassword",
       [](auto& b) { profile_of(b).set("adminPassword", "New-pass-1"); }},
      {"imageReference.sku", [](auto& b) { image(b).set("sku", "minimal"); }},
      {"osDisk.name", [](auto& b) { os_disk(b).set("name", "other"); }},
      {"zones", [](auto& b) { b.set("zones", base::json::array({"1"})); }},
      {"linuxConfiguration.ssh.publicKeys",
       [](auto& b) { first_key(b).set("keyData", first_key(b)["keyData"].string_or("") + "x"); }},
  };
  for (const auto& r : rows) {
    auto body = machine_body();
    r.change(body);
    const auto a = put(vm, body.dump());
    EXPECT_EQ(a.status, 409) << r.property;
    EXPECT_EQ(a.code(), "PropertyChangeNotAllowed") << r.property;
    EXPECT_EQ(a.message(), "Changing property '" + r.property + "' is not allowed.");
  }
  auto moved = machine_body();
  moved.set("location", "eastus");
  EXPECT_EQ(put(vm, moved.dump()).code(), "InvalidResourceLocation");
}

TEST_F(azure_machine_change, tags_and_size_are_patched) {
  make_machine();
  const auto begun = arm("PATCH", vm, parsed(R"({"tags":{"stopped":"yes"}})"));
  EXPECT_EQ(begun.status, 200);
  EXPECT_FALSE(begun.header("Azure-AsyncOperation").empty());
  settle(begun);
  EXPECT_EQ(get(vm).body["tags"].dump(), R"({"stopped":"yes"})");
  settle(
      arm("PATCH", vm, parsed(R"({"properties":{"hardwareProfile":{"vmSize":"Standard_B2ms"}}})"))
  );
  EXPECT_EQ(
      get(vm).body.at({"properties", "hardwareProfile", "vmSize"}).string_or(""), "Standard_B2ms"
  );
  EXPECT_EQ(get(vm + "/vmSizes").body["value"].size(), 3U) << "of the family it runs on";
}

TEST_F(azure_machine_change, quotas_count_cores_of_region_and_family) {
  make_network();
  make(networks + "/networkInterfaces/nic2", interface_body("sub", ""));
  seed(R"({"quotas":{"cores":3}})");
  make(vm, machine_body().dump());
  auto second = machine_body();
  os_disk(second).set("name", "vm2-os");
  properties_of(second)
      .member_ref("networkProfile")
      .member_ref("networkInterfaces")
      .items()[0]
      .set("id", subscription_1 + nic + "2");
  const auto regional = put(vm + "2", second.dump());
  EXPECT_EQ(regional.status, 409);
  EXPECT_EQ(regional.code(), "OperationNotAllowed");
  EXPECT_NE(
      regional.message().find(
          "exceeding approved Total Regional Cores quota. Additional details - Deployment Model: "
          "Resource Manager, Location: westeurope, Current Limit: 3, Current Usage: 2, Additional "
          "Required: 2, (Minimum) New Limit Required: 4."
      ),
      std::string::npos
  ) << regional.message();
  seed(R"({"quotas":{"families":{"standardBSFamily":2}}})");
  EXPECT_NE(
      put(vm + "2", second.dump()).message().find("approved standardBSFamily Cores quota"),
      std::string::npos
  );
  seed(R"({"quotas":{}})");
  EXPECT_EQ(put(vm + "2", second.dump()).status, 201);
}

TEST_F(azure_machine_change, restrictions_refuse_a_size_or_fail_its_allocation) {
  make_network();
  seed(
      R"({"restrictions":[{"size":"Standard_B2s","location":"westeurope","reason":"NotAvailableForSubscription"}]})"
  );
  const auto refused = put(vm, machine_body().dump());
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "SkuNotAvailable");
  seed(R"({"restrictions":[{"size":"Standard_B2s","reason":"AllocationFailed"}]})");
  const auto begun = put(vm, machine_body().dump());
  EXPECT_EQ(begun.status, 201);
  const auto end = settle(begun);
  EXPECT_EQ(end.status, 200);
  EXPECT_EQ(end.body["status"].string_or(""), "Failed");
  EXPECT_EQ(end.code(), "AllocationFailed");
  EXPECT_EQ(get(vm).state(), "Failed");
  EXPECT_EQ(power_of(), "");
  EXPECT_EQ(get(compute + "/disks/vm-os").status, 404);
}

TEST_F(azure_machine_change, an_interface_serves_one_machine) {
  make_machine();
  auto second = machine_body();
  os_disk(second).set("name", "vm2-os");
  EXPECT_EQ(put(vm + "2", second.dump()).code(), "NicInUse");
  EXPECT_EQ(remove(nic).code(), "NicInUse");
  EXPECT_EQ(remove(compute + "/disks/vm-os").code(), "OperationNotAllowed");
}

TEST_F(azure_machine_change, a_failed_create_reserves_its_interface_for_a_while) {
  make_network();
  fail_operations(emulators::operation_fault{
      emulators::operation_fault::outcome_kind::failed, "OSProvisioningTimedOut"});
  const auto begun = put(vm, machine_body().dump());
  fail_operations({});
  EXPECT_EQ(settle(begun).code(), "OSProvisioningTimedOut");
  EXPECT_EQ(get(vm).state(), "Failed");
  EXPECT_EQ(
      get(vm + "/instanceView").body["statuses"][0]["code"].string_or(""),
      "ProvisioningState/failed/OSProvisioningTimedOut"
  );
  EXPECT_EQ(get(compute + "/disks/vm-os").status, 200) << "it got as far as its disk";
  auto detach = machine_body();
  properties_of(detach)
      .member_ref("networkProfile")
      .member_ref("networkInterfaces")
      .items()[0]
      .set("properties", parsed(R"({"primary":true,"deleteOption":"Detach"})"));
  settle(put(vm, detach.dump()));
  settle(remove(vm));
  const auto held = remove(nic);
  EXPECT_EQ(held.status, 400);
  EXPECT_EQ(held.code(), "NicReservedForAnotherVm");
  auto other = machine_body();
  EXPECT_EQ(put(vm + "2", other.dump()).code(), "NicReservedForAnotherVm");
  advance(std::chrono::seconds(180));
  EXPECT_EQ(remove(nic).status, 202);
}

TEST_F(azure_machine_change, the_create_that_failed_is_repeated_by_the_same_put) {
  make_network();
  fail_operations(emulators::operation_fault{
      emulators::operation_fault::outcome_kind::failed, "AllocationFailed"});
  settle(put(vm, machine_body().dump()));
  fail_operations({});
  EXPECT_EQ(get(vm).state(), "Failed");
  const auto again = put(vm, machine_body().dump());
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(settle(again).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(power_of(), "running");
}

TEST_F(azure_machine_change, deletion_honours_the_delete_options) {
  make_machine();
  const auto begun = remove(vm + "?forceDeletion=true");
  EXPECT_EQ(begun.status, 202);
  EXPECT_NE(begun.header("Location").find("monitor=true"), std::string::npos);
  EXPECT_EQ(settle(begun).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(arm("GET", begun.header("Location")).status, 200);
  for (const auto& path : {vm, nic, ip, compute + "/disks/vm-os"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  EXPECT_EQ(remove(vm).status, 204);
  EXPECT_EQ(get(net).status, 200);
}

TEST_F(azure_machine_change, without_delete_options_its_parts_stay) {
  make_network();
  auto body = machine_body();
  os_disk(body).erase("deleteOption");
  properties_of(body)
      .member_ref("networkProfile")
      .member_ref("networkInterfaces")
      .items()[0]
      .erase("properties");
  make(vm, body.dump());
  settle(remove(vm));
  EXPECT_EQ(get(nic).status, 200);
  EXPECT_EQ(get(nic).body["properties"].find("virtualMachine"), nullptr);
  EXPECT_EQ(
      get(compute + "/disks/vm-os").body.at({"properties", "diskState"}).string_or(""), "Unattached"
  );
  const auto clash = put(vm, body.dump());
  EXPECT_EQ(clash.status, 409) << "the disk of that name is still there";
  EXPECT_NE(clash.message().find("already exists"), std::string::npos);
  EXPECT_EQ(settle(remove(compute + "/disks/vm-os")).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(put(vm, body.dump()).status, 201);
}

TEST_F(azure_machine_change, disks_survive_their_machine_where_seeded) {
  make_machine();
  seed(R"({"disks_survive":true})");
  settle(remove(vm));
  EXPECT_EQ(get(vm).status, 404);
  EXPECT_EQ(
      get(compute + "/disks/vm-os").body.at({"properties", "diskState"}).string_or(""), "Unattached"
  );
}

TEST_F(azure_machine_change, while_deleting_only_deletion_is_allowed) {
  make_machine();
  azure_.set_timing(timing::fast());
  const auto begun = remove(vm);
  EXPECT_EQ(get(vm).state(), "Deleting");
  EXPECT_EQ(put(vm, machine_body().dump()).code(), "OperationNotAllowed");
  EXPECT_EQ(arm("POST", vm + "/start").code(), "OperationNotAllowed");
  EXPECT_EQ(remove(nic).code(), "NicReservedForAnotherVm");
  EXPECT_EQ(remove(vm).header("Location"), begun.header("Location"));
  advance(std::chrono::seconds(3));
  EXPECT_EQ(get(vm).status, 404);
}

TEST_F(azure_machine_change, a_delete_overtakes_the_create) {
  make_network();
  azure_.set_timing(timing::fast());
  const auto created = put(vm, machine_body().dump());
  EXPECT_EQ(put(vm, machine_body().dump()).code(), "OperationNotAllowed");
  EXPECT_EQ(remove(vm).status, 202);
  const auto end = settle(created);
  EXPECT_EQ(end.body["status"].string_or(""), "Canceled");
  EXPECT_EQ(end.code(), "OperationPreempted");
  advance(std::chrono::seconds(5));
  EXPECT_EQ(get(vm).status, 404);
  EXPECT_EQ(get(nic).status, 404);
}

TEST_F(azure_machine_change, data_disks_are_made_and_removed_with_it) {
  make_network();
  auto body = machine_body();
  properties_of(body)
      .member_ref("storageProfile")
      .set(
          "dataDisks",
          parsed(
              R"([{"lun":0,"name":"d0","createOption":"Empty","diskSizeGB":64,"deleteOption":"Delete"},
                 {"lun":1,"createOption":"Empty","diskSizeGB":32}])"
          )
      );
  make(vm, body.dump());
  EXPECT_EQ(get(compute + "/disks").body["value"].size(), 3U);
  settle(remove(vm));
  EXPECT_EQ(get(compute + "/disks").body["value"].size(), 1U);
}

TEST_F(azure_machine_change, an_existing_disk_is_attached_once) {
  make_network();
  const std::string disk = compute + "/disks/data";
  const auto begun = put(
      disk,
      R"({"location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":64}})"
  );
  EXPECT_EQ(begun.status, 202);
  EXPECT_EQ(
      settle(begun).body.at({"properties", "output", "properties", "diskState"}).string_or(""),
      "Unattached"
  );
  auto body = machine_body();
  properties_of(body)
      .member_ref("storageProfile")
      .set(
          "dataDisks",
          parsed(
              R"([{"lun":0,"createOption":"Attach","managedDisk":{"id":")" + subscription_1 + disk +
              "\"}}]"
          )
      );
  make(vm, body.dump());
  EXPECT_EQ(get(disk).body.at({"properties", "diskState"}).string_or(""), "Attached");
  make(nic + "2", interface_body("sub", ""));
  auto second = body;
  os_disk(second).set("name", "vm2-os");
  properties_of(second)
      .member_ref("networkProfile")
      .member_ref("networkInterfaces")
      .items()[0]
      .set("id", subscription_1 + nic + "2");
  EXPECT_EQ(put(vm + "2", second.dump()).code(), "ConflictingUserInput");
  EXPECT_EQ(
      put(disk, R"({"location":"westeurope","properties":{"diskSizeGB":32}})").code(),
      "OperationNotAllowed"
  );
  settle(arm("PATCH", disk, parsed(R"({"properties":{"diskSizeGB":128}})")));
  EXPECT_EQ(get(disk).body.at({"properties", "diskSizeGB"}).integer(), 128);
}

TEST_F(azure_machine_change, what_a_get_showed_may_be_put_back) {
  make_machine();
  auto shown = get(vm + "?$expand=instanceView").body;
  const auto again = put(vm, shown.dump());
  EXPECT_EQ(again.status, 200) << again.body.dump();
  EXPECT_EQ(again.header("Azure-AsyncOperation"), "") << "nothing changed";
  shown.member_ref("properties").erase("osProfile");
  EXPECT_EQ(put(vm, shown.dump()).status, 200) << "what is left out stays";
}

TEST_F(azure_machine_change, a_failed_action_leaves_the_power_as_it_was) {
  make_machine();
  settle(arm("POST", vm + "/powerOff"));
  fail_operations(emulators::operation_fault{
      emulators::operation_fault::outcome_kind::failed, "InternalExecutionError"});
  const auto begun = arm("POST", vm + "/deallocate");
  fail_operations({});
  EXPECT_EQ(arm("GET", begun.header("Location")).status, 500);
  EXPECT_EQ(power_of(), "stopped");
  EXPECT_EQ(get(vm).state(), "Failed");
}

} // namespace
} // namespace siteagent::azure_emulator
