// SPDX-License-Identifier: MIT
// The operator's limits and networks on whole sites.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

site_options with(std::string settings) {
  site_options options;
  options.settings = std::move(settings);
  return options;
}

TEST(price_limit, rejects_before_approval_with_the_list_price) {
  const site s(with("      max_hourly_price: 0.000001\n"));
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "rejected") << run.log;
  EXPECT_THAT(s.order(order)["provider_rejection_comment"].string_or(""), HasSubstr("list price"));
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

TEST(price_limit, above_the_price_lets_the_machine_be_made) {
  const site s(with("      max_hourly_price: 100 EUR\n"));
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "done") << run.log;
  const auto lines = s.azure().journal();
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const journal_line& l) {
    return l.path == "/api/retail/prices" && l.status == 200;
  }));
}

TEST(machine_limit, is_never_exceeded_by_orders_at_once) {
  const site s(with("      max_machines: 2\n"));
  std::vector<std::string> orders;
  for (int i = 0; i < 5; ++i) {
    orders.push_back(s.order_machine("web " + std::to_string(i)));
  }
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.machine_count(), 2U) << run.log;
  const auto in_state = [&](std::string_view state) {
    return std::count_if(orders.begin(), orders.end(), [&](const std::string& o) {
      return s.order_state(o) == state;
    });
  };
  EXPECT_EQ(in_state("done"), 2) << run.log;
  EXPECT_EQ(in_state("erred"), 0) << run.log;
}

TEST(own_network, machines_without_address_come_and_go_and_the_network_stays) {
  const std::string group =
      "/subscriptions/" + std::string(subscription) + "/resourceGroups/net.team";
  const std::string network = group + "/providers/Microsoft.Network/virtualNetworks/team";
  site_options options = with(
      "      public_ip: none\n      subnet_id: " + network + "/subnets/machines\n" +
      "      tags:\n        cost-center: \"42\"\n"
  );
  const site s(options);
  const http_answer made =
      s.call_azure("PUT", group, "2021-04-01", *json::parse(R"({"location":"westeurope"})"));
  ASSERT_EQ(made.status, 201) << made.body.dump();
  const json body = *json::parse(
      R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.9.0.0/16"]},
          "subnets":[{"name":"machines","properties":{"addressPrefix":"10.9.1.0/24"}}]}})"
  );
  ASSERT_EQ(s.call_azure("PUT", network, "2024-05-01", body).status, 201);
  const std::vector<std::string> before = s.cloud_objects();
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(order), "done") << run.log;
  const json resource = s.resource(s.resource_of(order));
  EXPECT_THAT(resource["endpoints"].dump(), HasSubstr("ssh://waldur@10.9.1.4")) << run.log;
  EXPECT_TRUE(resource.at({"backend_metadata", "virtual_machine", "public_ip"}).is_null());
  for (const std::string& object : s.cloud_objects()) {
    EXPECT_EQ(object.find("publicIPAddresses"), std::string::npos) << object;
  }
  const std::string removal = s.terminate(s.resource_of(order));
  const agent_run second = s.run_agent();
  EXPECT_EQ(s.order_state(removal), "done") << second.log;
  EXPECT_EQ(s.cloud_objects(), before) << second.log;
}

} // namespace
} // namespace siteagent::integration
