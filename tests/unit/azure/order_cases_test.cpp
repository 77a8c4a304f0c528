// SPDX-License-Identifier: MIT
// Field cases of images, addresses, disks and tags, each named by its case.
#include "tests/unit/azure/cases_fixture.hpp"

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

TEST_F(azure_cases, case_img_01_a_generation_the_size_cannot_start_is_refused_before_any_write) {
  attribute("size", "Standard_V1only");
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT);
  EXPECT_THAT(call.public_message, HasSubstr("choose an image of generation V1"));
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_cases, case_img_01_without_capabilities_azures_400_is_final_and_cleaned_up) {
  arm.script(answer("GET", "/skus?", 403, "AuthorizationFailed", -1));
  arm.script(
      {"PUT",
       "/virtualMachines/",
       -1,
       0,
       false,
       400,
       fake_arm::error_text(
           "BadRequest", "The selected VM size 'X' cannot boot Hypervisor Generation '1'."
       ),
       {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT) << call.message;
  EXPECT_THAT(call.public_message, HasSubstr("combination of size and image"));
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
  expect_clean_up();
}

TEST_F(azure_cases, an_answer_that_is_no_list_of_images_is_asked_for_again) {
  for (const char* text : {"{}", R"({"value":{"x":1}})", "7"}) {
    arm.script({"GET", "/versions?", 1, 0, false, 200, text, {}});
    const fake_call call = create();
    EXPECT_EQ(call.code / 100, 1) << text << " " << call.code << " " << call.message;
    EXPECT_TRUE(arm.writes().empty()) << text;
  }
}

TEST_F(azure_cases, case_img_02_a_missing_image_is_explained_and_latest_is_recorded) {
  arm.script(
      {"GET",
       "/northeurope/publishers/Canonical/artifacttypes/vmimage/offers/jammy/skus/22_04-lts/"
       "versions?",
       -1,
       0,
       false,
       200,
       "[]",
       {}}
  );
  arm.script(answer("GET", "/skus?", 403, "AuthorizationFailed", -1));
  attribute("location", "northeurope");
  const fake_call missing = create();
  EXPECT_EQ(missing.code, SAGENT_E_PERMANENT);
  EXPECT_THAT(
      missing.public_message,
      HasSubstr("no image 'Canonical:jammy:22_04-lts:latest' in northeurope")
  );
  EXPECT_TRUE(arm.writes().empty());
  attribute("location", "westeurope");
  const fake_call made = create();
  ASSERT_EQ(made.code, SAGENT_OK) << made.message;
  EXPECT_EQ(
      put_body("/virtualMachines/")
          .at({"properties", "storageProfile", "imageReference", "version"})
          .string_or(""),
      "22.04.10"
  );
  EXPECT_EQ(
      made.emitted[0]["metadata"]["virtual_machine"]["image"].string_or(""),
      "Canonical:jammy:22_04-lts:22.04.10"
  );
}

TEST_F(azure_cases, case_img_02_a_withdrawn_version_is_refused_before_any_write) {
  arm.script(
      {"GET",
       "/versions/22.04.10?",
       1,
       0,
       false,
       200,
       R"({"name":"22.04.10","properties":{"imageDeprecationStatus":{"imageState":"Deprecated"}}})",
       {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT) << call.message;
  EXPECT_THAT(call.public_message, HasSubstr("withdrawn"));
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_cases, case_img_03_restrictions_count_by_their_type) {
  const auto sku = [](const std::string& name, const std::string& restrictions) {
    return R"({"resourceType":"virtualMachines","name":")" + name +
           R"(","locations":["westeurope"],"restrictions":[)" + restrictions + "]}";
  };
  const std::string page =
      R"({"value":[)" +
      sku("Standard_Location",
          R"({"type":"Location","values":["WestEurope"],"restrictionInfo":{"locations":["WestEurope"]},"reasonCode":"NotAvailableForSubscription"})"
      ) +
      "," +
      sku("Standard_Quota",
          R"({"type":"Location","values":["westeurope"],"reasonCode":"QuotaId"})") +
      "," +
      sku("Standard_Zone",
          R"({"type":"Zone","values":["westeurope"],"restrictionInfo":{"locations":["westeurope"],"zones":["1","3"]},"reasonCode":"NotAvailableForSubscription"})"
      ) +
      "," +
      sku("Standard_Elsewhere",
          R"({"type":"Location","values":["eastus"],"reasonCode":"QuotaId"})") +
      "," + sku("Standard_Unknown", R"({"type":"Moon","reasonCode":"FullMoon"})") + "]}";
  arm.script({"GET", "/skus?", -1, 0, false, 200, page, {}});
  for (const auto& [size, reason] :
       {std::pair{"Standard_Location", "NotAvailableForSubscription"},
        {"Standard_Quota", "QuotaId"},
        {"Standard_Unknown", "FullMoon"}}) {
    attribute("size", size);
    const fake_call call = create();
    EXPECT_EQ(call.code, SAGENT_E_REFUSED) << size;
    EXPECT_THAT(call.public_message, HasSubstr(reason));
    EXPECT_TRUE(arm.writes().empty());
  }
  for (const char* size : {"Standard_Zone", "Standard_Elsewhere"}) {
    attribute("size", size);
    EXPECT_EQ(create().code, SAGENT_OK) << size;
    expect_clean_up();
  }
}

TEST_F(azure_cases, case_img_04_disk_and_security_refusals_are_final_and_cleaned_up) {
  const std::string disk =
      R"({"error":{"code":"OperationNotAllowed","target":"osDisk.diskSizeGB","message":"The specified disk size 20 GB is smaller than the size of the corresponding disk in the VM image: 30 GB."}})";
  const std::string security = fake_arm::error_text(
      "BadRequest", "Use of TrustedLaunch setting is not supported for the provided image."
  );
  for (const auto& [status, text] : {std::pair{409, disk}, {400, security}}) {
    arm.clear_log();
    arm.script({"PUT", "/virtualMachines/", 1, 0, false, status, text, {}});
    const fake_call call = create();
    EXPECT_EQ(call.code, SAGENT_E_PERMANENT) << call.message;
    EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
    expect_clean_up();
  }
}

TEST_F(azure_cases, case_net_01_addresses_are_standard_and_static) {
  ASSERT_EQ(create().code, SAGENT_OK);
  const base::json address = put_body("/publicIPAddresses/");
  EXPECT_EQ(address["sku"]["name"].string_or(""), "Standard");
  EXPECT_EQ(address["properties"]["publicIPAllocationMethod"].string_or(""), "Static");
  EXPECT_EQ(address.find("zones"), nullptr);
}

TEST_F(azure_cases, case_net_01_a_spent_address_quota_is_told_with_its_figures) {
  arm.addresses_limit = 0;
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_QUOTA);
  EXPECT_THAT(call.public_message, HasSubstr("public addresses"));
  EXPECT_THAT(call.public_message, HasSubstr("0 of 0 used"));
  EXPECT_TRUE(arm.writes().empty());
  arm.addresses_limit = 10;
  clock.advance(std::chrono::hours(1));
  arm.script(
      {"PUT",
       "/publicIPAddresses/",
       1,
       0,
       false,
       400,
       fake_arm::error_text(
           "PublicIPCountLimitReached", "Cannot create more than 10 public IP addresses"
       ),
       {}}
  );
  EXPECT_EQ(create().code, SAGENT_E_QUOTA);
  expect_clean_up();
}

TEST_F(azure_cases, case_net_02_what_is_no_address_range_never_becomes_a_rule) {
  for (const char* text :
       {"<html><body>login</body></html>",
        "203.0.113.7\n203.0.113.8",
        "203.0.113.7:443",
        "010.0.0.1",
        "",
        "203.0.113.7/",
        "*"}) {
    settings.set("allowed_ssh_ranges", base::json::array({text}));
    EXPECT_FALSE(parse_settings(settings.dump())) << text;
  }
  settings.set("allowed_ssh_ranges", "203.0.113.7");
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(
      put_body("/networkSecurityGroups/"
      )["properties"]["securityRules"][0]["properties"]["sourceAddressPrefixes"]
          .dump(),
      R"(["203.0.113.7"])"
  );
}

TEST_F(azure_cases, case_leak_03_disk_interface_address_and_group_go_with_the_machine) {
  for (const bool in_shared : {false, true}) {
    if (in_shared) {
      shared_group();
      open();
    }
    for (const bool cascades : {true, false}) {
      arm.cascades = cascades; // a disk may survive in spite of its delete option
      const fake_call made = create();
      ASSERT_EQ(made.code, SAGENT_OK) << made.message;
      EXPECT_EQ(arm.count("disks"), 1U);
      const std::string id = made.emitted[0]["backend_id"].string_or("");
      const fake_call gone = run(&backend::delete_resource, id);
      EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
      EXPECT_EQ(arm.ids().size(), in_shared ? 1U : 0U);
    }
  }
}

TEST_F(azure_cases, case_leak_03_a_machine_made_without_delete_options_leaves_nothing) {
  shared_group();
  const fake_call made = create();
  const std::string id = made.emitted.at(0)["backend_id"].string_or("");
  base::json vm = arm.get(id);
  base::json& p = vm.member_ref("properties");
  p.member_ref("storageProfile").member_ref("osDisk").erase("deleteOption");
  p.member_ref("networkProfile").member_ref("networkInterfaces").items().at(0).erase("properties");
  arm.put(id, vm);
  EXPECT_EQ(run(&backend::delete_resource, id).code, SAGENT_OK);
  EXPECT_EQ(arm.ids().size(), 1U);
}

// W28.
TEST_F(azure_cases, an_image_with_a_purchase_plan_is_ordered_with_it) {
  const std::string image =
      R"({"name":"22.04.10","properties":{"plan":{"publisher":"p","product":"o","name":"s"}}})";
  arm.script({"GET", "/versions/22.04.10?", 1, 0, false, 200, image, {}});
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(
      put_body("/virtualMachines/")["plan"].dump(), R"({"publisher":"p","product":"o","name":"s"})"
  );
}

TEST_F(azure_cases, terms_that_were_not_accepted_name_the_image_to_the_operator) {
  arm.script(answer("PUT", "/virtualMachines/", 400, "MarketplacePurchaseEligibilityFailed"));
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT);
  EXPECT_THAT(call.message, HasSubstr("terms"));
  EXPECT_THAT(call.message, HasSubstr("Canonical:jammy:22_04-lts"));
  EXPECT_EQ(call.public_message.find("az "), std::string::npos);
}

TEST_F(azure_cases, a_size_azure_refuses_is_looked_up_again_for_the_next_order) {
  for (const char* code : {"SkuNotAvailable", "InvalidParameter"}) {
    arm.clear_log();
    arm.script(answer("PUT", "/virtualMachines/", 409, code));
    EXPECT_NE(create().code, SAGENT_OK);
    expect_clean_up();
    arm.clear_log();
    EXPECT_EQ(create().code, SAGENT_OK);
    EXPECT_EQ(arm.count_requests("GET", "/skus?"), 1U) << code;
    EXPECT_EQ(arm.count_requests("GET", "/versions"), 2U) << code;
    expect_clean_up();
    arm.clear_log();
    EXPECT_EQ(create().code, SAGENT_OK);
    EXPECT_EQ(arm.count_requests("GET", "/skus?"), 0U) << code;
    expect_clean_up();
  }
}

TEST_F(azure_cases, tags_of_the_operator_reach_groups_and_disks_and_never_win_over_ours) {
  settings.set("tags", *base::json::parse(R"({"cost-center":"42","Managed-By":"somebody"})"));
  settings.set("default_resource_group", "shared");
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(arm.get(group_id("shared"))["tags"]["cost-center"].string_or(""), "42");
  const base::json disk =
      arm.get(object_id("Microsoft.Compute/disks", "osdiskweb-01234567", "shared"));
  EXPECT_EQ(disk["tags"]["cost-center"].string_or(""), "42");
  EXPECT_EQ(disk["tags"][uuid_tag].string_or(""), uuid);
  const base::json tags = put_body("/virtualMachines/")["tags"];
  EXPECT_EQ(tags["managed-by"].string_or(""), "agent");
  EXPECT_EQ(tags.find("Managed-By"), nullptr);
  const std::size_t patches = arm.count_requests("PATCH", "/disks/");
  EXPECT_EQ(patches, 1U);
  EXPECT_EQ(create().code, SAGENT_OK); // adopted, and tagged already
  EXPECT_EQ(arm.count_requests("PATCH", "/disks/"), patches);
  expect_clean_up(1);
}

TEST_F(azure_cases, a_disk_that_cannot_be_tagged_costs_no_machine) {
  settings.set("tags", *base::json::parse(R"({"cost-center":"42"})"));
  arm.script(answer("PATCH", "/disks/", 403, "AuthorizationFailed"));
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST_F(azure_cases, without_tags_of_the_operator_the_disk_is_not_touched) {
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(arm.count_requests("GET", "/disks/"), 0U);
  EXPECT_EQ(arm.count_requests("PATCH", ""), 0U);
}

TEST_F(azure_cases, tags_a_policy_adds_do_not_disturb_adoption_or_deletion) {
  settings.set("tags", *base::json::parse(R"({"cost-center":"42"})"));
  ASSERT_EQ(create().code, SAGENT_OK);
  for (const std::string& id : arm.ids()) {
    base::json object = arm.get(id);
    object.member_ref("tags").set("Policy-Owner", "central IT");
    object.member_ref("tags").set("cost-center", "0");
    arm.put(id, object);
  }
  const fake_call again = create();
  ASSERT_EQ(again.code, SAGENT_OK) << again.message;
  EXPECT_EQ(again.emitted[0]["adopted"].boolean(), true);
  expect_clean_up();
}

} // namespace

} // namespace siteagent::azure::test
