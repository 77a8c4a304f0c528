// SPDX-License-Identifier: MIT
// The null provider: returning hosts.
#include "hosts_fixture.hpp"

#include <algorithm>

namespace {

using namespace null_test;

class null_delete : public null_cloud {
protected:
  json remove(const std::string& name, const json& vm_id, bool dry_run = false) {
    return answer(operation::delete_host, known(name, vm_id), dry_run);
  }

  static std::vector<std::string> rows(const json& list, const char* second) {
    std::vector<std::string> all;
    for (const json& each : list.items()) {
      all.push_back(each["kind"].string_or("") + " " + each[second].string_or(""));
    }
    return all;
  }
};

const std::vector<std::string> all_deleted = {
    "virtual-machine deleted",
    "disk deleted",
    "network-interface deleted",
    "security-group deleted",
    "public-address deleted"};

TEST_F(null_delete, R65_R66_releases_machine_disk_interface_group_and_address_in_this_order) {
  const json made = make("b1");
  script(R"({"polls":{"delete":1}})");
  const json done = remove("b1", made["vm_id"]);
  EXPECT_EQ(rows(done["released"], "outcome"), all_deleted);
  EXPECT_EQ(done["held"].size(), 0u);
  EXPECT_TRUE(objects().empty());
  EXPECT_EQ(std::count(told_.begin(), told_.end(), "poll:delete:virtual-machine"), 1);
  EXPECT_FALSE(object("/null/application-security-group/stado-cloud-hosts-here").is_null())
      << "R132: the location's group stays";
}

TEST_F(null_delete, R69_what_is_gone_already_counts_as_released) {
  const json made = make("b1");
  remove("b1", made["vm_id"]);
  const json again = remove("b1", made["vm_id"]);
  EXPECT_EQ(again["released"].size(), 5u);
  for (const json& each : again["released"].items()) {
    EXPECT_EQ(each["outcome"], json("already_gone"));
  }
}

TEST_F(null_delete, a_disk_that_stays_is_deleted_on_its_own) {
  const json made = make("b1");
  script(R"({"disk_survives":true})");
  EXPECT_EQ(rows(remove("b1", made["vm_id"])["released"], "outcome"), all_deleted);
  EXPECT_TRUE(objects().empty());
  EXPECT_NE(std::find(told_.begin(), told_.end(), "after:delete:disk"), told_.end());
}

TEST_F(null_delete, F49_another_generation_is_held_naming_both_and_nothing_else_is_tried) {
  const json made = make("b1");
  change([](json& all) {
    all.member_ref("objects").member_ref("/null/virtual-machine/b1").set("vm_id", "newer");
  });
  const json done = remove("b1", made["vm_id"]);
  EXPECT_EQ(done["released"].size(), 0u);
  ASSERT_EQ(done["held"].size(), 1u);
  const std::string cause = done["held"][0]["cause"].string_or("");
  EXPECT_NE(cause.find("newer"), std::string::npos);
  EXPECT_NE(cause.find(made["vm_id"].string_or("?")), std::string::npos);
  EXPECT_EQ(objects().size(), 5u);
  EXPECT_TRUE(told_.empty());
}

TEST_F(null_delete, T9_held_is_no_failure_and_a_later_delete_finishes) {
  const json made = make("b1");
  script(R"({"held":[{"kind":"network-interface","calls":1,"cause":"reserved for 180 s"}]})");
  const json first = remove("b1", made["vm_id"]);
  EXPECT_EQ(
      rows(first["released"], "outcome"),
      (std::vector<std::string>{"virtual-machine deleted", "disk deleted"})
  );
  EXPECT_EQ(
      rows(first["held"], "cause"),
      (std::vector<std::string>{
          "network-interface reserved for 180 s",
          "security-group not tried: the interface is not gone",
          "public-address not tried: the interface is not gone"})
  );
  const json second = remove("b1", made["vm_id"]);
  EXPECT_EQ(second["held"].size(), 0u);
  EXPECT_TRUE(objects().empty());
}

TEST_F(null_delete, tries_again_while_the_cloud_says_later) {
  const json made = make("b1");
  script(R"({"held":[{"kind":"network-interface","tries":3}],
             "faults":[{"verb":"delete","kind":"public-address","times":2,"http_status":429},
                       {"verb":"delete","kind":"security-group","when":"end","http_status":500}]})"
  );
  EXPECT_EQ(remove("b1", made["vm_id"])["held"].size(), 0u);
  EXPECT_TRUE(objects().empty());
}

TEST_F(null_delete, gives_up_after_the_time_for_it_and_on_what_will_not_change) {
  retry_s_ = 1;
  const json made = make("b1");
  script(R"({"held":[{"kind":"security-group","tries":1000000,"cause":"busy"}],
             "faults":[{"verb":"delete","kind":"public-address","http_status":403,"times":9}]})");
  const json done = remove("b1", made["vm_id"]);
  ASSERT_EQ(done["held"].size(), 2u);
  EXPECT_EQ(done["held"][0]["cause"], json("busy"));
  EXPECT_NE(done["held"][1]["cause"].string_or("").find("HTTP 403"), std::string::npos);
  EXPECT_EQ(state().at({"script", "faults"})[0]["seen"], json(1)) << "asked once";
}

TEST_F(null_delete, a_machine_that_stays_holds_all_the_rest) {
  const json made = make("b1");
  script(R"({"held":[{"kind":"virtual-machine","calls":1}]})");
  const json done = remove("b1", made["vm_id"]);
  EXPECT_EQ(done["released"].size(), 0u);
  EXPECT_EQ(done["held"].size(), 5u);
  EXPECT_EQ(objects().size(), 5u);
}

TEST_F(null_delete, a_lost_answer_is_looked_after) {
  const json made = make("b1");
  script(
      R"({"faults":[{"verb":"delete","kind":"virtual-machine","when":"after","http_status":504}]})"
  );
  EXPECT_EQ(rows(remove("b1", made["vm_id"])["released"], "outcome"), all_deleted);
}

TEST_F(null_delete, what_cannot_be_read_is_held_and_the_rest_goes_on) {
  const json made = make("b1");
  script(R"({"faults":[{"verb":"get","kind":"security-group","http_status":503}]})");
  const json done = remove("b1", made["vm_id"]);
  ASSERT_EQ(done["held"].size(), 1u);
  EXPECT_EQ(done["held"][0]["kind"], json("security-group"));
  EXPECT_EQ(objects(), std::vector<std::string>{"/null/security-group/b1-nsg"});
}

TEST_F(null_delete, of_a_name_alone_takes_whatever_carries_the_tag) {
  make("b1");
  change([](json& all) { all.member_ref("objects").erase("/null/virtual-machine/b1"); });
  const json done = remove("b1", json());
  EXPECT_EQ(
      rows(done["released"], "outcome"),
      (std::vector<std::string>{
          "disk deleted",
          "network-interface deleted",
          "security-group deleted",
          "public-address deleted"})
  );
  EXPECT_TRUE(objects().empty());
  EXPECT_EQ(remove("b1", json())["released"].size(), 0u);
}

TEST_F(null_delete, never_touches_an_object_of_that_name_without_the_tag) {
  const json made = make("b1");
  change([](json& all) {
    all.member_ref("objects").member_ref("/null/public-address/b1-ip").set("tags", json::object());
  });
  const json done = remove("b1", made["vm_id"]);
  ASSERT_EQ(done["held"].size(), 1u);
  EXPECT_NE(done["held"][0]["cause"].string_or("").find("not touched"), std::string::npos);
  EXPECT_EQ(objects(), std::vector<std::string>{"/null/public-address/b1-ip"});
}

TEST_F(null_delete, a_dry_run_lists_what_would_go) {
  const json made = make("b1");
  const json before = state();
  EXPECT_EQ(rows(remove("b1", made["vm_id"], true)["released"], "outcome"), all_deleted);
  EXPECT_EQ(state(), before);
}

TEST_F(null_delete, stops_between_two_objects_when_told_to) {
  const json made = make("b1");
  at_checkpoint_ = [](const std::string& point) -> base::result<void> {
    if (point == "after:delete:virtual-machine") {
      return error{.code = error_code::cancelled, .message = "interrupted"};
    }
    return {};
  };
  const error e = failure(operation::delete_host, known("b1", made["vm_id"]));
  EXPECT_EQ(e.code, error_code::cancelled);
  EXPECT_EQ(objects().size(), 3u);
}

} // namespace
