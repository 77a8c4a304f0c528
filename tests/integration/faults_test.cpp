// SPDX-License-Identifier: MIT
// Every write of a create meets every kind of trouble once: nothing is lost, nothing is made twice.
#include "tests/integration/expect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace siteagent::integration {
namespace {

using ::testing::IsEmpty;

struct target {
  const char* name;
  bool in_cloud; // else in Waldur
  const char* method;
  const char* path;
};

struct trouble {
  const char* name;
  const char* when;
  const char* what; // JSON of "do"
};

void PrintTo(const target& t, std::ostream* out) {
  *out << t.name;
}

void PrintTo(const trouble& t, std::ostream* out) {
  *out << t.name;
}

constexpr target targets[] = {
    {"resource_group", true, "PUT", "/resource[gG]roups/[^/]+$"},
    {"virtual_network", true, "PUT", "/virtualNetworks/[^/]+$"},
    {"subnet", true, "PUT", "/subnets/[^/]+$"},
    {"public_ip_address", true, "PUT", "/publicIPAddresses/[^/]+$"},
    {"network_security_group", true, "PUT", "/networkSecurityGroups/[^/]+$"},
    {"network_interface", true, "PUT", "/networkInterfaces/[^/]+$"},
    {"virtual_machine", true, "PUT", "/virtualMachines/[^/]+$"},
    {"operation_poll", true, "GET", "/operations/"},
    {"approval", false, "POST", "/approve_by_provider/$"},
    {"backend_id", false, "POST", "/marketplace-provider-resources/[^/]+/set_backend_id/$"},
    {"metadata", false, "POST", "/set_backend_metadata/$"},
    {"done", false, "POST", "/set_state_done/$"},
};

constexpr trouble troubles[] = {
    {"cut_before", "before", R"("cut")"},
    {"cut_after", "after", R"("cut")"},
    {"truncated", "after", R"("truncate")"},
    {"unavailable_before",
     "before",
     R"({"status":503,"headers":{"Retry-After":"1"},"body":"busy"})"},
    {"gateway_timeout_after", "after", R"({"status":504,"body":"<html>504</html>"})"},
    {"throttled_by_date",
     "before",
     R"({"status":429,"headers":{"Retry-After":"Thu, 01 Jan 2026 00:00:00 GMT"},"body":"{}"})"},
    {"no_json_after",
     "after",
     R"({"status":200,"headers":{"Content-Type":"application/json"},"body":"{\"a\":"})"},
};

class one_fault : public testing::TestWithParam<std::tuple<target, trouble>> {};

TEST_P(one_fault, costs_no_order_and_makes_no_second_machine) {
  const auto& [where, what] = GetParam();
  const site s;
  const std::string order = s.order_machine("web 1");
  (where.in_cloud ? s.azure() : s.waldur())
      .set_faults(json::array({json::object(
          {{"match",
            json::object({{"method", where.method}, {"path", where.path}, {"nth", 1}, {"times", 1}}
            )},
           {"when", what.when},
           {"do", *json::parse(what.what)}}
      )}));
  agent_run run = s.run_agent();
  for (int again = 0; again < 2 && s.order_state(order) != "done"; ++again) {
    run = s.run_agent();
  }
  ASSERT_EQ(s.order_state(order), "done") << run.log;
  const auto lines = (where.in_cloud ? s.azure() : s.waldur()).journal();
  ASSERT_EQ(
      std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.is_faulted; }), 1
  ) << "the trouble never happened";
  expect_exactly_one_machine(s, order);
}

INSTANTIATE_TEST_SUITE_P(
    every_write,
    one_fault,
    testing::Combine(testing::ValuesIn(targets), testing::ValuesIn(troubles)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param).name;
    }
);

TEST(refused_credentials, leave_every_order_waiting_and_err_none) {
  const site s;
  std::string yaml = s.default_offering_yaml("Azure VM", offering_uuid);
  const std::string secret = "client_secret: emulator-secret";
  yaml.replace(yaml.find(secret), secret.size(), "client_secret: not-the-secret");
  s.write_config(yaml);
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(run.exit_code, 1) << "an offering that could not run";
  EXPECT_EQ(run.log.find("not-the-secret"), std::string::npos) << "a secret in the log";
  const std::string state = s.order_state(order);
  EXPECT_TRUE(state == "pending-provider" || state == "executing") << state << run.log;
  EXPECT_THAT(s.azure().writes(), IsEmpty());
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
}

TEST(secrets, are_in_no_log_also_at_debug_level) {
  const site s;
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid), "log_level: DEBUG\n");
  s.order_machine("web 1");
  const agent_run run = s.run_agent();
  ASSERT_EQ(run.exit_code, 0);
  for (const std::string_view secret :
       {std::string_view("emulator-secret"), agent_token, std::string_view("Bearer ey")}) {
    EXPECT_EQ(run.log.find(secret), std::string::npos) << secret;
  }
}

TEST(cloud_over_tls, is_reached_with_its_own_authority_and_refused_without) {
  const site s;
  const std::string certificates = s.dir().file("certificates");
  std::filesystem::create_directory(certificates);
  const emulator secure(
      SITEAGENT_BIN_DIR "/azure-emulator",
      s.dir(),
      "azure-tls",
      {"--timing", "instant", "--tls-auto", certificates}
  );
  std::string yaml = s.default_offering_yaml("Azure VM", offering_uuid);
  for (auto at = yaml.find(s.azure().url()); at != std::string::npos;
       at = yaml.find(s.azure().url())) {
    yaml.replace(at, s.azure().url().size(), secure.url());
  }
  s.write_config(yaml);
  const std::string order = s.order_machine("web 1");
  const agent_run refused = s.run_agent();
  EXPECT_NE(s.order_state(order), "erred") << refused.log;
  EXPECT_THAT(secure.writes(), IsEmpty());

  const std::string cloud = "      cloud:\n";
  yaml.insert(yaml.find(cloud) + cloud.size(), "        ca_file: " + certificates + "/ca.pem\n");
  s.write_config(yaml);
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "done") << run.log;
  EXPECT_THAT(s.azure().writes(), IsEmpty());
  EXPECT_EQ(secure.writes().size(), 7U);
}

} // namespace
} // namespace siteagent::integration
