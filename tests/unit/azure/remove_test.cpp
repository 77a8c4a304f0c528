// SPDX-License-Identifier: MIT
#include "tests/unit/azure/fixture.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* other_uuid = "ffffffffffffffffffffffffffffffff";

class azure_remove : public azure_test {
protected:
  void create() {
    const fake_call call = run(&backend::create_resource);
    ASSERT_EQ(call.code, SAGENT_OK) << call.message;
    id = call.emitted[0]["backend_id"].string_or("");
    arm.clear_log();
  }

  void create_in_shared_group() {
    settings.set("default_resource_group", "shared");
    arm.put(
        group_id("shared"),
        base::json::object({{"location", "westeurope"}, {"properties", base::json::object()}})
    );
    create();
  }

  fake_call remove(std::string_view target) { return run(&backend::delete_resource, target); }

  // A machine of an earlier product: no tags at all.
  void make_legacy(const std::string& group) {
    settings.set("default_resource_group", "");
    create();
    for (const std::string& old : arm.ids()) {
      base::json o = arm.get(old);
      o.erase("tags");
      std::string moved = old;
      moved.replace(moved.find("group-0123-web"), 14, group);
      std::string text = o.dump();
      for (std::size_t at = text.find("group-0123-web"); at != std::string::npos;
           at = text.find("group-0123-web", at + 1)) {
        text.replace(at, 14, group);
      }
      renamed.emplace_back(moved, *base::json::parse(text));
    }
    remove(id);
    for (auto& [new_id, object] : renamed) {
      arm.put(new_id, object);
    }
    arm.clear_log();
    id = object_id("Microsoft.Compute/virtualMachines", "web", group);
  }

  base::json untagged() {
    base::json o = tagged();
    o.erase("tags");
    return o;
  }

  std::vector<std::string> deleted_paths() const {
    std::vector<std::string> out;
    for (const logged& l : arm.writes()) {
      if (l.method == "DELETE") {
        out.push_back(l.path.substr(l.path.rfind('/') + 1));
      }
    }
    return out;
  }

  std::string id;
  std::vector<std::pair<std::string, base::json>> renamed;
};

TEST_F(azure_remove, drops_a_dedicated_group_in_one_write) {
  create();
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(deleted_paths(), ElementsAre("group-0123-web"));
  EXPECT_TRUE(arm.ids().empty());
  EXPECT_EQ(call.emitted[0]["remaining"].size(), 0U);
}

TEST_F(azure_remove, knows_its_group_whatever_the_case_azure_writes) {
  create();
  std::string upper = id;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  arm.upper_case_lists = true;
  EXPECT_EQ(remove(upper).code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty());
}

TEST_F(azure_remove, what_is_gone_already_is_done_after_a_second_look) {
  const fake_call call = remove(machine_id());
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.writes().empty());
  EXPECT_GE(arm.count_requests("GET", "/virtualMachines/web?"), 2U);
}

TEST_F(azure_remove, a_foreign_object_in_the_dedicated_group_survives) {
  create();
  const std::string foreign = object_id("Microsoft.Storage/storageAccounts", "precious");
  arm.put(foreign, untagged());
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.has(foreign));
  EXPECT_TRUE(arm.has(group_id()));
  EXPECT_EQ(arm.ids().size(), 2U);
  EXPECT_THAT(call.emitted[0]["remaining"].dump(), HasSubstr("precious"));
}

TEST_F(azure_remove, in_a_shared_group_walks_the_chain_backward) {
  create_in_shared_group();
  arm.cascades = false; // even when Azure forgets the delete options
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      deleted_paths(),
      ElementsAre(
          "web-01234567",
          "nicweb-01234567",
          "nsgweb-01234567",
          "pubipweb-01234567",
          "subnetweb-01234567",
          "netweb-01234567",
          "osdiskweb-01234567"
      )
  );
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(azure_remove, one_machine_of_two_in_a_shared_group) {
  create_in_shared_group();
  const std::string first = id;
  body.set("resource", base::json::object({{"name", "WEB!"}}));
  body.member_ref("tags").set(uuid_tag, other_uuid);
  const fake_call second = run(&backend::create_resource, "", other_uuid);
  ASSERT_EQ(second.code, SAGENT_OK) << second.message;
  EXPECT_NE(second.emitted[0]["backend_id"].string_or(""), first);
  body.set("resource", base::json::object({{"name", "web"}}));
  EXPECT_EQ(remove(first).code, SAGENT_OK);
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  EXPECT_EQ(arm.count("networkInterfaces"), 1U);
  EXPECT_TRUE(arm.has(second.emitted[0]["backend_id"].string_or("")));
  EXPECT_TRUE(arm.has(group_id("shared")));
}

TEST_F(azure_remove, the_setting_of_today_does_not_decide_the_route) {
  create();
  azure.reset();
  settings.set("default_resource_group", "shared");
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty());
}

TEST_F(
    azure_remove, a_legacy_dedicated_group_is_dropped_whole_when_all_of_it_belongs_to_the_machine
) {
  make_legacy("group-abcd-web");
  arm.put(id + "/extensions/agent", untagged());
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(deleted_paths(), ElementsAre("group-abcd-web"));
  EXPECT_TRUE(arm.ids().empty());
}

TEST_F(azure_remove, a_legacy_group_with_other_things_stays) {
  make_legacy("group-abcd-web");
  const std::string foreign =
      object_id("Microsoft.Storage/storageAccounts", "precious", "group-abcd-web");
  arm.put(foreign, untagged());
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.has(foreign));
  EXPECT_EQ(arm.ids().size(), 2U);
}

TEST_F(azure_remove, a_legacy_machine_in_an_operators_group_leaves_the_group) {
  make_legacy("team.build_rg(1)");
  const std::string foreign =
      object_id("Microsoft.Network/networkInterfaces", "nicother", "team.build_rg(1)");
  arm.put(foreign, untagged());
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.has(foreign));
  EXPECT_EQ(arm.ids().size(), 2U);
}

TEST_F(azure_remove, a_group_pattern_alone_with_more_digits_is_no_proof) {
  make_legacy("group-0123456789abcdef-web");
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(arm.ids(), ElementsAre(group_id("group-0123456789abcdef-web")));
}

TEST_F(azure_remove, another_resources_machine_is_not_touched) {
  create();
  const fake_call call = run(&backend::delete_resource, id, other_uuid);
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_remove, refuses_ids_of_other_subscriptions_and_no_ids) {
  std::string foreign = machine_id();
  foreign.replace(foreign.find("11111111"), 8, "99999999");
  for (const std::string& target : {foreign, std::string("TICKET-4711")}) {
    const fake_call call = remove(target);
    EXPECT_EQ(call.code, SAGENT_E_INVALID);
    EXPECT_TRUE(arm.log().empty());
  }
}

struct absence_row {
  const char* name;
  int status;
  const char* body;
};

class azure_remove_absence : public azure_remove,
                             public testing::WithParamInterface<absence_row> {};

TEST_P(azure_remove_absence, is_not_proven_by_every_404) {
  create();
  arm.script({"GET", "/virtualMachines/", -1, 0, false, GetParam().status, GetParam().body, {}});
  const fake_call call = remove(id);
  EXPECT_NE(call.code, SAGENT_OK);
  EXPECT_NE(call.code, SAGENT_E_NOT_FOUND);
  EXPECT_TRUE(arm.writes().empty());
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    azure_remove_absence,
    testing::Values(
        absence_row{
            "subscription", 404, R"({"error":{"code":"SubscriptionNotFound","message":"x"}})"},
        absence_row{
            "namespace", 404, R"({"error":{"code":"InvalidResourceNamespace","message":"x"}})"},
        absence_row{"html", 404, "<html>no</html>"},
        absence_row{"empty", 404, ""},
        absence_row{"forbidden", 403, R"({"error":{"code":"AuthorizationFailed","message":"x"}})"},
        absence_row{"down", 503, ""}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

TEST_F(azure_remove, clean_up_takes_everything_of_a_half_made_chain_in_reverse) {
  settings.set("default_resource_group", "shared");
  arm.put(group_id("shared"), base::json::object({{"properties", base::json::object()}}));
  arm.script(
      {"PUT", "/virtualMachines/", 1, 0, false, 409, fake_arm::error_text("SkuNotAvailable"), {}}
  );
  EXPECT_EQ(run(&backend::create_resource).code, SAGENT_E_REFUSED);
  arm.clear_log();
  body.set("keep_working_machine", true);
  const fake_call call = remove("");
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      deleted_paths(),
      ElementsAre(
          "nicweb-01234567",
          "nsgweb-01234567",
          "pubipweb-01234567",
          "subnetweb-01234567",
          "netweb-01234567"
      )
  );
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(azure_remove, clean_up_works_while_lists_are_behind) {
  arm.script(
      {"PUT", "/virtualMachines/", 1, 0, false, 409, fake_arm::error_text("SkuNotAvailable"), {}}
  );
  EXPECT_EQ(run(&backend::create_resource).code, SAGENT_E_REFUSED);
  arm.lists_know_tags = false;
  EXPECT_EQ(remove("").code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty());
}

TEST_F(azure_remove, clean_up_never_takes_a_working_machine) {
  create();
  body.set("keep_working_machine", true);
  const fake_call call = remove("");
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT);
  EXPECT_THAT(call.message, HasSubstr("adopt"));
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_remove, clean_up_takes_a_failed_machine) {
  arm.fail_operation("/virtualmachines/", "OSProvisioningClientError");
  EXPECT_EQ(run(&backend::create_resource).code, SAGENT_E_PERMANENT);
  body.set("keep_working_machine", true);
  EXPECT_EQ(remove("").code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty());
}

TEST_F(azure_remove, clean_up_of_nothing_is_done) {
  const fake_call call = remove("");
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_remove, clean_up_deletes_nothing_while_it_cannot_see) {
  create();
  arm.script({"GET", "/resources?", -1, 0, false, 503, "", {}});
  EXPECT_EQ(remove("").code, SAGENT_E_TRANSIENT);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_remove, an_empty_or_other_tag_value_is_not_ours) {
  create_in_shared_group();
  arm.put(object_id("Microsoft.Compute/virtualMachines", "build-2", "shared"), tagged(other_uuid));
  arm.put(object_id("Microsoft.Compute/virtualMachines", "build-3", "shared"), tagged(""));
  EXPECT_EQ(remove("").code, SAGENT_OK);
  EXPECT_EQ(arm.ids().size(), 3U);
}

TEST_F(azure_remove, waits_for_an_interface_azure_keeps_reserved) {
  settings.set("default_resource_group", "shared");
  arm.put(group_id("shared"), base::json::object({{"properties", base::json::object()}}));
  arm.script(
      {"PUT", "/virtualMachines/", 1, 0, false, 409, fake_arm::error_text("SkuNotAvailable"), {}}
  );
  run(&backend::create_resource);
  arm.script(
      {"DELETE",
       "/networkInterfaces/",
       10,
       0,
       false,
       400,
       fake_arm::error_text("NicReservedForAnotherVm"),
       {}}
  );
  const auto before = clock.steady();
  const fake_call call = remove("");
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_GE(clock.steady() - before, std::chrono::seconds(150));
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(azure_remove, retries_what_is_still_in_use_for_a_while) {
  create_in_shared_group();
  arm.script(
      {"DELETE",
       "/networkSecurityGroups/",
       3,
       0,
       false,
       400,
       fake_arm::error_text("InUseNetworkSecurityGroupCannotBeDeleted"),
       {}}
  );
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(azure_remove, a_lock_is_reported_and_the_rest_goes_on) {
  create_in_shared_group();
  arm.cascades = false;
  arm.script(
      {"DELETE",
       "/publicIPAddresses/",
       -1,
       0,
       false,
       409,
       fake_arm::error_text("ScopeLocked", "scope '/x' is locked"),
       {}}
  );
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << "the order waits until a person removed the lock";
  EXPECT_EQ(call.retry_after_ms, 3'600'000);
  EXPECT_EQ(arm.count_requests("DELETE", "/publicIPAddresses/"), 1U);
  EXPECT_FALSE(arm.has(object_id("Microsoft.Network/virtualNetworks", "netweb-01234567", "shared"))
  );
  EXPECT_THAT(call.detail["not_removed"].dump(), HasSubstr("pubipweb-01234567"));
  EXPECT_THAT(call.message, HasSubstr("locked"));
}

TEST_F(azure_remove, a_machine_that_stays_keeps_what_it_holds) {
  create_in_shared_group();
  arm.script(
      {"DELETE",
       "/virtualMachines/",
       -1,
       0,
       false,
       409,
       fake_arm::error_text("ScopeLocked", "scope '/x' is locked"),
       {}}
  );
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT);
  EXPECT_EQ(arm.count_requests("DELETE", ""), 1U);
  EXPECT_GE(call.detail["not_removed"].size(), 5U);
}

TEST_F(azure_remove, a_404_to_a_delete_is_confirmed_before_what_it_holds_is_tried) {
  create_in_shared_group();
  arm.script(
      {"DELETE",
       "/virtualMachines/",
       1,
       0,
       false,
       404,
       fake_arm::error_text("ResourceNotFound"),
       {}}
  );
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_EQ(arm.count_requests("DELETE", "/virtualMachines/"), 2U);
  EXPECT_LE(arm.count_requests("DELETE", "/networkInterfaces/"), 1U) << "tried while in use";
}

TEST_F(azure_remove, a_condition_nobody_set_is_tried_again) {
  create_in_shared_group();
  arm.script({"DELETE", "", 1, 0, false, 412, fake_arm::error_text("PreconditionFailed"), {}});
  EXPECT_EQ(remove(id).code, SAGENT_OK);
}

TEST_F(azure_remove, a_list_that_is_not_found_shows_nothing_and_proves_nothing) {
  create_in_shared_group();
  for (const char* list : {"/resources?", "/resourcegroups?"}) {
    arm.script({"GET", list, -1, 0, false, 404, fake_arm::error_text("ResourceNotFound"), {}});
    const fake_call call = remove(id);
    EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << list << ": 'not found' would close the order";
    arm.clear_scripts();
  }
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(azure_remove, a_machine_is_looked_for_twice_before_what_it_holds_is_tried) {
  create_in_shared_group();
  arm.script(
      {"GET", "/virtualMachines/", 1, 1, false, 404, fake_arm::error_text("ResourceNotFound"), {}}
  );
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_EQ(arm.ids().size(), 1U);
  EXPECT_LE(arm.count_requests("DELETE", "/networkInterfaces/"), 1U);
}

TEST_F(azure_remove, credentials_refused_end_the_walk_at_once) {
  create_in_shared_group();
  arm.script(
      {"DELETE", "", -1, 0, false, 401, fake_arm::error_text("InvalidAuthenticationToken"), {}}
  );
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_E_AUTH);
  EXPECT_EQ(arm.count_requests("DELETE", ""), 2U);
  EXPECT_GE(call.detail["not_removed"].size(), 5U);
}

TEST_F(azure_remove, a_lost_answer_to_a_delete_is_looked_up) {
  create();
  arm.script({"DELETE", "", 1, 0, true, std::nullopt, "", {}});
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
}

TEST_F(azure_remove, a_blocked_group_is_emptied_one_by_one) {
  create();
  arm.script(
      {"DELETE",
       "/resourceGroups/group-0123-web?",
       -1,
       0,
       false,
       409,
       fake_arm::error_text("ResourceGroupDeletionBlocked"),
       {}}
  );
  const fake_call call = remove(id);
  EXPECT_NE(call.code, SAGENT_OK);
  EXPECT_THAT(arm.ids(), ElementsAre(group_id()));
}

TEST_F(azure_remove, a_checkpoint_that_says_stop_stops) {
  create_in_shared_group();
  prepare = [](fake_call& c) {
    c.on_checkpoint = [](const base::json& j) -> sagent_code {
      return j["kind"].string_or("") == "network-security-group" ? SAGENT_E_CANCELLED : SAGENT_OK;
    };
  };
  EXPECT_EQ(remove(id).code, SAGENT_E_CANCELLED);
  EXPECT_TRUE(
      arm.has(object_id("Microsoft.Network/networkSecurityGroups", "nsgweb-01234567", "shared"))
  );
  EXPECT_TRUE(arm.has(object_id("Microsoft.Network/virtualNetworks", "netweb-01234567", "shared")));
  prepare = {};
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(azure_remove, an_object_out_of_the_list_goes_only_with_our_tags) {
  create_in_shared_group();
  const std::string stray = object_id("Microsoft.Network/publicIPAddresses", "stray", "shared");
  base::json o = tagged();
  o.set("tags", body["tags"]);
  arm.put(stray, o);
  EXPECT_EQ(run(&backend::delete_resource, stray).code, SAGENT_OK);
  EXPECT_FALSE(arm.has(stray));
  arm.put(stray, tagged(other_uuid));
  EXPECT_EQ(run(&backend::delete_resource, stray).code, SAGENT_E_CONFLICT);
  EXPECT_TRUE(arm.has(stray));
}

TEST_F(azure_remove, a_group_out_of_the_list_goes_only_when_it_is_empty) {
  create();
  const std::string group = id.substr(0, id.find("/providers/"));
  EXPECT_EQ(run(&backend::delete_resource, group).code, SAGENT_E_CONFLICT);
  EXPECT_TRUE(arm.has(group));
  EXPECT_TRUE(arm.has(id));
}

TEST_F(azure_remove, objects_are_listed_in_an_order_in_which_they_can_be_deleted) {
  create();
  body.set("objects", true);
  std::vector<std::string> kinds;
  const fake_call listed = run(&backend::list_resources);
  for (const base::json& row : listed.emitted) {
    kinds.push_back(row["kind"].string_or(""));
  }
  ASSERT_GE(kinds.size(), 5U);
  EXPECT_EQ(kinds.front(), "virtual-machine");
  EXPECT_EQ(kinds[1], "network-interface");
  EXPECT_EQ(kinds.back(), "resource-group");
}

TEST_F(azure_remove, deleting_a_machine_makes_no_other_write_on_it) {
  create_in_shared_group();
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  for (const logged& l : arm.writes()) {
    EXPECT_EQ(l.method, "DELETE") << l.path;
  }
}

} // namespace

} // namespace siteagent::azure::test
