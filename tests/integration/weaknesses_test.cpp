// SPDX-License-Identifier: MIT
// Weaknesses of the plugin's predecessor that only a whole site shows not to be there, by number;
// the others are in tests/unit/azure/weaknesses_test.cpp, the table in plugins/azure/README.md.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace siteagent::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* machines_version = "2024-07-01";

// A site with one machine made by an order.
struct one_machine {
  explicit one_machine(site_options options = {}, json attributes = {})
      : s(std::move(options)), order(s.order_machine("web 1", std::move(attributes))) {
    const agent_run run = s.run_agent();
    EXPECT_EQ(s.order_state(order), "done") << run.log;
    uuid = s.resource_of(order);
    id = shown()["backend_id"].string_or("");
  }

  json shown() const { return s.resource(uuid); }

  std::string power() const {
    return shown().at({"backend_metadata", "virtual_machine", "power_state"}).string_or("");
  }

  // An order for this resource; its uuid.
  std::string ask(const std::string& action, const json& body) const {
    const auto asked = call(
        "POST",
        s.waldur().url() + "/api/marketplace-resources/" + uuid + "/" + action + "/",
        body,
        staff_token
    );
    EXPECT_EQ(asked.status, 200) << asked.body.dump();
    return asked.body["order_uuid"].string_or("");
  }

  std::map<std::string, std::string> usage() const {
    std::map<std::string, std::string> out;
    const auto answer = call(
        "GET",
        s.waldur().url() + "/api/marketplace-component-usages/?resource_uuid=" + uuid,
        {},
        staff_token
    );
    for (const json& u : answer.body.items()) {
      out[u["type"].string_or("")] = u["usage"].number_text().value_or("");
    }
    return out;
  }

  site s;
  std::string order;
  std::string uuid;
  std::string id;
};

json answers(const char* method, const char* path, int status, const char* code, int times) {
  return json::object(
      {{"match", json::object({{"method", method}, {"path", path}, {"times", times}})},
       {"when", "before"},
       {"do",
        json::object(
            {{"status", status},
             {"headers", json::object({{"Content-Type", "application/json"}})},
             {"body",
              json::object({{"error", json::object({{"code", code}, {"message", "text"}})}}
              ).dump()}}
        )}}
  );
}

TEST(weakness, w02_a_status_pass_leaves_machines_ok_and_their_usage_is_taken) {
  const one_machine m;
  ASSERT_EQ(m.s.run_agent("membership_sync").exit_code, 0);
  const json shown = m.shown();
  EXPECT_EQ(shown["state"], json("OK"));
  EXPECT_EQ(shown.at({"limits", "cpu"}).integer(), 1);
  ASSERT_EQ(m.s.run_agent("report").exit_code, 0);
  EXPECT_THAT(m.usage(), SizeIs(3));
}

TEST(weakness, w03_status_passes_start_nothing_that_runs_or_was_stopped_on_purpose) {
  const one_machine m;
  m.s.run_agent("membership_sync");
  ASSERT_EQ(m.s.call_azure("POST", m.id + "/deallocate", machines_version).status, 202);
  m.s.azure().advance_clock(3600);
  const auto writes = m.s.azure().writes().size();
  m.s.run_agent("membership_sync");
  m.s.run_agent("membership_sync");
  EXPECT_EQ(m.power(), "deallocated");
  EXPECT_EQ(m.s.azure().writes().size(), writes);
}

TEST(weakness, w08_the_first_error_is_told_and_a_failed_deletion_is_repeated) {
  site_options options;
  options.settings = "      default_resource_group: Shared-Group\n";
  const site s(options);
  s.azure().set_faults(json::array(
      {answers("PUT", "/virtualMachines/", 409, "SkuNotAvailable", 1),
       answers(
           "DELETE", "/networkSecurityGroups/", 400, "InUseNetworkSecurityGroupCannotBeDeleted", 2
       )}
  ));
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(
      s.order(order)["error_message"].string_or(""),
      AllOf(HasSubstr("size"), Not(HasSubstr("delete")))
  );
  const std::vector<std::string> left = s.cloud_objects();
  EXPECT_THAT(left, SizeIs(1));
  EXPECT_THAT(left, testing::Each(HasSubstr("/resourceGroups/Shared-Group")));
}

TEST(weakness, w10_a_key_of_the_third_page_is_found) {
  site_options options;
  options.waldur_seed = json::object({{"keys", 25}});
  const site s(options);
  const auto keys = call(
      "GET",
      s.waldur().url() + "/api/marketplace-service-providers/e2ef0000000000000000000000000102/keys/"
                         "?page_size=10&page=3",
      {},
      staff_token
  );
  ASSERT_EQ(keys.body.size(), 5U) << keys.body.dump();
  const std::string uuid = keys.body[4]["uuid"].string_or("");
  const std::string order = s.order_machine("web 1", json::object({{"ssh_key", uuid}}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "done") << run.log;
}

TEST(weakness, w16_an_order_to_resize_is_rejected_and_the_resource_stays_ok) {
  const one_machine m;
  const std::string order = m.ask(
      "update_limits",
      json::object({{"limits", json::object({{"cpu", 8}, {"ram", 1024}, {"disk", 30720}})}})
  );
  m.s.run_agent();
  EXPECT_EQ(m.s.order_state(order), "rejected");
  EXPECT_NE(m.s.order(order)["provider_rejection_comment"].string_or(""), "");
  EXPECT_EQ(m.shown()["state"], json("OK"));
}

TEST(weakness, w17_an_order_for_another_plan_is_rejected_and_the_plan_stays) {
  site_options options;
  options.waldur_seed = *json::parse(R"({"plans": [
      {"uuid": "e2ef0000000000000000000000000401", "name": "Small", "quotas": {"cpu": 1}},
      {"uuid": "e2ef0000000000000000000000000402", "name": "Large", "quotas": {"cpu": 8}}]})");
  const one_machine m(options);
  const json before = m.shown()["plan_uuid"];
  const std::string order = m.ask(
      "switch_plan",
      json::object(
          {{"plan",
            m.s.waldur().url() + "/api/marketplace-public-plans/e2ef0000000000000000000000000402/"}}
      )
  );
  const agent_run run = m.s.run_agent();
  EXPECT_EQ(m.s.order_state(order), "rejected") << run.log;
  EXPECT_THAT(m.s.order(order)["provider_rejection_comment"].string_or(""), HasSubstr("plan"));
  const json shown = m.shown();
  EXPECT_EQ(shown["state"], json("OK"));
  EXPECT_EQ(shown["plan_uuid"], before);
}

TEST(weakness, w27_a_machine_made_smaller_is_reported_in_the_same_month) {
  const one_machine m({}, json::object({{"size", "Standard_B2s"}}));
  m.s.run_agent("report");
  ASSERT_EQ(m.usage().at("cpu"), "2.00");
  const json smaller =
      *json::parse(R"({"properties":{"hardwareProfile":{"vmSize":"Standard_B1s"}}})");
  ASSERT_LT(m.s.call_azure("PATCH", m.id, machines_version, smaller).status, 300);
  m.s.azure().advance_clock(600);
  const agent_run run = m.s.run_agent("report");
  EXPECT_EQ(m.usage().at("cpu"), "1.00") << run.log;
}

TEST(weakness, w29_a_pause_that_fails_shows_the_true_state_and_is_tried_again) {
  const one_machine m;
  m.s.azure().set_faults(
      json::array({answers("POST", "/deallocate$", 403, "AuthorizationFailed", 1'000)})
  );
  m.s.set_paused(m.uuid, true);
  const agent_run run = m.s.run_agent("membership_sync");
  EXPECT_THAT(run.log, HasSubstr("power state not changed"));
  EXPECT_EQ(m.power(), "running");
  m.s.azure().clear_faults();
  m.s.run_agent("membership_sync");
  EXPECT_EQ(m.power(), "deallocated");
}

// Two machines as earlier products left them, in one group that Azure shows in capitals.
json two_old_machines() {
  json seed = json::object();
  for (const std::string name : {"old-1", "old-2"}) {
    const std::string in_group = R"({"resourceGroup": "OLD_MACHINES", "location": "westeurope", )";
    const std::string network = "/subscriptions/" + std::string(subscription) +
                                "/resourceGroups/OLD_MACHINES/providers/Microsoft.Network/";
    const auto add = [&](const char* kind, const std::string& rest) {
      seed.member_ref(kind).push_back(*json::parse(in_group + rest));
    };
    for (const char* kind :
         {"virtualNetworks", "subnets", "networkInterfaces", "virtualMachines"}) {
      if (seed.find(kind) == nullptr) {
        seed.set(kind, json::array());
      }
    }
    add("virtualNetworks",
        R"("name": "net)" + name +
            R"(", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}})");
    seed.member_ref("subnets").push_back(*json::parse(
        R"({"resourceGroup": "OLD_MACHINES", "virtualNetwork": "net)" + name +
        R"(", "name": "subnet)" + name + R"(", "properties": {"addressPrefix": "10.0.0.0/24"}})"
    ));
    add("networkInterfaces",
        R"("name": "nic)" + name + R"(", "properties": {"ipConfigurations": [{"name": "ipconf)" +
            name + R"(", "properties": {"subnet": {"id": ")" + network + "virtualNetworks/net" +
            name + "/subnets/subnet" + name + R"("}}}]}})");
    add("virtualMachines",
        R"("name": ")" + name +
            R"(", "properties": {"hardwareProfile": {"vmSize": "Standard_B1s"},
            "storageProfile": {"imageReference": {"publisher": "Debian", "offer": "debian-12",
              "sku": "12", "version": "latest"}, "osDisk": {"createOption": "FromImage"}},
            "osProfile": {"computerName": ")" +
            name + R"(", "adminUsername": "waldur", "adminPassword": "Passw0rd.of.old"},
            "networkProfile": {"networkInterfaces": [{"id": ")" +
            network + "networkInterfaces/nic" + name + R"("}]}}})");
  }
  return seed;
}

TEST(weakness, w33_the_emulated_azure_is_as_strict_as_the_real_one) {
  site_options options;
  options.azure_seed = two_old_machines();
  options.azure_seed.erase("virtualMachines"); // their interfaces are free
  const site s(options);
  const std::string here = "/subscriptions/" + std::string(subscription);
  const std::string group = here + "/resourceGroups/OLD_MACHINES/providers/";
  json machine = *json::parse(R"({"location":"westeurope","properties":{
      "hardwareProfile":{"vmSize":"Standard_B1s"},
      "storageProfile":{"imageReference":{"publisher":"Debian","offer":"debian-12","sku":"12",
        "version":"latest"},"osDisk":{"createOption":"FromImage"}},
      "osProfile":{"computerName":"web","adminUsername":"ada",
        "linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{}}},
      "networkProfile":{}}})");
  json& properties = machine.member_ref("properties");
  const std::string nic = group + "Microsoft.Network/networkInterfaces/nicold-1";
  properties.member_ref("networkProfile")
      .set("networkInterfaces", json::array({json::object({{"id", nic}})}));
  const auto put = [&](const char* path, const std::string& data) {
    json key = json::object({{"keyData", ssh_key}});
    if (path != nullptr) {
      key.set("path", path);
    }
    json& profile = properties.member_ref("osProfile");
    json& access = profile.member_ref("linuxConfiguration").member_ref("ssh");
    access.set("publicKeys", json::array({key}));
    profile.set("customData", data);
    const std::string id = group + "Microsoft.Compute/virtualMachines/web";
    const auto answer = s.call_azure("PUT", id, machines_version, machine);
    return std::to_string(answer.status) + " " + answer.body.at({"error", "target"}).string_or("");
  };
  constexpr const char* path = "/home/ada/.ssh/authorized_keys";
  EXPECT_EQ(put(nullptr, "aGVsbG8="), "400 linuxConfiguration.ssh.publicKeys.path");
  EXPECT_THAT(put(path, "#cloud-config"), AllOf(HasSubstr("400 "), HasSubstr("customData")));
  EXPECT_EQ(put(path, "aGVsbG8="), "201 ");
  const auto sizes = s.call_azure(
      "GET", here + "/providers/Microsoft.Compute/locations/westeurope/vmSizes", machines_version
  );
  EXPECT_GE(sizes.body["value"][0]["osDiskSizeInMB"].integer().value_or(0), 1'000'000);
}

TEST(taken_over, machines_of_a_shared_group_are_managed_one_by_one_whatever_its_case) {
  const std::string uuid = "e2ef0000000000000000000000000901";
  site_options options;
  options.azure_seed = two_old_machines();
  options.waldur_seed = *json::parse(
      R"({"resources": [{"uuid": ")" + uuid + R"(", "name": "Renamed since", "state": "OK",
          "backend_id": "/subscriptions/)" +
      std::string(subscription) +
      R"(/resourceGroups/old_machines/providers/Microsoft.Compute/virtualMachines/OLD-1",
          "limits": {"cpu": 1, "ram": 1024, "disk": 30720}}]})"
  );
  const site s(options);
  s.set_paused(uuid, true);
  const agent_run paused = s.run_agent("membership_sync");
  EXPECT_EQ(
      s.resource(uuid).at({"backend_metadata", "virtual_machine", "power_state"}),
      json("deallocated")
  ) << paused.log;
  const agent_run orphans = s.run_command({"orphans", "--json"});
  EXPECT_THAT(orphans.log, Not(HasSubstr("old-2")));
  const std::string end = s.terminate(uuid);
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(end), "done") << run.log;
  const json all = s.azure().inventory();
  for (const char* kind : {"virtualMachines", "networkInterfaces", "virtualNetworks", "disks"}) {
    ASSERT_THAT(all[kind].items(), SizeIs(1)) << kind;
    EXPECT_THAT(all[kind][0]["name"].string_or(""), HasSubstr("old-2")) << kind;
  }
}

} // namespace
} // namespace siteagent::integration
