// SPDX-License-Identifier: MIT
// Field cases of names, each named by its case.
#include "tests/unit/azure/cases_fixture.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

TEST_F(azure_cases, case_name_01_ids_are_compared_without_case) {
  arm.upper_case_lists = true;
  const fake_call made = create();
  ASSERT_EQ(made.code, SAGENT_OK) << made.message;
  const fake_call again = create(); // after a restart of the agent
  ASSERT_EQ(again.code, SAGENT_OK) << again.message;
  EXPECT_EQ(again.emitted[0]["adopted"].boolean(), true);
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  base::json refs = base::json::array();
  for (const char* uuid_of_row : {"a", "b", "c"}) {
    refs.push_back(base::json::object({{"uuid", uuid_of_row}, {"backend_id", machine_id()}}));
  }
  body.set("resources", refs);
  for (const base::json& row : run(&backend::pull_resources).emitted) {
    EXPECT_EQ(row["presence"].string_or(""), "present");
  }
  std::string shouted = machine_id();
  std::transform(shouted.begin(), shouted.end(), shouted.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  EXPECT_EQ(run(&backend::delete_resource, shouted).code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty());
}

TEST_F(azure_cases, case_name_01_names_of_tags_are_compared_without_case) {
  ASSERT_EQ(create().code, SAGENT_OK);
  for (const std::string& id : arm.ids()) {
    base::json object = arm.get(id);
    if (!object["tags"][uuid_tag].is_null()) {
      object.member_ref("tags").erase(uuid_tag);
      object.member_ref("tags").set("RESOURCE-Uuid", uuid);
      arm.put(id, object);
    }
  }
  EXPECT_EQ(run(&backend::delete_resource, machine_id()).code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty());
}

class azure_case_name_02 : public azure_cases, public testing::WithParamInterface<const char*> {};

TEST_P(azure_case_name_02, case_name_02_an_object_of_the_same_name_is_never_written) {
  shared_group();
  const std::string type = GetParam();
  for (const bool foreign_tag : {false, true}) {
    base::json foreign = tagged("ffffffffffffffffffffffffffffffff");
    if (!foreign_tag) {
      foreign.erase("tags");
    }
    std::vector<std::string> ids;
    for (const char* digits :
         {"01234567", "0123456789abcdef", "0123456789abcdef0123456789abcdef"}) {
      ids.push_back(group_id("shared") + "/providers/" + type + "web-" + digits);
      arm.put(ids.back(), foreign);
    }
    const base::json before = arm.get(ids[0]);
    const fake_call call = create();
    EXPECT_EQ(call.code, SAGENT_E_CONFLICT) << call.message;
    EXPECT_THAT(call.message, HasSubstr(ids.back())); // kind and id
    EXPECT_EQ(call.public_message.find("/subscriptions/"), std::string::npos);
    EXPECT_TRUE(arm.writes().empty());
    EXPECT_EQ(run(&backend::delete_resource).code, SAGENT_OK);
    EXPECT_TRUE(arm.writes().empty());
    EXPECT_EQ(arm.get(ids[0]), before);
  }
}

INSTANTIATE_TEST_SUITE_P(
    kinds,
    azure_case_name_02,
    testing::Values(
        "Microsoft.Compute/virtualMachines/",
        "Microsoft.Network/networkInterfaces/nic",
        "Microsoft.Network/networkSecurityGroups/nsg",
        "Microsoft.Network/publicIPAddresses/pubip",
        "Microsoft.Network/virtualNetworks/net",
        "Microsoft.Compute/disks/osdisk"
    )
);

TEST_F(azure_cases, case_name_02_an_object_that_appears_between_look_and_write_is_left_alone) {
  shared_group();
  const std::string nic =
      object_id("Microsoft.Network/networkInterfaces", "nicweb-01234567", "shared");
  const base::json foreign = tagged("ffffffffffffffffffffffffffffffff");
  prepare = [&](fake_call& c) {
    c.on_checkpoint = [&](const base::json& j) -> sagent_code {
      if (j["phase"].string_or("") == "before" && j["kind"].string_or("") == "network-interface") {
        arm.put(nic, foreign);
      }
      return SAGENT_OK;
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT) << call.message;
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 0U);
  const base::json before = arm.get(nic);
  prepare = {};
  expect_clean_up(2);
  EXPECT_EQ(arm.get(nic), before);
}

TEST_F(azure_cases, case_name_03_every_display_name_gets_a_valid_computer_name) {
  int order = 0;
  for (const std::string& name :
       {std::string("my_vm.01 (test)"),
        std::string("Zoë-Büro"),
        std::string("数据"),
        std::string("-x-"),
        std::string(80, 'n'),
        std::string("20240101"),
        std::string("🚀")}) {
    body.member_ref("resource").set("name", name);
    const std::string key = std::string(31, 'b') + static_cast<char>('0' + order++);
    arm.clear_log();
    const fake_call call = run(&backend::create_resource, "", key);
    ASSERT_EQ(call.code, SAGENT_OK) << name << ": " << call.message;
    const base::json vm = put_body("/virtualMachines/");
    const std::string computer = vm.at({"properties", "osProfile", "computerName"}).string_or("");
    EXPECT_TRUE(computer.size() <= 64 && !computer.empty()) << computer;
    EXPECT_FALSE(std::all_of(computer.begin(), computer.end(), [](char c) {
      return c >= '0' && c <= '9';
    })) << computer;
    EXPECT_EQ(vm["tags"]["display-name"].string_or(""), name);
    arm.clear_log();
    EXPECT_EQ(run(&backend::create_resource, "", key).emitted.at(0)["adopted"].boolean(), true);
    EXPECT_TRUE(arm.writes().empty());
  }
}

TEST_F(azure_cases, case_name_04_user_names_are_judged_before_any_request) {
  for (const std::string& user :
       {std::string("root"),
        std::string("Admin"),
        std::string("User1"),
        std::string("-x"),
        std::string(70, 'u'),
        std::string("support_388945a0"),
        std::string("ann.")}) {
    attribute("username", user);
    const base::json verdict = decision();
    EXPECT_EQ(verdict["decision"].string_or(""), "reject") << user;
    EXPECT_THAT(verdict["reason"].string_or(""), HasSubstr("User name")) << user;
    EXPECT_EQ(create().code, SAGENT_E_INVALID) << user;
  }
  EXPECT_TRUE(arm.log().empty());
  attribute("username", nullptr);
  ASSERT_EQ(create().code, SAGENT_OK); // whoever runs the agent, also root
  EXPECT_EQ(
      put_body("/virtualMachines/").at({"properties", "osProfile", "adminUsername"}).string_or(""),
      "waldur"
  );
}

TEST_F(azure_cases, case_name_05_every_group_that_exists_is_taken) {
  for (const std::string& group :
       {std::string("team.build_rg(1)"), std::string("büro-gruppe"), std::string(90, 'g')}) {
    settings.set("default_resource_group", group);
    arm.put(
        group_id(group),
        base::json::object(
            {{"location", "westeurope"},
             {"properties", base::json::object({{"provisioningState", "Succeeded"}})}}
        )
    );
    open();
    const fake_call call = create();
    ASSERT_EQ(call.code, SAGENT_OK) << group << ": " << call.message;
    EXPECT_THAT(call.emitted[0]["backend_id"].string_or(""), HasSubstr("/" + group + "/"));
    expect_clean_up(1);
    for (const logged& l : arm.log()) {
      EXPECT_EQ(l.path.find_first_of("()"), std::string::npos) << l.path;
      EXPECT_TRUE(std::all_of(l.path.begin(), l.path.end(), [](char c) { return c > 0; }));
    }
    arm.forget(group_id(group));
  }
}

TEST_F(azure_cases, case_name_05_a_group_azure_would_not_make_is_a_local_error) {
  settings.set("default_resource_group", "trailing.");
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_NOT_READY) << call.message;
  EXPECT_THAT(call.message, HasSubstr("ends with a dot"));
  EXPECT_TRUE(arm.writes().empty());
}

} // namespace

} // namespace siteagent::azure::test
