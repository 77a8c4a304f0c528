// SPDX-License-Identifier: MIT
// Power, bulk reads, usage, lists, diagnostics.
#include "tests/unit/azure/fixture.hpp"

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

class azure_machine : public azure_test {
protected:
  void create() {
    const fake_call call = run(&backend::create_resource);
    ASSERT_EQ(call.code, SAGENT_OK) << call.message;
    arm.clear_log();
  }

  void set_power(std::string_view power) {
    base::json vm = arm.get(machine_id());
    vm.set(
        "test-view",
        *base::json::parse(R"({"statuses":[{"code":"PowerState/)" + std::string(power) + R"("}]})")
    );
    arm.put(machine_id(), vm);
  }

  void ask_for(std::initializer_list<std::pair<const char*, std::string>> resources) {
    base::json list = base::json::array();
    for (const auto& [id, backend_id] : resources) {
      list.push_back(base::json::object({{"uuid", id}, {"backend_id", backend_id}}));
    }
    body.set("resources", list);
  }
};

TEST_F(azure_machine, pausing_deallocates_and_restoring_starts) {
  create();
  const fake_call stopped = run(&backend::pause, machine_id());
  ASSERT_EQ(stopped.code, SAGENT_OK) << stopped.message;
  EXPECT_EQ(stopped.emitted[0]["power"].string_or(""), "deallocated");
  EXPECT_EQ(stopped.emitted[0]["changed"].boolean(), true);
  EXPECT_EQ(arm.count_requests("POST", "/deallocate?"), 1U);
  const fake_call started = run(&backend::restore, machine_id());
  ASSERT_EQ(started.code, SAGENT_OK) << started.message;
  EXPECT_EQ(started.emitted[0]["power"].string_or(""), "running");
  EXPECT_EQ(
      started.emitted[0]["metadata"]["virtual_machine"]["power_state"].string_or(""), "running"
  );
  EXPECT_EQ(arm.count_requests("POST", "/powerOff"), 0U);
}

TEST_F(azure_machine, nothing_is_written_when_the_state_matches) {
  create();
  const fake_call call = run(&backend::restore, machine_id());
  EXPECT_EQ(call.emitted.at(0)["changed"].boolean(), false);
  set_power("deallocated");
  EXPECT_EQ(run(&backend::downscale, machine_id()).emitted.at(0)["changed"].boolean(), false);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_machine, a_machine_stopped_inside_is_deallocated) {
  create();
  set_power("stopped");
  EXPECT_EQ(run(&backend::pause, machine_id()).emitted.at(0)["power"].string_or(""), "deallocated");
}

TEST_F(azure_machine, a_change_under_way_is_waited_for) {
  create();
  set_power("deallocating");
  prepare = [this](fake_call& c) {
    c.on_checkpoint = [this](const base::json&) -> sagent_code {
      set_power("deallocated");
      return SAGENT_OK;
    };
  };
  const fake_call call = run(&backend::pause, machine_id());
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_machine, no_room_at_start_is_no_capacity) {
  create();
  set_power("deallocated");
  arm.fail_operation("/virtualmachines/", "AllocationFailed", "no room");
  const fake_call call = run(&backend::restore, machine_id());
  EXPECT_EQ(call.code, SAGENT_E_NO_CAPACITY) << call.message;
}

TEST_F(azure_machine, a_machine_proven_absent_is_not_found_and_not_made_again) {
  const fake_call call = run(&backend::restore, machine_id());
  EXPECT_EQ(call.code, SAGENT_E_NOT_FOUND);
  EXPECT_TRUE(arm.writes().empty());
  EXPECT_EQ(arm.count_requests("GET", "/virtualMachines/web?"), 2U);
}

TEST_F(azure_machine, a_busy_machine_is_tried_again) {
  create();
  arm.script(
      {"POST",
       "/deallocate",
       2,
       0,
       false,
       409,
       fake_arm::error_text("OperationNotAllowed", "another operation is in progress"),
       {}}
  );
  EXPECT_EQ(run(&backend::pause, machine_id()).code, SAGENT_OK);
}

TEST_F(azure_machine, pull_tells_present_absent_and_unknown_apart) {
  create();
  std::string elsewhere = machine_id();
  elsewhere.replace(elsewhere.find("11111111"), 8, "99999999");
  ask_for(
      {{"a", machine_id()},
       {"b", object_id("Microsoft.Compute/virtualMachines", "gone")},
       {"c", "TICKET"},
       {"d", elsewhere},
       {"e", object_id("Microsoft.Compute/virtualMachines", "hidden")}}
  );
  arm.script({"GET", "/virtualMachines/hidden?", -1, 0, false, 503, "", {}});
  arm.upper_case_lists = true;
  const fake_call call = run(&backend::pull_resources);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  ASSERT_EQ(call.emitted.size(), 5U);
  EXPECT_EQ(call.emitted[0]["presence"].string_or(""), "present");
  EXPECT_EQ(call.emitted[0]["power"].string_or(""), "running");
  EXPECT_EQ(call.emitted[0]["state"].string_or(""), "ok");
  EXPECT_EQ(
      call.emitted[0]["metadata"]["virtual_machine"]["public_ip"].string_or(""), "203.0.113.10"
  );
  EXPECT_EQ(call.emitted[0]["metadata"]["virtual_machine"]["private_ip"].string_or(""), "10.0.0.4");
  EXPECT_EQ(call.emitted[1]["presence"].string_or(""), "absent");
  for (const std::size_t i : {2U, 3U, 4U}) {
    EXPECT_EQ(call.emitted[i]["presence"].string_or(""), "unknown");
    EXPECT_NE(call.emitted[i]["error"].string_or(""), "");
  }
}

TEST_F(azure_machine, pull_reads_lists_and_not_machines) {
  create();
  base::json list = base::json::array();
  for (int i = 0; i < 40; ++i) {
    const std::string name = "m" + std::to_string(i);
    arm.put(object_id("Microsoft.Compute/virtualMachines", name), tagged());
    list.push_back(base::json::object(
        {{"uuid", name}, {"backend_id", object_id("Microsoft.Compute/virtualMachines", name)}}
    ));
  }
  body.set("resources", list);
  arm.page_size = 7;
  const fake_call call = run(&backend::pull_resources);
  EXPECT_EQ(call.emitted.size(), 40U);
  EXPECT_EQ(arm.count_requests("GET", "/virtualMachines/"), 0U);
  EXPECT_EQ(call.emitted[39]["presence"].string_or(""), "present");
}

TEST_F(azure_machine, one_missing_list_entry_proves_nothing) {
  create();
  arm.script(
      {"GET",
       "/providers/Microsoft.Compute/virtualMachines?",
       2,
       0,
       false,
       200,
       R"({"value":[]})",
       {}}
  );
  ask_for({{"a", machine_id()}, {"b", "x"}, {"c", "y"}});
  const fake_call call = run(&backend::pull_resources);
  EXPECT_EQ(call.emitted.at(0)["presence"].string_or(""), "present");
  EXPECT_EQ(call.emitted.at(0)["power"].string_or(""), "running");
}

TEST_F(azure_machine, one_machine_is_read_without_any_list) {
  create();
  ask_for({{"a", machine_id()}});
  const fake_call call = run(&backend::pull_resources);
  EXPECT_EQ(call.emitted.at(0)["presence"].string_or(""), "present");
  EXPECT_EQ(
      call.emitted.at(0)["metadata"]["virtual_machine"]["public_ip"].string_or(""), "203.0.113.10"
  );
  EXPECT_EQ(arm.count_requests("GET", "/virtualMachines?"), 0U);
}

TEST_F(azure_machine, a_list_that_cannot_be_read_is_the_calls_failure) {
  create();
  ask_for({{"a", machine_id()}, {"b", machine_id()}, {"c", machine_id()}});
  arm.script(
      {"GET",
       "/virtualMachines?",
       -1,
       0,
       false,
       429,
       fake_arm::error_text("TooManyRequests"),
       {{"retry-after", "600"}}}
  );
  const fake_call call = run(&backend::pull_resources);
  EXPECT_EQ(call.code, SAGENT_E_THROTTLED);
  EXPECT_GT(call.retry_after_ms, 500'000);
  EXPECT_TRUE(call.emitted.empty());
}

TEST_F(azure_machine, usage_is_the_size_also_while_deallocated) {
  create();
  set_power("deallocated");
  ask_for({{"a", machine_id()}, {"b", object_id("Microsoft.Compute/virtualMachines", "gone")}});
  const fake_call call = run(&backend::report_usage);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(
      call.emitted.at(0).dump(),
      R"({"uuid":"a","measured":true,"total":{"cpu":"1","ram":"1","disk":"1051648"}})"
  );
  EXPECT_EQ(call.emitted.at(1).dump(), R"({"uuid":"b","measured":false})");
}

TEST_F(azure_machine, usage_by_actual_disks) {
  settings.set("disk_source", "actual");
  create();
  ask_for({{"a", machine_id()}});
  const fake_call call = run(&backend::report_usage);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted.at(0)["total"]["disk"].string_or(""), std::to_string(30 * 1024 + 4096));
}

TEST_F(azure_machine, an_unknown_size_is_left_out_not_zero) {
  create();
  base::json vm = arm.get(machine_id());
  vm.member_ref("properties").member_ref("hardwareProfile").set("vmSize", "Standard_Retired");
  arm.put(machine_id(), vm);
  ask_for({{"a", machine_id()}});
  EXPECT_EQ(run(&backend::report_usage).emitted.at(0).dump(), R"({"uuid":"a","measured":false})");
}

TEST_F(azure_machine, past_months_are_not_guessed) {
  create();
  ask_for({{"a", machine_id()}});
  body.set("period", *base::json::parse(R"({"year":2020,"month":1})"));
  body.set("timezone", "Europe/Tallinn");
  arm.clear_log();
  EXPECT_EQ(run(&backend::report_usage).emitted.at(0).dump(), R"({"uuid":"a","measured":false})");
  EXPECT_TRUE(arm.log().empty());
}

TEST_F(azure_machine, lists_machines_and_objects_of_the_offering_only) {
  create();
  base::json foreign = tagged();
  foreign.member_ref("tags").set("offering-uuid", "another");
  arm.put(object_id("Microsoft.Compute/virtualMachines", "foreign"), foreign);
  body = *base::json::parse(
      R"({"tags":{"offering-uuid":"0ff","managed-by":"agent"},"uuid_tag":"resource-uuid"})"
  );
  const fake_call machines = run(&backend::list_resources);
  ASSERT_EQ(machines.emitted.size(), 1U);
  EXPECT_EQ(machines.emitted[0]["backend_id"].string_or(""), machine_id());
  EXPECT_EQ(machines.emitted[0]["uuid"].string_or(""), uuid);
  body.set("objects", true);
  const fake_call objects = run(&backend::list_resources);
  std::vector<std::string> kinds;
  for (const base::json& o : objects.emitted) {
    kinds.push_back(o["kind"].string_or(""));
    EXPECT_EQ(o["uuid"].string_or(""), uuid);
  }
  EXPECT_THAT(
      kinds,
      testing::UnorderedElementsAre(
          "virtual-machine",
          "network-interface",
          "network-security-group",
          "public-ip-address",
          "virtual-network",
          "resource-group"
      )
  );
}

TEST_F(azure_machine, a_list_without_tags_is_refused) {
  body = base::json::object();
  EXPECT_EQ(run(&backend::list_resources).code, SAGENT_E_INVALID);
}

TEST_F(azure_machine, diagnostics_name_each_check) {
  const fake_call call = run(&backend::diagnostics);
  ASSERT_EQ(call.code, SAGENT_OK);
  for (const base::json& check : call.emitted) {
    EXPECT_EQ(check["ok"].boolean(), true) << check.dump();
  }
  EXPECT_EQ(call.emitted.size(), 5U);
}

TEST_F(azure_machine, diagnostics_stop_at_wrong_credentials_and_say_so) {
  host_data.secret = "wrong";
  const fake_call call = run(&backend::diagnostics);
  ASSERT_EQ(call.code, SAGENT_OK);
  ASSERT_EQ(call.emitted.size(), 1U);
  EXPECT_EQ(call.emitted[0]["ok"].boolean(), false);
  EXPECT_THAT(call.emitted[0]["detail"].string_or(""), HasSubstr("client secret is wrong"));
}

TEST_F(azure_machine, ping_gives_the_cause) {
  EXPECT_EQ(run(&backend::ping).code, SAGENT_OK);
  arm.script({"GET", "", -1, 0, false, 404, fake_arm::error_text("SubscriptionNotFound"), {}});
  const fake_call call = run(&backend::ping);
  EXPECT_EQ(call.code, SAGENT_E_NOT_READY);
  EXPECT_THAT(call.message, HasSubstr("Azure backend is not available"));
  EXPECT_THAT(call.message, HasSubstr("SubscriptionNotFound"));
}

TEST_F(azure_machine, limits_and_members_are_not_ours) {
  EXPECT_EQ(run(&backend::set_resource_limits).code, SAGENT_E_UNSUPPORTED);
  body.set("users", *base::json::parse(R"([{"username":"ann"}])"));
  EXPECT_EQ(
      run(&backend::add_members).emitted.at(0).dump(),
      R"({"users":[{"username":"ann","done":false}]})"
  );
  EXPECT_EQ(run(&backend::remove_members).emitted.at(0)["users"][0]["done"].boolean(), false);
}

TEST_F(azure_machine, limits_of_the_size_are_reported_when_asked_for) {
  settings.set("limits_source", "size");
  const fake_call call = run(&backend::create_resource);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted.at(0)["limits"]["cpu"].string_or(""), "1");
}

} // namespace

} // namespace siteagent::azure::test
