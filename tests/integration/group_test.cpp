// SPDX-License-Identifier: MIT
// Shared and dedicated resource groups, foreign objects, name collisions.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A PUT as somebody else of the subscription would make it.
int put(const site& s, const std::string& path, const json& body, const std::string& version) {
  return s.call_azure("PUT", path, version, body).status;
}

site_options shared_group() {
  site_options options;
  options.settings = "      default_resource_group: Shared-Group\n";
  return options;
}

TEST(shared_group, holds_two_machines_whose_names_sanitize_alike) {
  const site s(shared_group());
  const std::string a = s.order_machine("web 1");
  const std::string b = s.order_machine("WEB--1");
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(a), "done") << run.log;
  ASSERT_EQ(s.order_state(b), "done") << run.log;
  ASSERT_EQ(s.machine_count(), 2U);
  const std::string id_a = s.resource(s.resource_of(a))["backend_id"].string_or("");
  const std::string id_b = s.resource(s.resource_of(b))["backend_id"].string_or("");
  EXPECT_NE(id_a, id_b);
  EXPECT_THAT(id_a, HasSubstr("hared-"));

  const std::string termination = s.terminate(s.resource_of(a));
  const agent_run ended = s.run_agent();
  ASSERT_EQ(s.order_state(termination), "done") << ended.log;
  const json all = s.azure().inventory();
  ASSERT_THAT(all["virtualMachines"].items(), SizeIs(1));
  EXPECT_EQ(all["virtualMachines"][0]["id"], json(id_b));
  for (const char* kind :
       {"resourceGroups",
        "virtualNetworks",
        "publicIPAddresses",
        "networkSecurityGroups",
        "networkInterfaces",
        "disks"}) {
    EXPECT_THAT(all[kind].items(), SizeIs(1)) << kind;
  }
}

TEST(shared_group, set_later_does_not_turn_a_termination_into_its_deletion) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  std::string yaml = s.default_offering_yaml("Azure VM", offering_uuid);
  const std::string line = "      default_location: westeurope\n";
  yaml.insert(yaml.find(line), "      default_resource_group: Shared-Group\n");
  s.write_config(yaml);
  ASSERT_EQ(
      put(s,
          "/subscriptions/" + std::string(subscription) + "/resourceGroups/Shared-Group",
          json::object({{"location", "westeurope"}}),
          "2021-04-01"),
      201
  );
  const std::string termination = s.terminate(s.resource_of(order));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(termination), "done");
  EXPECT_EQ(
      s.cloud_objects(),
      std::vector<std::string>{
          "resourceGroups /subscriptions/" + std::string(subscription) +
          "/resourceGroups/Shared-Group"}
  );
}

TEST(dedicated_group, with_a_foreign_object_keeps_it_when_the_group_carries_no_tag_of_ours) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string id = s.resource(s.resource_of(order))["backend_id"].string_or("");
  const std::string group = id.substr(0, id.find("/providers/"));
  // The group looks dedicated, but its tags are gone and somebody put an address into it.
  ASSERT_EQ(
      put(s,
          group,
          json::object({{"location", "westeurope"}, {"tags", json::object()}}),
          "2021-04-01"),
      200
  );
  const json address = json::object(
      {{"location", "westeurope"},
       {"sku", json::object({{"name", "Standard"}})},
       {"properties", json::object({{"publicIPAllocationMethod", "Static"}})}}
  );
  ASSERT_EQ(
      put(s, group + "/providers/Microsoft.Network/publicIPAddresses/theirs", address, "2024-05-01"
      ),
      201
  );

  const std::string termination = s.terminate(s.resource_of(order));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(termination), "done") << run.log;
  const json all = s.azure().inventory();
  EXPECT_THAT(all["virtualMachines"].items(), IsEmpty());
  EXPECT_THAT(all["networkInterfaces"].items(), IsEmpty());
  ASSERT_THAT(all["publicIPAddresses"].items(), SizeIs(1)) << run.log;
  EXPECT_EQ(all["publicIPAddresses"][0]["name"], json("theirs"));
  EXPECT_THAT(all["resourceGroups"].items(), SizeIs(1));
}

TEST(dedicated_group, of_somebody_else_is_never_written_into) {
  const site s;
  const std::string order = s.order_machine("web 1");
  const std::string uuid = s.resource_of(order);
  const std::string name = "group-" + uuid.substr(0, 4) + "-web-1";
  ASSERT_EQ(
      put(s,
          "/subscriptions/" + std::string(subscription) + "/resourceGroups/" + name,
          json::object({{"location", "westeurope"}}),
          "2021-04-01"),
      201
  );
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(order), "done") << run.log;
  const std::string id = s.resource(uuid)["backend_id"].string_or("");
  EXPECT_THAT(id, HasSubstr("/group-" + uuid.substr(0, 8) + "-web-1/"));
  const std::string termination = s.terminate(uuid);
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(termination), "done");
  EXPECT_EQ(
      s.cloud_objects(),
      std::vector<std::string>{
          "resourceGroups /subscriptions/" + std::string(subscription) + "/resourceGroups/" + name}
  );
}

TEST(termination, with_an_upper_cased_id_deletes_the_same_machine) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string uuid = s.resource_of(order);
  std::string id = s.resource(uuid)["backend_id"].string_or("");
  for (char& c : id) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  ASSERT_EQ(
      call(
          "POST",
          s.waldur().url() + "/api/marketplace-provider-resources/" + uuid + "/set_backend_id/",
          json::object({{"backend_id", id}}),
          staff_token
      )
          .status,
      200
  );
  const std::string termination = s.terminate(uuid);
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(termination), "done") << run.log;
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

TEST(termination, of_another_subscriptions_machine_is_an_error_and_deletes_nothing) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string uuid = s.resource_of(order);
  std::string id = s.resource(uuid)["backend_id"].string_or("");
  id.replace(id.find(subscription), subscription.size(), "99999999-9999-9999-9999-999999999999");
  call(
      "POST",
      s.waldur().url() + "/api/marketplace-provider-resources/" + uuid + "/set_backend_id/",
      json::object({{"backend_id", id}}),
      staff_token
  );
  const auto writes = s.azure().writes().size();
  const std::string termination = s.terminate(uuid);
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(termination), "rejected") << run.log;
  EXPECT_THAT(
      s.order(termination)["provider_rejection_comment"].string_or(""),
      HasSubstr("another Azure subscription")
  );
  EXPECT_EQ(s.machine_count(), 1U);
  EXPECT_EQ(s.azure().writes().size(), writes);
}

} // namespace
} // namespace siteagent::integration
