// SPDX-License-Identifier: MIT
// Machines that the plugin's predecessors made are managed as they are; ours are told apart by
// their tags.
#include "tests/unit/azure/taken_over.hpp"

namespace siteagent::azure::test {

namespace {

using base::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class azure_taken_over : public taken_over_machine {
protected:
  void list_body() {
    body = *json::parse(
        R"({"tags":{"offering-uuid":"0ff","managed-by":"agent"},"uuid_tag":"resource-uuid"})"
    );
  }
};

TEST_F(azure_taken_over, machines_are_no_part_of_the_list_which_tells_project_and_limits) {
  take_over("group-1a2b-old", "old");
  body.member_ref("tags").set("project-slug", "physics");
  ASSERT_EQ(create().code, SAGENT_OK);
  list_body();
  body.set("components", *json::parse(R"({"cpu":{"unit_factor":"1"}})"));
  const fake_call call = run(&backend::list_resources);
  ASSERT_EQ(call.emitted.size(), 1U);
  const json& row = call.emitted[0];
  EXPECT_EQ(row["backend_id"].string_or(""), machine_id());
  EXPECT_EQ(row["tags"]["project-slug"].string_or(""), "physics");
  EXPECT_EQ(row["limits"].dump(), R"({"cpu":"1"})");
}

TEST_F(azure_taken_over, a_list_without_components_asks_for_no_sizes) {
  ASSERT_EQ(create().code, SAGENT_OK);
  azure.reset();
  list_body();
  arm.clear_log();
  EXPECT_EQ(run(&backend::list_resources).emitted.at(0).find("limits"), nullptr);
  EXPECT_EQ(arm.count_requests("GET", "/vmSizes"), 0U);
}

TEST_F(azure_taken_over, metadata_have_the_shape_they_always_had) {
  ask_for({take_over("group-1a2b-old", "old")});
  const json row = run(&backend::pull_resources).emitted.at(0);
  EXPECT_EQ(row["metadata"]["backend_type"].string_or(""), "azure");
  const json& machine = row["metadata"]["virtual_machine"];
  for (const auto& [key, value] :
       {std::pair{"id", row["backend_id"].string_or("-")},
        {"name", "old"},
        {"location", "westeurope"},
        {"size", "Standard_B1s"},
        {"power_state", "running"},
        {"public_ip", "203.0.113.77"},
        {"private_ip", "10.0.0.7"}}) {
    EXPECT_EQ(machine[key].string_or(""), value) << key;
  }
}

// Where such a machine may lie, and whether its group goes with it.
struct legacy_place {
  const char* what;
  const char* group;
  const char* name;
  bool group_goes;
};

class azure_taken_over_at : public azure_taken_over,
                            public testing::WithParamInterface<legacy_place> {};

TEST_P(azure_taken_over_at, can_be_metered_paused_restored_and_terminated) {
  const auto& [what, group, name, group_goes] = GetParam();
  const std::string id = take_over(group, name);
  const std::string neighbour = group_goes ? "" : take_over(group, "other");
  const std::size_t own = neighbour.empty() ? 0 : arm.ids().size() / 2 + 1;

  ask_for({id});
  const json usage = run(&backend::report_usage).emitted.at(0);
  EXPECT_EQ(usage["total"]["cpu"].string_or(""), "1");
  EXPECT_EQ(usage["total"]["ram"].string_or(""), "1");

  EXPECT_EQ(run(&backend::pause, id).emitted.at(0)["power"].string_or(""), "deallocated");
  EXPECT_EQ(run(&backend::pull_resources).emitted.at(0)["power"].string_or(""), "deallocated");
  EXPECT_EQ(run(&backend::restore, id).emitted.at(0)["power"].string_or(""), "running");
  EXPECT_EQ(run(&backend::set_resource_limits, id).code, SAGENT_E_UNSUPPORTED);

  const fake_call gone = remove(id);
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_FALSE(arm.has(id));
  EXPECT_EQ(arm.ids().size(), own);
  EXPECT_EQ(arm.has(group_id(group)), !group_goes);
  EXPECT_EQ(remove(id).code, SAGENT_OK); // once more is done as well
}

INSTANTIATE_TEST_SUITE_P(
    places,
    azure_taken_over_at,
    testing::Values(
        legacy_place{"own_group", "group-1a2b-old", "old", true},
        legacy_place{"own_group_in_capitals", "GROUP-1A2B-OLD", "old", true},
        legacy_place{"machine_in_capitals", "group-1a2b-old", "OLD", true},
        legacy_place{"shared_group", "Waldur_Machines", "old-0123abcd", false},
        legacy_place{"group_of_another_pattern", "group-old", "old", false}
    ),
    [](const auto& row) { return std::string(row.param.what); }
);

TEST_F(azure_taken_over, a_shared_group_is_emptied_backward_and_the_disk_that_survives_goes_last) {
  const std::string id = take_over("shared", "old");
  ASSERT_EQ(remove(id).code, SAGENT_OK);
  std::vector<std::string> deleted;
  for (const logged& l : arm.writes()) {
    deleted.push_back(l.method + " " + l.path.substr(l.path.rfind('/') + 1));
  }
  EXPECT_THAT(
      deleted,
      ElementsAre(
          "DELETE old",
          "DELETE nicold",
          "DELETE nsgold",
          "DELETE pubipold",
          "DELETE subnetold",
          "DELETE netold",
          "DELETE old_OsDisk_1_0a1b2c"
      )
  );
  EXPECT_THAT(arm.ids(), ElementsAre(group_id("shared")));
}

TEST_F(azure_taken_over, companions_that_do_not_exist_are_ignored) {
  for (const std::string group : {"shared", "group-1a2b-old"}) {
    const std::string id = take_over(group, "old");
    arm.forget(object_id("Microsoft.Network/networkSecurityGroups", "nsgold", group));
    arm.forget(object_id("Microsoft.Network/publicIPAddresses", "pubipold", group));
    ask_for({id});
    const json row = run(&backend::pull_resources).emitted.at(0);
    EXPECT_EQ(row["presence"].string_or(""), "present");
    EXPECT_TRUE(row["metadata"]["virtual_machine"]["public_ip"].is_null());
    const fake_call gone = remove(id);
    EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  }
  EXPECT_THAT(arm.ids(), ElementsAre(group_id("shared")));
}

TEST_F(azure_taken_over, what_a_lost_machine_left_goes_by_its_names) {
  const std::string id = take_over("shared", "old");
  arm.forget(id);
  arm.forget(object_id("Microsoft.Compute/disks", "old_OsDisk_1_0a1b2c", "shared"));
  const fake_call gone = remove(id);
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_THAT(arm.ids(), ElementsAre(group_id("shared")));
}

TEST_F(azure_taken_over, names_decide_nothing_over_objects_that_are_tagged) {
  const std::string id = take_over("group-1a2b-old", "old");
  const std::string theirs =
      object_id("Microsoft.Network/publicIPAddresses", "pubipold", "group-1a2b-old");
  json address = arm.get(theirs);
  address.set("tags", json::object({{uuid_tag, std::string(32, 'f')}}));
  arm.put(theirs, address);
  const fake_call gone = remove(id);
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_TRUE(arm.has(theirs));
  EXPECT_THAT(gone.emitted[0]["remaining"].dump(), HasSubstr("pubipold"));
}

TEST_F(azure_taken_over, nothing_is_written_on_them_but_their_end) {
  const std::string id = take_over("group-1a2b-old", "old");
  ask_for({id});
  run(&backend::pull_resources);
  run(&backend::report_usage);
  EXPECT_EQ(run(&backend::restore, id).emitted.at(0)["changed"], json(false));
  EXPECT_THAT(arm.writes(), IsEmpty());
}

} // namespace

} // namespace siteagent::azure::test
