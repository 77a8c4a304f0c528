// SPDX-License-Identifier: MIT
// Creating machines.
#include "azure_bodies.hpp"
#include "azure_fixture.hpp"

#include <functional>

namespace siteagent::azure_emulator {
namespace {

using azure_machine = cloud;
using edit = std::function<void(base::json&)>;

TEST_F(azure_machine, is_created_and_then_runs) {
  make_network();
  azure_.set_timing(timing::fast());
  const auto begun = put(vm, machine_body().dump(), {{"if-none-match", "*"}});
  ASSERT_EQ(begun.status, 201) << begun.body.dump();
  EXPECT_EQ(begun.state(), "Creating");
  EXPECT_EQ(begun.header("ETag"), "\"1\"");
  EXPECT_EQ(
      begun.body.at({"properties", "storageProfile", "osDisk", "managedDisk"}).find("id"), nullptr
  );
  EXPECT_FALSE(begun.body.at({"properties", "storageProfile", "imageReference", "exactVersion"})
                   .string_or("")
                   .empty());
  EXPECT_NE(begun.header("Azure-AsyncOperation").find("?p="), std::string::npos);
  EXPECT_EQ(power_of(), "") << "no power state before allocation";
  EXPECT_EQ(settle(begun).body["status"].string_or(""), "InProgress");
  EXPECT_EQ(get(nic).body["properties"].find("virtualMachine"), nullptr);
  advance(std::chrono::seconds(2));
  EXPECT_EQ(power_of(), "starting");
  advance(std::chrono::seconds(3));
  EXPECT_EQ(settle(begun).body["status"].string_or(""), "Succeeded");
  const auto made = get(vm + "?$expand=instanceView");
  EXPECT_EQ(made.state(), "Succeeded");
  EXPECT_TRUE(made.body.at({"properties", "instanceView", "statuses"}).is_array());
  EXPECT_EQ(power_of(), "running");
  EXPECT_EQ(
      get(nic).body.at({"properties", "virtualMachine", "id"}).string_or(""), subscription_1 + vm
  );
  EXPECT_EQ(get(nic).body.at({"properties", "macAddress"}).string_or("").size(), 17U);
  const auto disk = get(compute + "/disks/vm-os");
  EXPECT_EQ(disk.body["managedBy"].string_or(""), subscription_1 + vm);
  EXPECT_EQ(disk.body.at({"properties", "diskState"}).string_or(""), "Attached");
}

TEST_F(azure_machine, secrets_are_never_shown) {
  make_network();
  auto body = machine_body();
  profile_of(body).set("adminPassword", "Secret-of-42");
  profile_of(body).member_ref("linuxConfiguration").set("disablePasswordAuthentication", false);
  const auto begun = put(vm, body.dump());
  ASSERT_EQ(begun.status, 201) << begun.body.dump();
  settle(begun);
  const std::string all = begun.body.dump() + get(vm).body.dump() + inventory().dump();
  EXPECT_EQ(all.find("Secret-of-42"), std::string::npos);
  EXPECT_EQ(all.find("I2Nsb3Vk"), std::string::npos);
  EXPECT_EQ(all.find("customData"), std::string::npos);
}

TEST_F(azure_machine, bad_bodies_are_refused_as_azure_does) {
  make_network();
  seed(R"({"images":[
    {"publisher":"Canonical","offer":"ubuntu-24_04-lts","sku":"server","version":"1.0.0"},
    {"publisher":"P","offer":"arm","sku":"s","architecture":"Arm64"},
    {"publisher":"P","offer":"paid","sku":"s","plan":{"publisher":"P","name":"s","product":"paid"}},
    {"publisher":"P","offer":"old","sku":"s","generation":"V1"}]})");
  seed(
      R"({"sizes":[{"name":"Standard_B2s","cores":2,"memory_gib":4},{"name":"Standard_Gen1","generations":"V1"},
    {"name":"Standard_Basic","premium_storage":false}]})"
  );

  struct row {
    const char* what;
    int status;
    std::string code;
    edit change;
  };

  const row rows[] = {
      {"raw custom data",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("customData", "#cloud-config\nusers: []\n"); }},
      {"too much custom data",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("customData", std::string(87'384, 'A')); }},
      {"a key without path", 400, "InvalidParameter", [](auto& b) { first_key(b).erase("path"); }},
      {"a key for another user",
       400,
       "InvalidParameter",
       [](auto& b) { first_key(b).set("path", "/home/ubuntu/.ssh/authorized_keys"); }},
      {"a key that is none",
       400,
       "InvalidParameter",
       [](auto& b) { first_key(b).set("keyData", "ssh-ed25519 AAAA me"); }},
      {"an ECDSA key",
       400,
       "InvalidParameter",
       [](auto& b) {
         first_key(b).set("keyData", "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY= me");
       }},
      {"neither key nor password",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).member_ref("linuxConfiguration").erase("ssh"); }},
      {"password login without password",
       400,
       "InvalidParameter",
       [](auto& b) {
         profile_of(b).member_ref("linuxConfiguration").set("disablePasswordAuthentication", false);
       }},
      {"a simple password",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminPassword", "onlyletters"); }},
      {"a well-known password",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminPassword", "P@ssw0rd"); }},
      {"a reserved user",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminUsername", "Root"); }},
      {"no user", 400, "InvalidParameter", [](auto& b) { profile_of(b).erase("adminUsername"); }},
      {"an underscore in the computer name",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("computerName", "a_b"); }},
      {"a computer name of digits",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("computerName", "12345"); }},
      {"a computer name ending in a hyphen",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("computerName", "vm-"); }},
      {"a long computer name",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("computerName", std::string(65, 'a')); }},
      {"no operating system profile",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).erase("osProfile"); }},
      {"an unknown member",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).set("hardwareprofle", "x"); }},
      {"no interface",
       400,
       "InvalidParameter",
       [](auto& b) {
         properties_of(b)
             .member_ref("networkProfile")
             .set("networkInterfaces", base::json::array());
       }},
      {"an unknown interface",
       400,
       "InvalidResourceReference",
       [](auto& b) {
         properties_of(b)
             .member_ref("networkProfile")
             .member_ref("networkInterfaces")
             .items()[0]
             .set("id", subscription_1 + cloud::nic + "9");
       }},
      {"an unknown size",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).member_ref("hardwareProfile").set("vmSize", "Standard_X"); }},
      {"an unknown image",
       404,
       "PlatformImageNotFound",
       [](auto& b) { image(b).set("sku", "nonsense"); }},
      {"an unknown version",
       404,
       "PlatformImageNotFound",
       [](auto& b) { image(b).set("version", "9.9.9"); }},
      {"an image of the wrong generation",
       400,
       "BadRequest",
       [](auto& b) {
         properties_of(b).member_ref("hardwareProfile").set("vmSize", "Standard_Gen1");
       }},
      {"an image of the wrong architecture",
       400,
       "BadRequest",
       [](auto& b) { image(b).set("publisher", "P").set("offer", "arm").set("sku", "s"); }},
      {"an image with a plan and no plan",
       400,
       "VMMarketplaceInvalidInput",
       [](auto& b) { image(b).set("publisher", "P").set("offer", "paid").set("sku", "s"); }},
      {"a plan for an image without",
       400,
       "VMMarketplaceInvalidInput",
       [](auto& b) { b.set("plan", parsed(R"({"name":"s","publisher":"P","product":"x"})")); }},
      {"trusted launch on a generation 1 image",
       400,
       "BadRequest",
       [](auto& b) {
         image(b).set("publisher", "P").set("offer", "old").set("sku", "s");
         properties_of(b).set("securityProfile", parsed(R"({"securityType":"TrustedLaunch"})"));
       }},
      {"premium storage on a size without",
       400,
       "InvalidParameter",
       [](auto& b) {
         properties_of(b).member_ref("hardwareProfile").set("vmSize", "Standard_Basic");
       }},
      {"a disk smaller than the image",
       409,
       "OperationNotAllowed",
       [](auto& b) { os_disk(b).set("diskSizeGB", 10); }},
      {"two zones",
       400,
       "InvalidParameter",
       [](auto& b) {
         b.set("zones", base::json::array({"1", "2"}));
       }},
      {"an unknown zone",
       400,
       "InvalidParameter",
       [](auto& b) { b.set("zones", base::json::array({"9"})); }},
      {"too many data disks",
       409,
       "OperationNotAllowed",
       [](auto& b) {
         base::json disks = base::json::array();
         for (int lun = 0; lun < 5; ++lun) {
           disks.push_back(
               base::json::object({{"lun", lun}, {"createOption", "Empty"}, {"diskSizeGB", 8}})
           );
         }
         properties_of(b).member_ref("storageProfile").set("dataDisks", disks);
       }},
      {"more interfaces than the size takes",
       400,
       "InvalidParameter",
       [](auto& b) {
         auto& list = properties_of(b).member_ref("networkProfile").member_ref("networkInterfaces");
         const auto one = list[0];
         list.push_back(one);
         list.push_back(one);
       }},
      {"raw user data",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).set("userData", "#!/bin/sh"); }},
      {"another location than the interface",
       400,
       "InvalidResourceReference",
       [](auto& b) { b.set("location", "eastus"); }},
  };
  for (const auto& r : rows) {
    auto body = machine_body();
    r.change(body);
    const auto a = put(vm, body.dump());
    EXPECT_EQ(a.status, r.status) << r.what << ": " << a.body.dump();
    EXPECT_EQ(a.code(), r.code) << r.what;
  }
  EXPECT_EQ(get(vm).status, 404);
  EXPECT_EQ(put(vm, machine_body().dump()).status, 201);
}

TEST_F(azure_machine, refusals_name_what_is_wrong) {
  make_network();
  auto body = machine_body();
  first_key(body).erase("path");
  EXPECT_EQ(
      put(vm, body.dump()).message(),
      "Destination path for SSH public keys is currently limited to its default value "
      "/home/azureuser/.ssh/authorized_keys due to a known issue in Linux provisioning agent."
  );
  body = machine_body();
  profile_of(body).set("customData", "raw!");
  EXPECT_EQ(
      put(vm, body.dump()).message(),
      "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 "
      "characters."
  );
}

TEST_F(azure_machine, nulls_count_as_absent) {
  make_network();
  auto body = machine_body();
  properties_of(body).set("nonsense", nullptr);
  properties_of(body).set("licenseType", nullptr);
  os_disk(body).set("diskSizeGB", nullptr);
  EXPECT_EQ(put(vm, body.dump()).status, 201);
}

TEST_F(azure_machine, accelerated_networking_needs_a_size_that_has_it) {
  make_network();
  make(nic, interface_body("sub", "ip", R"("enableAcceleratedNetworking":true,)"));
  EXPECT_EQ(
      put(vm, machine_body().dump()).code(), "VMSizeIsNotPermittedToEnableAcceleratedNetworking"
  );
  auto body = machine_body();
  properties_of(body).member_ref("hardwareProfile").set("vmSize", "Standard_D2s_v5");
  EXPECT_EQ(put(vm, body.dump()).status, 201);
}

TEST_F(azure_machine, answers_say_what_is_left_of_the_limits) {
  make_network();
  const auto a = put(vm, machine_body().dump());
  EXPECT_EQ(
      a.header("x-ms-ratelimit-remaining-resource"),
      "Microsoft.Compute/PutVM3Min;11,Microsoft.Compute/PutVM30Min;1499"
  );
  EXPECT_FALSE(a.header("x-ms-ratelimit-remaining-subscription-writes").empty());
}

} // namespace
} // namespace siteagent::azure_emulator
