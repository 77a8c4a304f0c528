// SPDX-License-Identifier: MIT
// Rules of machines beyond the body of one create: what stays, what needs a stop, images with
// plans, Spot, zones, data disks, interfaces that a create describes.
#include "azure_bodies.hpp"
#include "azure_fixture.hpp"

#include <functional>

namespace siteagent::azure_emulator {
namespace {

using base::json;
using edit = std::function<void(json&)>;

class azure_machine_rules : public cloud {
public:
  static inline const std::string disks = compute + "/disks";

  static json& storage(json& body) { return properties_of(body).member_ref("storageProfile"); }

  static json& interfaces(json& body) {
    return properties_of(body).member_ref("networkProfile").member_ref("networkInterfaces");
  }

  // PATCH of properties.
  answer change(const std::string& properties) {
    return arm("PATCH", vm, parsed(R"({"properties":)" + properties + "}"));
  }

  answer change_disks(const std::string& list) {
    return change(R"({"storageProfile":{"dataDisks":)" + list + "}}");
  }

  void make_disk_of_its_own(const std::string& name) {
    settle(put(
        disks + "/" + name,
        R"({"location":"westeurope","sku":{"name":"StandardSSD_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":64}})"
    ));
  }

  static std::string attach(const std::string& name, int lun = 0) {
    return R"({"lun":)" + std::to_string(lun) +
           R"(,"createOption":"Attach","managedDisk":{"id":")" + subscription_1 + disks + "/" +
           name + "\"}}";
  }

  std::string disk_state(const std::string& name) {
    return get(disks + "/" + name).body.at({"properties", "diskState"}).string_or("");
  }

  void stop() { settle(arm("POST", vm + "/deallocate")); }
};

TEST_F(azure_machine_rules, what_stays_for_life_names_its_property) {
  make_machine();

  struct row {
    std::string property;
    edit change;
  };

  const row rows[] = {
      {"imageReference.publisher", [](auto& b) { image(b).set("publisher", "Other"); }},
      {"imageReference.offer", [](auto& b) { image(b).set("offer", "other"); }},
      {"imageReference.version", [](auto& b) { image(b).set("version", "1.0.0"); }},
      {"imageReference.id", [](auto& b) { image(b).set("id", "/subscriptions/x"); }},
      {"osDisk.createOption", [](auto& b) { os_disk(b).set("createOption", "Attach"); }},
      {"osDisk.osType", [](auto& b) { os_disk(b).set("osType", "Windows"); }},
      {"osDisk.diffDiskSettings",
       [](auto& b) { os_disk(b).set("diffDiskSettings", parsed(R"({"option":"Local"})")); }},
      {"priority", [](auto& b) { properties_of(b).set("priority", "Spot"); }},
      {"evictionPolicy", [](auto& b) { properties_of(b).set("evictionPolicy", "Delete"); }},
      {"availabilitySet",
       [](auto& b) { properties_of(b).set("availabilitySet", parsed(R"({"id":"/x"})")); }},
      {"plan", [](auto& b) { b.set("plan", parsed(R"({"name":"x"})")); }},
      {"linuxConfiguration.disablePasswordAuthentication",
       [](auto& b) {
         profile_of(b).member_ref("linuxConfiguration").set("disablePasswordAuthentication", false);
       }},
      {"linuxConfiguration.provisionVMAgent",
       [](auto& b) {
         profile_of(b).member_ref("linuxConfiguration").set("provisionVMAgent", false);
       }},
      {"osProfile.requireGuestProvisionSignal",
       [](auto& b) { profile_of(b).set("requireGuestProvisionSignal", false); }},
      {"securityProfile.securityType",
       [](auto& b) {
         properties_of(b).set("securityProfile", parsed(R"({"securityType":"ConfidentialVM"})"));
       }},
  };
  for (const auto& r : rows) {
    auto body = machine_body();
    r.change(body);
    const auto a = put(vm, body.dump());
    EXPECT_EQ(a.status, 409) << r.property << a.body.dump();
    EXPECT_EQ(a.code(), "PropertyChangeNotAllowed") << r.property;
    EXPECT_EQ(a.body.at({"error", "target"}).string_or(""), r.property);
  }
}

TEST_F(azure_machine_rules, some_changes_need_the_machine_deallocated) {
  make_machine();
  const std::string rows[] = {
      R"({"storageProfile":{"osDisk":{"diskSizeGB":64}}})",
      R"({"storageProfile":{"osDisk":{"managedDisk":{"storageAccountType":"StandardSSD_LRS"}}}})",
      R"({"securityProfile":{"encryptionAtHost":true}})",
      R"({"securityProfile":{"securityType":"TrustedLaunch"}})",
      R"({"hardwareProfile":{"vmSize":"Standard_D2s_v5"}})",
  };
  for (const auto& r : rows) {
    const auto a = change(r);
    EXPECT_EQ(a.status, 409) << r;
    EXPECT_EQ(a.code(), "OperationNotAllowed") << r;
  }
  stop();
  for (const auto& r : rows) {
    const auto a = change(r);
    EXPECT_EQ(a.status, 200) << r << a.body.dump();
    settle(a);
  }
  EXPECT_EQ(get(disks + "/vm-os").body.at({"properties", "diskSizeGB"}).integer(), 64);
  EXPECT_EQ(
      change(R"({"storageProfile":{"osDisk":{"diskSizeGB":32}}})").code(), "OperationNotAllowed"
  ) << "disks do not shrink";
  EXPECT_EQ(
      change(R"({"securityProfile":{"securityType":"Standard"}})").code(),
      "PropertyChangeNotAllowed"
  ) << "no way back";
}

TEST_F(azure_machine_rules, a_resize_stays_on_its_hardware_or_needs_a_stop) {
  make_machine();
  const auto refused = change(R"({"hardwareProfile":{"vmSize":"Standard_D2s_v5"}})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(
      refused.message(),
      "Unable to resize the VM 'vm' because the requested size Standard_D2s_v5 is not available in "
      "the current hardware cluster. The available sizes in this cluster are: "
      "Standard_B1s,Standard_B2s,Standard_B2ms."
  );
  seed(R"({"resizes_across_families":true})");
  EXPECT_EQ(change(R"({"hardwareProfile":{"vmSize":"Standard_D2s_v5"}})").status, 200);
}

TEST_F(azure_machine_rules, a_new_size_must_take_what_the_machine_has) {
  seed(
      R"({"sizes":[{"name":"Standard_B2s","cores":2,"family":"f"},{"name":"Old","generations":"V1","family":"f"},
      {"name":"Arm","architecture":"Arm64","family":"f"},{"name":"Slow","premium_storage":false,"family":"f"},
      {"name":"Bare","data_disks":0,"family":"f"},{"name":"Huge","cores":64,"family":"f"}]})"
  );
  make_network();
  auto body = machine_body();
  storage(body).set("dataDisks", parsed(R"([{"lun":0,"createOption":"Empty","diskSizeGB":8}])"));
  make(vm, body.dump());
  seed(R"({"quotas":{"cores":10}})");

  struct row {
    std::string size;
    int status;
    std::string code;
  };

  const row rows[] = {
      {"Nonsense", 400, "InvalidParameter"},
      {"Old", 400, "BadRequest"},
      {"Arm", 400, "BadRequest"},
      {"Slow", 400, "InvalidParameter"},
      {"Bare", 409, "OperationNotAllowed"},
      {"Huge", 409, "OperationNotAllowed"},
  };
  for (const auto& r : rows) {
    const auto a = change(R"({"hardwareProfile":{"vmSize":")" + r.size + "\"}}");
    EXPECT_EQ(a.status, r.status) << r.size;
    EXPECT_EQ(a.code(), r.code) << r.size << a.message();
  }
}

TEST_F(azure_machine_rules, bodies_that_azure_refuses_are_refused) {
  make_network();
  seed(R"({"sizes":[{"name":"Standard_B2s","cores":2},{"name":"NoSpot","spot":false}]})");
  seed(R"({"images":[{"publisher":"Canonical","offer":"ubuntu-24_04-lts","sku":"server"},
    {"publisher":"P","offer":"gone","sku":"s","state":"Deprecated"},
    {"publisher":"P","offer":"paid","sku":"s","plan":{"publisher":"P","name":"s","product":"paid"}},
    {"publisher":"W","offer":"win","sku":"s","os":"Windows"}]})");
  const auto windows = [](json& b) {
    image(b).set("publisher", "W").set("offer", "win").set("sku", "s");
    profile_of(b).erase("linuxConfiguration");
    profile_of(b).set("adminPassword", "Windows-pass-1");
  };

  struct row {
    const char* what;
    int status;
    std::string code;
    edit change;
  };

  const row rows[] = {
      {"an image by name and by id",
       400,
       "InvalidParameter",
       [](auto& b) { image(b).set("id", "/subscriptions/s"); }},
      {"an image without version",
       400,
       "InvalidParameter",
       [](auto& b) { image(b).erase("version"); }},
      {"an id that is none",
       400,
       "LinkedInvalidPropertyId",
       [](auto& b) { storage(b).set("imageReference", parsed(R"({"id":"myimage"})")); }},
      {"a custom image that is not there",
       404,
       "NotFound",
       [](auto& b) {
         storage(b).set(
             "imageReference", json::object({{"id", subscription_1 + compute + "/images/i"}})
         );
       }},
      {"a gallery image that is not there",
       404,
       "GalleryImageNotFound",
       [](auto& b) {
         storage(b).set(
             "imageReference",
             json::object(
                 {{"id", subscription_1 + compute + "/galleries/g/images/i/versions/1.0.0"}}
             )
         );
       }},
      {"a shared gallery image that is not there",
       404,
       "GalleryImageNotFound",
       [](auto& b) {
         storage(b).set(
             "imageReference", parsed(R"({"sharedGalleryImageId":"/SharedGalleries/g/Images/i"})")
         );
       }},
      {"an image that was withdrawn",
       400,
       "ImageVersionDeprecated",
       [](auto& b) { image(b).set("publisher", "P").set("offer", "gone").set("sku", "s"); }},
      {"a wrong plan",
       400,
       "VMMarketplaceInvalidInput",
       [](auto& b) {
         image(b).set("publisher", "P").set("offer", "paid").set("sku", "s");
         b.set("plan", parsed(R"({"name":"other","publisher":"P","product":"paid"})"));
       }},
      {"terms that nobody accepted",
       400,
       "ResourcePurchaseValidationFailed",
       [](auto& b) {
         image(b).set("publisher", "P").set("offer", "paid").set("sku", "s");
         b.set("plan", parsed(R"({"name":"s","publisher":"P","product":"paid"})"));
       }},
      {"an unknown security type",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).set("securityProfile", parsed(R"({"securityType":"X"})")); }},
      {"a confidential machine",
       400,
       "BadRequest",
       [](auto& b) {
         properties_of(b).set("securityProfile", parsed(R"({"securityType":"ConfidentialVM"})"));
       }},
      {"UEFI settings without trusted launch",
       400,
       "BadRequest",
       [](auto& b) {
         properties_of(b).set(
             "securityProfile", parsed(R"({"uefiSettings":{"secureBootEnabled":true}})")
         );
       }},
      {"an unknown priority",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).set("priority", "High"); }},
      {"an eviction policy without Spot",
       400,
       "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines",
       [](auto& b) { properties_of(b).set("evictionPolicy", "Delete"); }},
      {"an unknown eviction policy",
       400,
       "InvalidParameter",
       [](auto& b) { properties_of(b).set("priority", "Spot").set("evictionPolicy", "Keep"); }},
      {"a price without Spot",
       400,
       "MaxPriceIsSupportedOnlyForAzureSpotVirtualMachines",
       [](auto& b) { properties_of(b).set("billingProfile", parsed(R"({"maxPrice":0.1})")); }},
      {"a price of nothing",
       400,
       "MaxPriceValueInvalid",
       [](auto& b) {
         properties_of(b)
             .set("priority", "Spot")
             .set("billingProfile", parsed(R"({"maxPrice":0})"));
       }},
      {"Spot on a size without",
       400,
       "AzureSpotIsNotSupportedForThisVMSize",
       [](auto& b) {
         properties_of(b).set("priority", "Spot");
         properties_of(b).member_ref("hardwareProfile").set("vmSize", "NoSpot");
       }},
      {"a disk type that is for data",
       400,
       "InvalidParameter",
       [](auto& b) {
         os_disk(b).member_ref("managedDisk").set("storageAccountType", "UltraSSD_LRS");
       }},
      {"an unknown disk type",
       400,
       "InvalidParameter",
       [](auto& b) { os_disk(b).member_ref("managedDisk").set("storageAccountType", "Fast"); }},
      {"a disk beyond 4095 GiB",
       400,
       "InvalidParameter",
       [](auto& b) { os_disk(b).set("diskSizeGB", 4096); }},
      {"two disks on one LUN",
       400,
       "InvalidParameter",
       [](auto& b) {
         storage(b).set(
             "dataDisks",
             parsed(
                 R"([{"lun":0,"createOption":"Empty","diskSizeGB":8},{"lun":0,"createOption":"Empty","diskSizeGB":8}])"
             )
         );
       }},
      {"an empty disk without size",
       400,
       "InvalidParameter",
       [](auto& b) {
         storage(b).set("dataDisks", parsed(R"([{"lun":0,"createOption":"Empty"}])"));
       }},
      {"a disk without option",
       400,
       "InvalidParameter",
       [](auto& b) { storage(b).set("dataDisks", parsed(R"([{"lun":0,"diskSizeGB":8}])")); }},
      {"attaching nothing",
       400,
       "InvalidParameter",
       [](auto& b) {
         storage(b).set("dataDisks", parsed(R"([{"lun":0,"createOption":"Attach"}])"));
       }},
      {"attaching a disk that is not there",
       404,
       "NotFound",
       [](auto& b) { storage(b).set("dataDisks", parsed("[" + attach("none") + "]")); }},
      {"a user name that ends in a dot",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminUsername", "me."); }},
      {"a user name of 65 letters",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminUsername", std::string(65, 'u')); }},
      {"a password of 73 letters",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminPassword", "Aa1" + std::string(70, 'x')); }},
      {"a password of 5 letters",
       400,
       "InvalidParameter",
       [](auto& b) { profile_of(b).set("adminPassword", "Aa1-x"); }},
      {"a short RSA key",
       400,
       "InvalidParameter",
       [](auto& b) {
         std::string blob("\0\0\0\x07ssh-rsa\0\0\0\x03\x01\0\x01\0\0\0\x80", 22);
         blob.append(128, '\x7f');
         first_key(b).set("keyData", "ssh-rsa " + base::base64(blob) + " me");
       }},
      {"a Windows name of 16 letters",
       400,
       "InvalidParameter",
       [&](auto& b) {
         windows(b);
         profile_of(b).set("computerName", std::string(16, 'w'));
       }},
      {"Windows without password",
       400,
       "InvalidParameter",
       [&](auto& b) {
         windows(b);
         profile_of(b).erase("adminPassword");
       }},
      {"Linux settings on Windows",
       400,
       "InvalidParameter",
       [&](auto& b) {
         windows(b);
         profile_of(b).set("linuxConfiguration", parsed(R"({"provisionVMAgent":true})"));
       }},
      {"interfaces both named and described",
       400,
       "InvalidParameter",
       [](auto& b) {
         properties_of(b)
             .member_ref("networkProfile")
             .set("networkInterfaceConfigurations", parsed(R"([{"name":"n"}])"));
       }},
      {"described interfaces without version",
       400,
       "InvalidParameter",
       [](auto& b) {
         properties_of(b).set(
             "networkProfile", parsed(R"({"networkInterfaceConfigurations":[{"name":"n"}]})")
         );
       }},
  };
  for (const auto& r : rows) {
    auto body = machine_body();
    r.change(body);
    const auto a = put(vm, body.dump());
    EXPECT_EQ(a.status, r.status) << r.what << ": " << a.body.dump();
    EXPECT_EQ(a.code(), r.code) << r.what << ": " << a.message();
  }
  EXPECT_EQ(put(vm + "-", machine_body().dump()).code(), "InvalidParameter") << "the name";
  EXPECT_EQ(get(vm).status, 404);
}

TEST_F(azure_machine_rules, terms_are_accepted_once_per_plan) {
  make_network();
  seed(
      R"({"images":[{"publisher":"P","offer":"paid","sku":"s","plan":{"publisher":"P","name":"s","product":"paid"}}]})"
  );
  const std::string terms = "/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/"
                            "publishers/P/offers/paid/plans/s/agreements/current";
  auto shown = get(terms).body;
  EXPECT_EQ(shown.at({"properties", "accepted"}).boolean(), false);
  shown.member_ref("properties").set("accepted", true);
  EXPECT_EQ(put(terms, shown.dump()).status, 200);
  EXPECT_EQ(get(terms).body.at({"properties", "accepted"}).boolean(), true);
  auto body = machine_body();
  image(body).set("publisher", "P").set("offer", "paid").set("sku", "s");
  body.set("plan", parsed(R"({"name":"s","publisher":"P","product":"paid"})"));
  EXPECT_EQ(put(vm, body.dump()).status, 201);
  const std::string other =
      "/providers/Microsoft.MarketplaceOrdering/agreements/P/offers/paid/plans/s";
  EXPECT_EQ(arm("POST", other + "/cancel").body.at({"properties", "accepted"}).boolean(), false);
  EXPECT_EQ(get(other).body.at({"properties", "accepted"}).boolean(), false);
  EXPECT_EQ(
      get("/providers/Microsoft.MarketplaceOrdering/agreements/P/offers/x/plans/s").status, 400
  );
}

TEST_F(azure_machine_rules, custom_and_gallery_images_are_used_by_id) {
  make_network();
  const std::string gallery = subscription_1 + compute + "/galleries/g/images/i";
  seed(
      R"({"own_images":[{"id":")" + gallery +
      R"(/versions/1.0.0","generation":"V1","size_gib":40},{"id":")" + gallery +
      R"(/versions/1.1.0","size_gib":50},{"id":")" + subscription_1 + compute +
      R"(/images/mine","locations":["eastus"]}]})"
  );
  auto body = machine_body();
  storage(body).set("imageReference", json::object({{"id", gallery}}));
  const auto begun = put(vm, body.dump());
  ASSERT_EQ(begun.status, 201) << begun.body.dump();
  EXPECT_EQ(begun.body.at({"properties", "storageProfile", "osDisk", "diskSizeGB"}).integer(), 50)
      << "of the latest version";
  EXPECT_EQ(
      begun.body.at({"properties", "storageProfile", "imageReference", "id"}).string_or(""), gallery
  );
  make(nic + "2", interface_body("sub", ""));
  storage(body).set(
      "imageReference", json::object({{"id", subscription_1 + compute + "/images/mine"}})
  );
  os_disk(body).set("name", "other");
  interfaces(body).items()[0].set("id", subscription_1 + nic + "2");
  EXPECT_EQ(put(vm + "2", body.dump()).status, 404) << "not in this region";
}

TEST_F(azure_machine_rules, spot_cores_have_a_quota_of_their_own) {
  make_network();
  seed(R"({"quotas":{"cores":0,"low_priority_cores":1}})");
  auto body = machine_body();
  properties_of(body).set("priority", "Spot").set("billingProfile", parsed(R"({"maxPrice":-1})"));
  const auto refused = put(vm, body.dump());
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.message().find("approved LowPriorityCores quota"), std::string::npos);
  seed(R"({"quotas":{"cores":0,"low_priority_cores":2}})");
  make(vm, body.dump());
  EXPECT_EQ(get(vm).body.at({"properties", "priority"}).string_or(""), "Spot");
  EXPECT_EQ(
      change(R"({"billingProfile":{"maxPrice":0.5}})").code(),
      "MaxPriceChangeNotAllowedForAllocatedVMs"
  );
}

TEST_F(azure_machine_rules, interfaces_share_a_network_and_a_zone_with_their_address) {
  make_network();
  make(
      networks + "/virtualNetworks/other",
      R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.9.0.0/16"]},"subnets":[{"name":"sub","properties":{"addressPrefix":"10.9.0.0/24"}}]}})"
  );
  auto elsewhere = parsed(interface_body("sub", ""));
  elsewhere.member_ref("properties")
      .member_ref("ipConfigurations")
      .items()[0]
      .member_ref("properties")
      .set(
          "subnet",
          json::object({{"id", subscription_1 + networks + "/virtualNetworks/other/subnets/sub"}})
      );
  make(nic + "2", elsewhere.dump());
  auto body = machine_body();
  interfaces(body).push_back(json::object({{"id", subscription_1 + nic + "2"}}));
  EXPECT_EQ(put(vm, body.dump()).code(), "SubnetsNotInSameVnet");
  make(nic + "2", interface_body("sub", ""));
  auto two = body;
  interfaces(two).items()[0].erase("properties");
  EXPECT_EQ(put(vm, two.dump()).code(), "VirtualMachineMustHaveOneNetworkInterfaceAsPrimary");
  make(
      addresses + "/zonal",
      R"({"location":"westeurope","sku":{"name":"Standard"},"zones":["2"],"properties":{"publicIPAllocationMethod":"Static"}})"
  );
  make(nic + "2", interface_body("sub", "zonal"));
  body.set("zones", json::array({"1"}));
  EXPECT_EQ(put(vm, body.dump()).code(), "PublicIPAddressZoneMismatch");
  body.set("zones", json::array({"2"}));
  make(vm, body.dump());
  EXPECT_EQ(
      get(nic + "2").body.at({"properties", "virtualMachine", "id"}).string_or(""),
      subscription_1 + vm
  );
}

TEST_F(azure_machine_rules, data_disks_come_and_go_by_patch) {
  make_machine();
  make_disk_of_its_own("data");
  settle(change_disks(
      "[" + attach("data") +
      R"(,{"lun":1,"name":"new","createOption":"Empty","diskSizeGB":16,"deleteOption":"Delete"}])"
  ));
  EXPECT_EQ(disk_state("data"), "Attached");
  EXPECT_EQ(disk_state("new"), "Attached");
  EXPECT_EQ(get(vm).body.at({"properties", "storageProfile", "dataDisks"}).size(), 2U);
  EXPECT_EQ(
      change_disks(R"([{"lun":0,"name":"another","createOption":"Empty","diskSizeGB":8}])").code(),
      "ConflictingUserInput"
  ) << "the LUN is taken";
  EXPECT_EQ(
      change_disks(
          "[" + attach("data") + R"(,{"lun":1,"name":"new","createOption":"Empty","diskSizeGB":8}])"
      )
          .code(),
      "OperationNotAllowed"
  ) << "disks do not shrink";
  settle(change_disks(
      R"([{"lun":1,"name":"new","createOption":"Empty","diskSizeGB":32,"caching":"ReadOnly"}])"
  ));
  EXPECT_EQ(disk_state("data"), "Unattached") << "left out is detached";
  EXPECT_EQ(get(disks + "/new").body.at({"properties", "diskSizeGB"}).integer(), 32);
  settle(change_disks(
      R"([{"lun":1,"name":"new","toBeDetached":true,"createOption":"Empty","diskSizeGB":32}])"
  ));
  EXPECT_EQ(disk_state("new"), "Unattached");
  settle(change(R"({"licenseType":"RHEL_BYOS"})"));
  EXPECT_EQ(get(vm).body.at({"properties", "storageProfile", "dataDisks"}).size(), 0U);
}

TEST_F(azure_machine_rules, a_disk_on_its_way_out_cannot_be_attached_yet) {
  make_machine();
  make_disk_of_its_own("data");
  settle(change_disks("[" + attach("data") + "]"));
  make(nic + "2", interface_body("sub", ""));
  auto second = machine_body();
  os_disk(second).set("name", "vm2-os");
  interfaces(second).items()[0].set("id", subscription_1 + nic + "2");
  storage(second).set("dataDisks", parsed("[" + attach("data") + "]"));
  EXPECT_EQ(put(vm + "2", second.dump()).code(), "ConflictingUserInput");
  EXPECT_EQ(remove(disks + "/data").code(), "OperationNotAllowed");
  azure_.set_timing(timing::fast());
  const auto begun = change_disks("[]");
  EXPECT_EQ(put(vm + "2", second.dump()).code(), "AttachDiskWhileBeingDetached");
  advance(std::chrono::seconds(2));
  EXPECT_EQ(settle(begun).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(put(vm + "2", second.dump()).status, 201);
}

TEST_F(azure_machine_rules, delete_options_may_be_changed_later) {
  make_machine();
  make_disk_of_its_own("data");
  settle(change_disks("[" + attach("data") + "]"));
  settle(change(
      R"({"storageProfile":{"osDisk":{"deleteOption":"Detach"},"dataDisks":[{"lun":0,"name":"data","createOption":"Attach","deleteOption":"Delete","managedDisk":{"id":")" +
      subscription_1 + disks + R"(/data"}}]},"networkProfile":{"networkInterfaces":[{"id":")" +
      subscription_1 + nic + R"(","properties":{"primary":true,"deleteOption":"Detach"}}]}})"
  ));
  settle(remove(vm));
  EXPECT_EQ(get(disks + "/vm-os").status, 200);
  EXPECT_EQ(get(disks + "/data").status, 404);
  EXPECT_EQ(get(nic).status, 200);
  EXPECT_EQ(get(ip).status, 200);
}

TEST_F(azure_machine_rules, interfaces_are_swapped_only_while_deallocated) {
  make_machine();
  make(nic + "2", interface_body("sub", ""));
  const std::string swap = R"({"networkProfile":{"networkInterfaces":[{"id":")" + subscription_1 +
                           nic + R"(2","properties":{"primary":true}}]}})";
  EXPECT_EQ(change(swap).code(), "AddingOrDeletingNetworkInterfacesOnARunningVirtualMachine");
  stop();
  EXPECT_EQ(change(R"({"networkProfile":{"networkInterfaces":[]}})").code(), "InvalidParameter");
  settle(change(swap));
  EXPECT_EQ(get(nic).body["properties"].find("virtualMachine"), nullptr);
  EXPECT_EQ(get(nic).body["properties"].find("macAddress"), nullptr);
  EXPECT_FALSE(get(nic + "2").body.at({"properties", "macAddress"}).string_or("").empty());
  EXPECT_EQ(remove(nic).status, 202);
}

TEST_F(azure_machine_rules, a_create_may_describe_its_interfaces) {
  make_network();
  auto body = machine_body();
  const std::string subnet = subscription_1 + net + "/subnets/sub";
  json profile = parsed(
      R"({"networkApiVersion":"2022-11-01","networkInterfaceConfigurations":[{"name":"made","properties":{"primary":true,"deleteOption":"Delete","ipConfigurations":[{"name":"ipc","properties":{"primary":true,"subnet":{"id":")" +
      subnet +
      R"("},"publicIPAddressConfiguration":{"name":"address","sku":{"name":"Standard","tier":"Regional"},"properties":{"deleteOption":"Delete","publicIPAllocationMethod":"Static"}}}}]}}]})"
  );
  properties_of(body).set("networkProfile", profile);
  const auto begun = put(vm, body.dump(), {{"if-none-match", "*"}});
  ASSERT_EQ(begun.status, 201) << begun.body.dump();
  settle(begun);
  const auto shown = get(vm).body.at({"properties", "networkProfile"});
  const std::string id = shown["networkInterfaces"][0]["id"].string_or("");
  EXPECT_NE(id.find("/networkInterfaces/made-"), std::string::npos) << shown.dump();
  EXPECT_EQ(shown.find("networkInterfaceConfigurations"), nullptr);
  const auto made = get(id).body;
  const std::string address = made.at({"properties", "ipConfigurations"})[0]
                                  .at({"properties", "publicIPAddress", "id"})
                                  .string_or("");
  EXPECT_NE(address.find("/publicIPAddresses/address-"), std::string::npos);
  EXPECT_FALSE(get(address).body.at({"properties", "ipAddress"}).string_or("").empty());
  settle(remove(vm));
  EXPECT_EQ(get(id).status, 404);
  EXPECT_EQ(get(address).status, 404);
}

TEST_F(azure_machine_rules, a_described_interface_that_cannot_be_made_leaves_nothing) {
  make_network();
  auto body = machine_body();
  properties_of(body).set(
      "networkProfile",
      parsed(
          R"({"networkApiVersion":"2022-11-01","networkInterfaceConfigurations":[{"name":"made","properties":{"ipConfigurations":[{"name":"ipc","properties":{"subnet":{"id":"/nowhere"},"publicIPAddressConfiguration":{"name":"address","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}}}]}}]})"
      )
  );
  EXPECT_EQ(put(vm, body.dump()).code(), "InvalidResourceReference");
  EXPECT_EQ(get(addresses).body["value"].size(), 1U);
  EXPECT_EQ(get(vm).status, 404);
}

TEST_F(azure_machine_rules, a_zone_without_room_fails_the_create_by_its_own_code) {
  make_network();
  seed(R"({"restrictions":[{"size":"Standard_B2s","reason":"AllocationFailed"}]})");
  auto body = machine_body();
  body.set("zones", json::array({"1"}));
  const auto end = settle(put(vm, body.dump()));
  EXPECT_EQ(end.code(), "ZonalAllocationFailed");
  EXPECT_NE(end.message().find("in this zone."), std::string::npos);
}

TEST_F(azure_machine_rules, an_identity_gets_its_ids) {
  make_machine();
  const auto begun = arm("PATCH", vm, parsed(R"({"identity":{"type":"SystemAssigned"}})"));
  settle(begun);
  const auto identity = get(vm).body["identity"];
  EXPECT_FALSE(identity["principalId"].string_or("").empty());
  EXPECT_EQ(identity["tenantId"].string_or(""), tenant_1);
  settle(arm("PATCH", vm, parsed(R"({"identity":{"type":"SystemAssigned"}})")));
  EXPECT_EQ(get(vm).body["identity"], identity) << "as long as its type stays";
  settle(arm("PATCH", vm, parsed(R"({"identity":{"type":"None"}})")));
  EXPECT_EQ(get(vm).body.find("identity"), nullptr);
}

TEST_F(azure_machine_rules, unknown_members_are_refused_in_updates_too) {
  make_machine();
  EXPECT_EQ(change(R"({"hardwareprofle":{"vmSize":"x"}})").code(), "InvalidParameter");
}

} // namespace
} // namespace siteagent::azure_emulator
