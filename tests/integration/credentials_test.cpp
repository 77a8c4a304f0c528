// SPDX-License-Identifier: MIT
// Refused credentials, secrets in logs, a cloud behind an authority of its own.
#include "tests/integration/expect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using ::testing::IsEmpty;

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
