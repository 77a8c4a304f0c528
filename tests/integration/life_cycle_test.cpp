// SPDX-License-Identifier: MIT
// From a Waldur order to a running machine, and back to an empty subscription.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string power_state(const emulator& azure, const std::string& id) {
  const auto answer = call("GET", azure.url() + "/_emu/inventory");
  for (const json& vm : answer.body["virtualMachines"].items()) {
    if (vm["id"] == json(id)) {
      for (const json& status : vm.at({"properties", "instanceView", "statuses"}).items()) {
        const std::string code = status["code"].string_or("");
        if (code.starts_with("PowerState/")) {
          return code.substr(std::string("PowerState/").size());
        }
      }
    }
  }
  return "";
}

TEST(life_cycle, an_order_becomes_a_machine_that_is_metered_paused_restored_and_terminated) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  ASSERT_EQ(s.order_state(order), "done") << s.order(order).pretty();

  const std::string uuid = s.resource_of(order);
  const json made = s.resource(uuid);
  const std::string id = made["backend_id"].string_or("");
  EXPECT_THAT(id, HasSubstr("/providers/Microsoft.Compute/virtualMachines/web-1"));
  EXPECT_EQ(made["state"], json("OK"));
  EXPECT_EQ(made.at({"backend_metadata", "virtual_machine", "id"}), json(id));
  EXPECT_EQ(made.at({"backend_metadata", "backend_type"}), json("azure"));
  EXPECT_THAT(made["endpoints"][0]["url"].string_or(""), HasSubstr("ssh://waldur@"));
  EXPECT_EQ(made.at({"limits", "cpu"}).integer(), 1);

  const json all = s.azure().inventory();
  for (const char* kind :
       {"resourceGroups",
        "virtualNetworks",
        "publicIPAddresses",
        "networkSecurityGroups",
        "networkInterfaces",
        "virtualMachines",
        "disks"}) {
    EXPECT_THAT(all[kind].items(), SizeIs(1)) << kind;
    if (std::string(kind) != "disks") {
      EXPECT_EQ(all[kind][0].at({"tags", "waldur-resource-uuid"}), json(uuid)) << kind;
      EXPECT_EQ(all[kind][0].at({"tags", "waldur-offering-uuid"}), json(offering_uuid)) << kind;
      EXPECT_EQ(all[kind][0].at({"tags", "managed-by"}), json("waldur-site-agent")) << kind;
    }
  }
  EXPECT_EQ(power_state(s.azure(), id), "running");

  ASSERT_EQ(s.run_agent("report").exit_code, 0);
  const auto usages = call(
      "GET",
      s.waldur().url() + "/api/marketplace-component-usages/?resource_uuid=" + uuid,
      {},
      staff_token
  );
  ASSERT_THAT(usages.body.items(), SizeIs(3)) << usages.body.dump();
  for (const json& u : usages.body.items()) {
    const std::string type = u["type"].string_or("");
    const std::string usage(u["usage"].number_text().value_or(""));
    if (type == "cpu") {
      EXPECT_EQ(usage, "1.00");
    } else if (type == "ram") {
      EXPECT_EQ(usage, "1024.00");
    }
  }

  s.set_paused(uuid, true);
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  EXPECT_EQ(power_state(s.azure(), id), "deallocated");
  s.set_paused(uuid, false);
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  EXPECT_EQ(power_state(s.azure(), id), "running");

  const std::string termination = s.terminate(uuid);
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(termination), "done");
  EXPECT_EQ(s.resource(uuid)["state"], json("Terminated"));
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

TEST(life_cycle, a_machine_stopped_by_its_owner_is_not_started) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string uuid = s.resource_of(order);
  const std::string id = s.resource(uuid)["backend_id"].string_or("");

  ASSERT_EQ(s.call_azure("POST", id + "/deallocate", "2024-07-01").status, 202);
  s.azure().advance_clock(3600);
  ASSERT_EQ(power_state(s.azure(), id), "deallocated");

  const auto writes = s.azure().writes().size();
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  EXPECT_EQ(power_state(s.azure(), id), "deallocated");
  EXPECT_EQ(s.azure().writes().size(), writes);
}

TEST(life_cycle, a_status_pass_over_settled_machines_writes_nothing_to_the_cloud) {
  const site s;
  for (int i = 0; i < 3; ++i) {
    s.order_machine("web " + std::to_string(i));
  }
  ASSERT_EQ(s.run_agent().exit_code, 0);
  ASSERT_EQ(s.machine_count(), 3U);
  const auto writes = s.azure().writes().size();
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  ASSERT_EQ(s.run_agent("report").exit_code, 0);
  EXPECT_EQ(s.azure().writes().size(), writes);
}

TEST(life_cycle, a_second_report_posts_no_unchanged_usage) {
  const site s;
  s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  ASSERT_EQ(s.run_agent("report").exit_code, 0);
  const auto posts = [&] {
    int n = 0;
    for (const journal_line& line : s.waldur().journal()) {
      n += line.path.find("set_usage") != std::string::npos ? 1 : 0;
    }
    return n;
  };
  const int first = posts();
  EXPECT_GE(first, 1);
  ASSERT_EQ(s.run_agent("report").exit_code, 0);
  EXPECT_EQ(posts(), first);
}

TEST(life_cycle, downscaling_deallocates_too) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string uuid = s.resource_of(order);
  const std::string id = s.resource(uuid)["backend_id"].string_or("");
  s.set_downscaled(uuid, true);
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  EXPECT_EQ(power_state(s.azure(), id), "deallocated");
  s.set_downscaled(uuid, false);
  ASSERT_EQ(s.run_agent("membership_sync").exit_code, 0);
  EXPECT_EQ(power_state(s.azure(), id), "running");
}

} // namespace
} // namespace siteagent::integration
