// SPDX-License-Identifier: MIT
// Power, bulk reads, usage, lists, diagnostics.
#include "tests/unit/azure/fixture.hpp"
#include "tests/unit/azure/price_rows.hpp"

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

TEST_F(azure_machine, a_condition_nobody_set_is_tried_again) {
  create();
  arm.script(
      {"POST", "/deallocate", 1, 0, false, 412, fake_arm::error_text("PreconditionFailed"), {}}
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

TEST_F(azure_machine, objects_are_listed_with_their_ages) {
  create();
  const char* time = "2026-01-01T00:00:00.1234567Z";
  base::json nic = arm.get(object_id("Microsoft.Network/networkInterfaces", "nicweb"));
  nic.set("createdTime", time);
  arm.put(nic["id"].string_or(""), nic);
  nic = arm.get(machine_id());
  nic.set("createdTime", "2026-01-02T00:00:00Z");
  arm.put(machine_id(), nic);
  body = *base::json::parse(
      R"({"tags":{"offering-uuid":"0ff"},"uuid_tag":"resource-uuid","objects":true})"
  );
  const fake_call call = run(&backend::list_resources);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(arm.count_requests("GET", "$expand=createdTime"), 2U);
  for (const base::json& o : call.emitted) {
    const std::string kind = o["kind"].string_or("");
    if (kind == "virtual-machine") {
      EXPECT_EQ(o["created_at"].string_or(""), "2026-01-02T00:00:00Z");
    } else if (kind == "network-interface" || kind == "resource-group") {
      EXPECT_EQ(o["created_at"].string_or(""), time); // a group is as old as its oldest object
    } else {
      EXPECT_EQ(o.find("created_at"), nullptr) << kind;
    }
    EXPECT_EQ(o.find("price_month"), nullptr);
  }
  EXPECT_EQ(arm.count_requests("GET", "/api/retail/prices"), 0U);
}

// The list prices of the machine, its disk and its address, by kind; "-" where unknown.
class azure_object_prices : public azure_machine {
protected:
  azure_object_prices() {
    settings.member_ref("cloud").set("prices", base_url);
    settings.set("tags", base::json::object({{"cost-center", "42"}})); // tags the disk, too
    arm.prices = {
        machine_row("Standard_B1s", "0.0104"),
        machine_row(
            "",
            "4.81",
            {{"serviceName", "Storage"},
             {"productName", "Premium SSD Managed Disks"},
             {"skuName", "P4 LRS"},
             {"meterName", "P4 LRS Disk"},
             {"unitOfMeasure", "1/Month"}}
        ),
        machine_row(
            "",
            "0.005",
            {{"serviceName", "Virtual Network"},
             {"productName", "IP Addresses"},
             {"meterName", "Standard IPv4 Static Public IP"}}
        )};
  }

  std::string listed(std::string_view kind) {
    base::json asked = *base::json::parse(
        R"({"tags":{"offering-uuid":"0ff"},"uuid_tag":"resource-uuid","objects":true,"prices":true})"
    );
    std::swap(body, asked);
    const fake_call call = run(&backend::list_resources);
    std::swap(body, asked);
    EXPECT_EQ(call.code, SAGENT_OK) << call.message;
    for (const base::json& o : call.emitted) {
      if (o["kind"].string_or("") == kind) {
        const std::string price = o["price_month"].string_or("-");
        EXPECT_EQ(o["currency"].string_or(""), price == "-" ? "" : "USD");
        return price;
      }
    }
    return "not listed";
  }

  void create_with_disk(const char* sku) {
    create();
    base::json disk = arm.get(object_id("Microsoft.Compute/disks", "osdiskweb"));
    disk.set("sku", base::json::object({{"name", sku}}));
    disk.set("location", "westeurope");
    arm.put(disk["id"].string_or(""), disk);
    arm.clear_log();
  }
};

TEST_F(azure_object_prices, are_those_of_a_month_at_list_price) {
  create_with_disk("Premium_LRS");
  EXPECT_EQ(listed("virtual-machine"), "7.59"); // 0.0104 * 730
  EXPECT_EQ(listed("disk"), "4.81");
  EXPECT_EQ(listed("public-ip-address"), "3.65");
  for (const char* kind :
       {"network-interface", "network-security-group", "virtual-network", "resource-group"}) {
    EXPECT_EQ(listed(kind), "0") << kind;
  }
  EXPECT_EQ(arm.count_requests("GET", "/api/retail/prices"), 3U); // kept for a day
}

TEST_F(azure_object_prices, follow_the_power_and_stay_unknown_without_a_price) {
  create_with_disk("UltraSSD_LRS");
  EXPECT_EQ(listed("disk"), "-");
  set_power("stopped"); // inside only: it keeps its place
  EXPECT_EQ(listed("virtual-machine"), "7.59");
  set_power("deallocated");
  EXPECT_EQ(listed("virtual-machine"), "0");
  arm.prices.clear();
  clock.advance(std::chrono::hours(25));
  EXPECT_EQ(listed("public-ip-address"), "-");
  EXPECT_EQ(listed("network-interface"), "0");
}

TEST_F(azure_object_prices, a_cloud_without_a_price_list_still_lists) {
  settings.member_ref("cloud").erase("prices");
  create_with_disk("Premium_LRS");
  EXPECT_EQ(listed("virtual-machine"), "-");
  EXPECT_EQ(listed("virtual-network"), "0");
  EXPECT_EQ(arm.count_requests("GET", "/api/retail/prices"), 0U);
}

TEST_F(azure_machine, a_list_without_tags_is_refused) {
  body = base::json::object();
  EXPECT_EQ(run(&backend::list_resources).code, SAGENT_E_INVALID);
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
