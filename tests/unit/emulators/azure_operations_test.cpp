// SPDX-License-Identifier: MIT
// Long-running operations: timing, monitors, expiry, scripted ends.
#include "azure_fixture.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace siteagent::azure_emulator {
namespace {

using azure_operations = cloud;
using outcome = emulators::operation_fault::outcome_kind;

const std::string network =
    R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}})";

TEST_F(azure_operations, instant_ones_end_at_the_first_look_and_not_before) {
  make(rg, R"({"location":"westeurope"})");
  const auto begun = put(net, network);
  EXPECT_EQ(begun.state(), "Updating");
  EXPECT_EQ(put(net, network).code(), "AnotherOperationInProgress");
  EXPECT_EQ(get(net).state(), "Succeeded") << "looking at the resource is a look";
  put(net, network);
  EXPECT_EQ(
      get(networks + "/virtualNetworks")
          .body["value"][0]
          .at({"properties", "provisioningState"})
          .string_or(""),
      "Succeeded"
  );
  remove(net);
  EXPECT_EQ(get(networks + "/virtualNetworks").body["value"].size(), 0U) << "a list is a look too";
}

TEST_F(azure_operations, instant_ones_end_by_themselves_when_nobody_looks) {
  make(rg, R"({"location":"westeurope"})");
  put(net, network);
  advance(std::chrono::seconds(2));
  EXPECT_EQ(put(net, network).status, 200);
}

TEST_F(azure_operations, status_documents_have_the_shape_of_their_provider) {
  make_network();
  azure_.set_timing(timing::fast());
  const auto network_begun = put(nsg, R"({"location":"westeurope"})");
  EXPECT_EQ(settle(network_begun).body.dump(), R"({"status":"InProgress"})");
  EXPECT_EQ(settle(network_begun).header("Retry-After"), "1");
  const auto machine_begun = put(vm, machine_body().dump());
  const auto doc = settle(machine_begun).body;
  EXPECT_EQ(doc["status"].string_or(""), "InProgress");
  EXPECT_TRUE(doc["startTime"].is_string());
  EXPECT_EQ(doc.find("endTime"), nullptr);
  EXPECT_EQ(doc.find("properties"), nullptr) << "an embedded resource would end Terraform's poll";
  advance(std::chrono::seconds(5));
  EXPECT_TRUE(settle(machine_begun).body["endTime"].is_string());
}

TEST_F(azure_operations, the_result_of_a_write_to_a_disk_is_the_disk) {
  make(rg, R"({"location":"westeurope"})");
  const std::string disk = compute + "/disks/spare";
  settle(put(disk, R"({"location":"westeurope","sku":{"name":"StandardSSD_LRS"},
    "properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":32}})"));
  const auto grown = arm("PATCH", disk, parsed(R"({"properties":{"diskSizeGB":64}})"));
  ASSERT_EQ(grown.status, 202) << grown.body.dump();
  const auto result = arm("GET", grown.header("Location"));
  EXPECT_EQ(result.status, 200);
  EXPECT_TRUE(result.body == get(disk).body) << result.body.dump();
  const auto gone = arm("GET", remove(disk).header("Location"));
  EXPECT_EQ(gone.status, 200);
  EXPECT_TRUE(gone.body.is_null()) << gone.body.dump();
}

TEST_F(azure_operations, monitors_live_a_day) {
  make(rg, R"({"location":"westeurope"})");
  const auto begun = put(net, network);
  settle(begun);
  advance(std::chrono::hours(23));
  token_ = fetch_token();
  EXPECT_EQ(settle(begun).status, 200);
  advance(std::chrono::hours(1));
  token_ = fetch_token();
  EXPECT_EQ(settle(begun).status, 404);
  EXPECT_EQ(get(net).status, 200);
}

TEST_F(azure_operations, monitors_are_unknown_elsewhere) {
  EXPECT_EQ(get("/providers/Microsoft.Network/locations/westeurope/operations/x").status, 404);
  EXPECT_EQ(get("/operationresults/x").code(), "OperationNotFound");
}

TEST_F(azure_operations, realistic_monitor_urls_must_come_back_unchanged) {
  make(rg, R"({"location":"westeurope"})");
  azure_.set_timing(timing::realistic());
  const auto begun = put(net, network);
  const std::string url = begun.header("Azure-AsyncOperation");
  EXPECT_GT(url.size(), 300U);
  EXPECT_EQ(begun.header("Retry-After"), "3");
  EXPECT_EQ(arm("GET", url).status, 200);
  EXPECT_EQ(arm("GET", url + "&x=1").status, 400);
  EXPECT_EQ(arm("GET", url.substr(0, url.find("&t="))).status, 400);
  auto other_version = url;
  other_version.replace(other_version.find("2024-07-01"), 10, "2024-05-01");
  EXPECT_EQ(arm("GET", other_version).code(), "InvalidAsyncOperationUri");
  advance(std::chrono::seconds(3));
  EXPECT_EQ(arm("GET", url).body.dump(), R"({"status":"Succeeded"})");
  const auto gone = remove(net);
  EXPECT_EQ(arm("GET", gone.header("Location")).status, 202);
  advance(std::chrono::seconds(4));
  EXPECT_EQ(arm("GET", gone.header("Location")).status, 204);
}

TEST_F(azure_operations, a_script_lets_them_fail_be_canceled_or_hang) {
  make(rg, R"({"location":"westeurope"})");
  fail_operations(emulators::operation_fault{outcome::failed, "NetworkingInternalOperationError"});
  const auto failed = put(net, network);
  EXPECT_EQ(failed.status, 201);
  EXPECT_EQ(settle(failed).body["status"].string_or(""), "Failed");
  EXPECT_EQ(settle(failed).code(), "NetworkingInternalOperationError");
  EXPECT_EQ(get(net).state(), "Failed");
  fail_operations({});
  settle(put(net, network));
  EXPECT_EQ(get(net).state(), "Succeeded");
  fail_operations(emulators::operation_fault{outcome::canceled, ""});
  const auto canceled = remove(net);
  EXPECT_EQ(settle(canceled).body["status"].string_or(""), "Canceled");
  EXPECT_EQ(get(net).status, 200);
  fail_operations(emulators::operation_fault{outcome::stuck, ""});
  const auto stuck = remove(net);
  fail_operations({});
  advance(std::chrono::hours(30));
  token_ = fetch_token();
  EXPECT_EQ(settle(stuck).body["status"].string_or(""), "InProgress");
  EXPECT_EQ(get(net).state(), "Deleting");
}

TEST_F(azure_operations, scripted_failures_reach_interfaces_and_groups_too) {
  make_network();
  fail_operations(emulators::operation_fault{outcome::failed, "InternalExecutionError"});
  const auto interface = put(nic + "2", interface_body("sub", ""));
  EXPECT_FALSE(interface.header("Azure-AsyncOperation").empty());
  settle(interface);
  EXPECT_EQ(get(nic + "2").state(), "Failed");
  const auto group = remove(rg);
  fail_operations({});
  const auto end = arm("GET", group.header("Location"));
  EXPECT_EQ(end.status, 409);
  EXPECT_EQ(end.code(), "InternalExecutionError");
  EXPECT_EQ(get(rg).state(), "Succeeded");
  EXPECT_EQ(get(nic).status, 200);
}

TEST(azure_timing, reads_its_file_and_refuses_nonsense) {
  EXPECT_TRUE(timing::parse("instant").value().ends_at_first_poll);
  EXPECT_TRUE(timing::parse("realistic").value().strict_urls);
  EXPECT_FALSE(timing::parse("slow").has_value());
  const auto of = [](const std::string& text) {
    return timing::from_json(base::json::parse(text).value());
  };
  const auto t = of(
      R"({"base":"realistic","durations_ms":{"machine_create":250},"retry_after_s":{"disk":7},"strict_urls":false})"
  );
  ASSERT_TRUE(t.has_value());
  EXPECT_EQ(t->duration(pace::machine_create), std::chrono::milliseconds(250));
  EXPECT_EQ(t->duration(pace::machine_delete), std::chrono::seconds(60));
  EXPECT_EQ(t->retry_after(pace::disk), 7);
  EXPECT_FALSE(t->strict_urls);
  for (const auto* bad :
       {R"([])",
        R"({"durations_ms":{"lunch":1}})",
        R"({"durations_ms":{"disk":-1}})",
        R"({"speed":1})",
        R"({"base":"/etc/passwd"})",
        R"({"strict_urls":"yes"})"}) {
    EXPECT_FALSE(of(bad).has_value()) << bad;
  }
  const auto path = std::filesystem::path(::testing::TempDir()) /
                    ("azure-timing-" +
                     std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + ".json");
  std::ofstream(path) << R"({"ends_at_first_poll":true})";
  EXPECT_TRUE(timing::parse(path.string()).value().ends_at_first_poll);
  std::filesystem::remove(path);
}

TEST_F(azure_operations, network_writes_say_by_their_type_when_to_come_back) {
  azure_.set_timing(timing::realistic());
  const auto wait = [](const answer& a) { return a.header("Retry-After"); };
  put(rg, R"({"location":"westeurope"})");
  EXPECT_EQ(
      wait(put(
          net,
          R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}})"
      )),
      "3"
  );
  EXPECT_EQ(
      wait(put(
          ip,
          R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})"
      )),
      "1"
  );
  EXPECT_EQ(
      wait(put(networks + "/applicationSecurityGroups/asg", R"({"location":"westeurope"})")), "10"
  );
  EXPECT_EQ(wait(put(nsg, R"({"location":"westeurope","properties":{}})")), "3");
  advance(std::chrono::seconds(30));
  EXPECT_EQ(
      wait(put(
          nsg + "/securityRules/r",
          R"({"properties":{"protocol":"*","sourcePortRange":"*","destinationPortRange":"22","sourceAddressPrefix":"*","destinationAddressPrefix":"*","access":"Allow","priority":100,"direction":"Inbound"}})"
      )),
      "10"
  );
  advance(std::chrono::seconds(30));
  EXPECT_EQ(wait(remove(ip)), "10");
}

TEST_F(azure_operations, tokens_go_by_a_clock_that_is_off_and_operations_do_not) {
  make(rg, R"({"location":"westeurope"})");
  net::server_request r;
  r.method = "GET";
  r.path = subscription_1 + rg;
  r.segments = {"subscriptions", subscription_1.substr(15), "resourceGroups", "rg"};
  r.query = "api-version=" + resource_api;
  r.parameters = {{"api-version", resource_api}};
  r.headers = {{"authorization", "Bearer " + token_}};
  emulators::call call;
  call.base_url = base_url;
  call.request_id = "r";
  call.now = clock_.wall();
  EXPECT_EQ(azure_.handle(r, call).status, 200);
  call.skew = std::chrono::hours(2);
  EXPECT_EQ(azure_.handle(r, call).status, 401) << "as if the token were old";
  call.skew = -std::chrono::hours(2);
  EXPECT_EQ(azure_.handle(r, call).status, 200);
}

} // namespace
} // namespace siteagent::azure_emulator
