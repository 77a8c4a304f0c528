// SPDX-License-Identifier: MIT
// Creates that fail: nothing of them stays, and what stays is named.
#include "tests/unit/azure/cloud_host_fixture.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class azure_host_create : public azure_hosts {
protected:
  void admit() {
    const fake_call admitted = run(&provider::admit_addresses, admit_body());
    ASSERT_EQ(admitted.code, SAGENT_OK) << admitted.message;
    before_ = snapshot();
  }

  fake_call create() { return run(&provider::create_host, create_body()); }

  // Nothing came, went or changed since admit().
  void expect_nothing_left() { EXPECT_THAT(differences(before_, snapshot()), IsEmpty()); }

  static std::string error(const std::string& code, const std::string& message = "text") {
    return json::object({{"error", json::object({{"code", code}, {"message", message}})}}).dump();
  }

  static std::vector<std::string> kinds_in(const json& list) {
    std::vector<std::string> out;
    for (const json& row : list.items()) {
      out.push_back(row["kind"].string_or(""));
    }
    return out;
  }

  world before_;
};

TEST_F(azure_host_create, F25_an_object_of_a_name_is_refused_before_the_first_write) {
  struct row {
    const char* kind;
    std::string seed;
  };

  const row rows[] = {
      {"public-ip-address",
       R"({"publicIPAddresses":[{"resourceGroup":"hosts","name":"b1-ip","location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}]})"},
      {"network-security-group",
       R"({"networkSecurityGroups":[{"resourceGroup":"hosts","name":"b1-nsg","location":"westeurope","tags":{"stado_cloud_host":"b1"}}]})"},
      {"disk",
       R"({"disks":[{"resourceGroup":"hosts","name":"b1-os","location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}]})"}};
  for (const row& r : rows) {
    azure.seed(*json::parse(r.seed));
    before_ = snapshot();
    const fake_call call = create();
    EXPECT_EQ(call.code, SAGENT_E_CONFLICT) << r.kind;
    EXPECT_EQ(call.detail["resource"]["kind"].string_or(""), r.kind);
    EXPECT_THAT(call.message, HasSubstr(call.detail["resource"]["id"].string_or("-")));
    EXPECT_THAT(call.checkpoints, IsEmpty());
    expect_nothing_left();
    azure.seed(json::object(
        {{"actions",
          json::array({json::object({{"do", "delete"}, {"id", call.detail["resource"]["id"]}})})}}
    ));
  }
}

TEST_F(azure_host_create, F26_a_refused_address_leaves_nothing) {
  admit();
  azure.seed(*json::parse(R"({"quotas":{"public_addresses":0}})"));
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_QUOTA) << call.message;
  expect_nothing_left();
}

TEST_F(azure_host_create, case_net_01_quota_of_addresses_that_only_azure_knows_is_told) {
  admit();
  wire.add(
      {"PUT",
       "publicIPAddresses/b1-ip",
       1,
       0,
       false,
       400,
       error("PublicIPCountLimitReached", "Cannot create more than 10 public IP addresses."),
       {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_QUOTA);
  EXPECT_THAT(
      call.message,
      AllOf(
          HasSubstr("the public ip address b1-ip was not made"),
          HasSubstr("HTTP 400: PublicIPCountLimitReached")
      )
  );
  expect_nothing_left();
}

TEST_F(azure_host_create, F27_a_refused_interface_takes_group_and_address_along) {
  admit();
  wire.add({"PUT", "networkInterfaces/b1-nic", 1, 0, false, 400, error("SubnetIsFull"), {}});
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_QUOTA) << call.message;
  EXPECT_THAT(
      kinds_in(call.detail["created"]), ElementsAre("public-ip-address", "network-security-group")
  );
  EXPECT_THAT(call.detail["not_removed"].items(), IsEmpty());
  expect_nothing_left();
}

TEST_F(azure_host_create, R43_undoing_goes_backward) {
  admit();
  wire.add({"PUT", "virtualMachines/b1", 1, 0, false, 409, error("SkuNotAvailable", "no room"), {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_NO_CAPACITY) << call.message;
  std::vector<std::string> deleted;
  for (const json& c : call.checkpoints) {
    if (c["phase"].string_or("") == "after" && c["verb"].string_or("") == "delete") {
      deleted.push_back(c["kind"].string_or(""));
    }
  }
  EXPECT_THAT(
      deleted, ElementsAre("network-interface", "network-security-group", "public-ip-address")
  );
  expect_nothing_left();
}

TEST_F(azure_host_create, F28_a_quota_that_only_the_write_meets_leaves_nothing) {
  admit();
  wire.add(
      {"PUT",
       "virtualMachines/b1",
       1,
       0,
       false,
       409,
       error(
           "OperationNotAllowed",
           "Operation could not be completed as it results in exceeding approved Total Regional "
           "Cores quota. Location: westeurope, Current Limit: 10, Current Usage: 10, Additional "
           "Required: 2, (Minimum) New Limit Required: 12."
       ),
       {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_QUOTA);
  EXPECT_THAT(call.message, HasSubstr("10 of 10 used"));
  EXPECT_EQ(call.detail["http_status"].integer(), 409);
  expect_nothing_left();
}

TEST_F(
    azure_host_create, case_leak_02_a_machine_that_fails_at_the_end_goes_with_disk_and_interface
) {
  admit();
  azure.seed(*json::parse(
      R"({"restrictions":[{"size":"Standard_D2s_v5","location":"westeurope","reason":"AllocationFailed"}]})"
  ));
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_NO_CAPACITY) << call.message;
  EXPECT_THAT(call.message, HasSubstr("AllocationFailed")) << "the operation's own words";
  EXPECT_THAT(call.detail["not_removed"].items(), IsEmpty());
  expect_nothing_left();
}

TEST_F(azure_host_create, F30_what_cannot_be_removed_is_named) {
  admit();
  wire.add({"PUT", "virtualMachines/b1", 1, 0, false, 409, error("SkuNotAvailable"), {}});
  wire.add(
      {"DELETE", "publicIPAddresses/b1-ip", -1, 0, false, 409, error("ScopeLocked", "locked"), {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_NO_CAPACITY) << "the first cause stays";
  ASSERT_THAT(kinds_in(call.detail["not_removed"]), ElementsAre("public-ip-address"));
  EXPECT_THAT(call.detail["not_removed"][0]["cause"].string_or(""), HasSubstr("ScopeLocked"));
  EXPECT_THAT(
      call.message,
      AllOf(HasSubstr("SkuNotAvailable"), HasSubstr("b1-ip"), HasSubstr("may be billed"))
  );
  EXPECT_THAT(parts_of("b1"), ElementsAre(network_id("publicIPAddresses/b1-ip")))
      << "the others went";
}

TEST_F(azure_host_create, F30_a_cloud_that_answers_nothing_any_more_leaves_every_name) {
  admit();
  wire.add({"PUT", "virtualMachines/b1", 1, 0, false, 409, error("SkuNotAvailable"), {}});
  prepare = [this](fake_call& call) {
    call.on_checkpoint = [this](const json& c) {
      if (c["kind"].string_or("") == "virtual-machine" && c["phase"].string_or("") == "poll") {
        wire.clear();
        wire.add({"", "", -1, 0, false, 503, "", {}});
      }
      return sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.detail["not_removed"].size(), call.detail["created"].size() + 2U)
      << "and, perhaps, the machine and its disk: " << call.message;
}

TEST_F(azure_host_create, case_leak_06_lost_answers_to_writes_are_looked_after) {
  for (const char* path :
       {"publicIPAddresses/b1-ip",
        "networkSecurityGroups/b1-nsg",
        "networkInterfaces/b1-nic",
        "virtualMachines/b1"}) {
    for (const bool arrived : {true, false}) {
      admit();
      wire.add({"PUT", path, 1, 0, arrived, std::nullopt, "", {}});
      const fake_call call = create();
      ASSERT_EQ(call.code, SAGENT_OK) << path << ": " << call.message;
      EXPECT_EQ(parts_of("b1").size(), 5U);
      EXPECT_EQ(azure.count("PUT", path), azure.count("PUT", "publicIPAddresses/b1-ip"))
          << "one of each: " << path;
      const fake_call gone = run(&provider::delete_host, delete_body("b1", call.emitted[0]));
      EXPECT_THAT(gone.emitted[0]["held"].items(), IsEmpty());
      expect_nothing_left();
    }
  }
}

TEST_F(azure_host_create, polls_that_break_off_do_not_fail_a_machine_that_is_being_made) {
  admit();
  wire.add({"GET", "/operations/", 3, 2, false, std::nullopt, "", {}});
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(azure.count("PUT", "virtualMachines/b1"), 1U);
}

TEST_F(azure_host_create, throttling_is_waited_out) {
  admit();
  wire.add(
      {"PUT",
       "networkInterfaces/b1-nic",
       2,
       0,
       false,
       429,
       R"({"error":{"code":"SubscriptionRequestsThrottled","message":"slow down"}})",
       {{"retry-after", "17"}}}
  );
  wire.add(
      {"GET",
       "virtualMachines/b1",
       1,
       0,
       false,
       429,
       error("TooManyRequests"),
       {{"retry-after", "5"}}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_TRUE(std::any_of(call.checkpoints.begin(), call.checkpoints.end(), [](const json& c) {
    return c["phase"].string_or("") == "wait";
  }));
}

TEST_F(azure_host_create, a_host_that_says_stop_undoes_nothing_and_names_what_was_made) {
  admit();
  prepare = [](fake_call& call) {
    call.on_checkpoint = [](const json& c) {
      return c["phase"].string_or("") == "after" && c["kind"].string_or("") == "network-interface"
                 ? sagent_code{SAGENT_E_CANCELLED}
                 : sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_CANCELLED);
  EXPECT_EQ(azure.count("DELETE", "/"), 0U);
  EXPECT_EQ(parts_of("b1").size(), 3U);
  EXPECT_THAT(
      kinds_in(call.detail["created"]), ElementsAre("public-ip-address", "network-security-group")
  );
  prepare = {};
  const fake_call undone = run(&provider::delete_host, delete_body("b1", json()));
  ASSERT_EQ(undone.code, SAGENT_OK) << undone.message;
  EXPECT_THAT(parts_of("b1"), IsEmpty()) << "the tool undoes by name";
}

TEST_F(azure_host_create, F29_an_operation_without_end_is_undone) {
  settings.member_ref("limits").set("operation_s", 60);
  admit();
  const json creating = json::object(
      {{"id", compute_id("virtualMachines/b1")},
       {"tags", create_body()["tags"]},
       {"properties", json::object({{"provisioningState", "Creating"}})}}
  );
  prepare = [this, creating](fake_call& call) {
    call.on_checkpoint = [this, creating](const json& c) {
      const bool machine = c["kind"].string_or("") == "virtual-machine";
      if (machine && c["phase"].string_or("") == "after" && c["verb"].string_or("") == "put") {
        // Neither its monitor nor itself ever tells an end.
        wire.add({"GET", "/operations/", -1, 0, false, 200, R"({"status":"InProgress"})", {}});
        wire.add({"GET", "virtualMachines/b1", -1, 0, false, 200, creating.dump(), {}});
      } else if (machine && c["verb"].string_or("") == "delete") {
        wire.clear();
      }
      return sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << call.message;
  EXPECT_THAT(call.message, HasSubstr("has not ended it within 60 s"));
  expect_nothing_left();
}

TEST_F(azure_host_create, two_creates_of_one_name_never_take_over_each_others_objects) {
  admit();
  // Somebody else's create is a moment ahead.
  prepare = [this](fake_call& call) {
    call.on_checkpoint = [this](const json& c) {
      if (c["phase"].string_or("") == "before" &&
          c["kind"].string_or("") == "network-security-group") {
        azure.seed(*json::parse(
            R"({"networkSecurityGroups":[{"resourceGroup":"hosts","name":"b1-nsg","location":"westeurope",
                "tags":{"stado_cloud_host":"b1","stado_created":"2026-11-30T01:59:59Z"}}]})"
        ));
      }
      return sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT) << call.message;
  EXPECT_THAT(parts_of("b1"), ElementsAre(network_id("networkSecurityGroups/b1-nsg")));
  EXPECT_THAT(call.detail["not_removed"].items(), IsEmpty());
}

TEST_F(azure_host_create, A31_an_arm64_size_is_refused_by_its_capabilities_too) {
  azure.seed(*json::parse(
      R"({"sizes":[{"name":"Standard_X2_v9","family":"standardXFamily","cores":2,"memory_gib":8,"architecture":"Arm64"}]})"
  ));
  admit();
  json body = create_body();
  body.set("size", "Standard_X2_v9");
  const fake_call call = run(&provider::create_host, body);
  EXPECT_NE(call.code, SAGENT_OK);
  EXPECT_THAT(call.message, HasSubstr("Arm64"));
  expect_nothing_left();
}

TEST_F(azure_host_create, a_disk_smaller_than_the_image_is_refused_before_the_first_write) {
  admit();
  json body = create_body();
  body.set("disk_gb", 4);
  const fake_call call = run(&provider::create_host, body);
  EXPECT_EQ(call.code, SAGENT_E_INVALID) << call.message;
  EXPECT_THAT(call.message, HasSubstr("the image needs a disk of"));
  expect_nothing_left();
}

TEST_F(azure_host_create, requests_that_cannot_be_right_are_refused_without_a_call) {
  const std::pair<const char*, json> wrong[] = {
      {"addresses", json::array()},
      {"addresses", json::array({"0.0.0.0/0"})},
      {"addresses", json::array({"2001:db8::1"})},
      {"public_key", "ssh-ed25519 nonsense"},
      {"group_id", "somewhere"},
      {"user_data", std::string(65'536, 'x')},
      {"disk_gb", 0},
      {"tags", json::object()}};
  for (const auto& [key, value] : wrong) {
    json body = create_body();
    body.set(key, value);
    const fake_call call = run(&provider::create_host, body);
    EXPECT_EQ(call.code, SAGENT_E_INVALID) << key;
    EXPECT_EQ(azure.count("PUT", "/"), 0U);
  }
}

TEST_F(azure_host_create, a_dry_run_makes_every_check_and_writes_nothing) {
  (void)run(&provider::admit_addresses, admit_body());
  before_ = snapshot();
  json body = create_body();
  body.set("public_key", "").set("user_data", "").set("group_id", json());
  const fake_call call = run(&provider::create_host, body, true);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  std::vector<std::string> names;
  for (const json& line : call.emitted[0]["checks"].items()) {
    names.push_back(line["name"].string_or(""));
    EXPECT_EQ(line["ok"].boolean(), true) << line.dump();
  }
  EXPECT_THAT(
      names,
      ElementsAre(
          "names",
          "subnet",
          "application group",
          "image",
          "disk",
          "size",
          "quota",
          "rights on the subscription",
          "rights on the resource group",
          "rights on the security group of the subnet"
      )
  );
  expect_nothing_left();
}

TEST_F(azure_host_create, a_dry_run_tells_each_thing_that_is_wrong) {
  azure.seed(*json::parse(
      R"({"quotas":{"cores":1},"publicIPAddresses":[{"resourceGroup":"hosts","name":"b1-ip","location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}]})"
  ));
  json body = create_body();
  body.set("location", "northeurope");
  settings.member_ref("bindings").set("subnet", "elsewhere");
  const fake_call call = run(&provider::create_host, body, true);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  std::vector<std::string> wrong;
  for (const json& line : call.emitted[0]["checks"].items()) {
    if (!line["ok"].boolean().value_or(true)) {
      wrong.push_back(line["name"].string_or(""));
    }
  }
  EXPECT_THAT(wrong, ElementsAre("names", "subnet", "quota"));
}

} // namespace

} // namespace siteagent::azure::test
