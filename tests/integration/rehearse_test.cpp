// SPDX-License-Identifier: MIT
// rehearse: the operator's own file, played on emulators that it starts itself.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace siteagent::integration {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

json rehearsed(const agent_run& run) {
  const std::size_t start = run.log.find('{');
  const auto document = json::parse(start == std::string::npos ? "" : run.log.substr(start));
  EXPECT_TRUE(document) << run.log;
  return document ? *document : json::object();
}

std::vector<std::string> texts(const json& list) {
  std::vector<std::string> out;
  for (const json& item : list.items()) {
    out.push_back(item.string_or(""));
  }
  return out;
}

std::vector<std::string> names(const json& acts) {
  std::vector<std::string> out;
  for (const json& a : acts.items()) {
    out.push_back(a["name"].string_or(""));
  }
  return out;
}

// "PUT virtualMachines" for each write to that side.
std::vector<std::string> writes(const json& act, std::string_view side, std::string_view part) {
  std::vector<std::string> out;
  for (const json& c : act["calls"].items()) {
    const std::string path = c["path"].string_or("");
    if (c["on"].string_or("") == side && c["method"].string_or("") != "GET" &&
        path.find(part) != std::string::npos) {
      out.push_back(c["method"].string_or("") + " " + path);
    }
  }
  return out;
}

TEST(rehearse, plays_a_whole_life_and_asks_neither_the_real_waldur_nor_the_real_cloud) {
  const site s;
  const agent_run run = s.run_command({"rehearse", "--json"});
  const json document = rehearsed(run);
  EXPECT_EQ(run.exit_code, 0) << run.log;
  ASSERT_EQ(document["offerings"].size(), 1U);
  const json& o = document["offerings"][0];
  EXPECT_THAT(texts(o["problems"]), IsEmpty());
  EXPECT_EQ(o["emulator"].string_or(""), "azure-emulator");
  ASSERT_THAT(names(o["acts"]), ElementsAre("create", "report", "pause", "restore", "terminate"));
  const json& acts = o["acts"];
  EXPECT_THAT(writes(acts[0], "cloud", "/virtualMachines/"), SizeIs(1));
  EXPECT_THAT(writes(acts[0], "waldur", "set_state_done"), SizeIs(1));
  EXPECT_THAT(writes(acts[2], "cloud", "/deallocate"), SizeIs(1));
  EXPECT_THAT(writes(acts[3], "cloud", "/start"), SizeIs(1));
  EXPECT_THAT(writes(acts[4], "cloud", "/resourceGroups/"), Contains(HasSubstr("DELETE")));
  EXPECT_EQ(o["usage"].size(), 3U) << o["usage"].dump();
  EXPECT_THAT(s.azure().journal(), IsEmpty());
  EXPECT_THAT(s.waldur().journal(), IsEmpty());
}

TEST(rehearse, brings_a_cloud_in_which_the_file_s_own_names_hold) {
  site_options options;
  options.settings = "      allowed_sizes: [Standard_B1s, Standard_E8s_v5]\n"
                     "      allowed_images: ['Contoso:server:22']\n"
                     "      default_resource_group: shared\n"
                     "      subnet_id: /subscriptions/11111111-1111-1111-1111-111111111111"
                     "/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp"
                     "/subnets/machines\n";
  const site s(options);
  std::string config = read_file(s.config_file());
  const std::string image = "Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest";
  config.replace(config.find(image), image.size(), "Contoso:server:22:latest");
  const std::string size = "default_size: Standard_B1s";
  config.replace(config.find(size), size.size(), "default_size: Standard_E8s_v5");
  write_file(s.config_file(), config);
  const agent_run run = s.run_command({"rehearse", "--json"});
  const json document = rehearsed(run);
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_THAT(
      writes(document["offerings"][0]["acts"][0], "cloud", "/virtualMachines/"),
      Contains(HasSubstr("/resourceGroups/shared/"))
  );
}

TEST(rehearse, needs_none_of_the_operator_s_secrets) {
  const site s;
  std::string config = read_file(s.config_file());
  for (const std::string& secret : {std::string(agent_token), std::string("emulator-secret")}) {
    config.replace(config.find(secret), secret.size(), "${SITE_AGENT_TEST_UNSET}");
  }
  write_file(s.config_file(), config);
  const json document = rehearsed(s.run_command({"rehearse", "--json"}));
  EXPECT_THAT(texts(document["findings"]), Contains(HasSubstr("SITE_AGENT_TEST_UNSET")));
  ASSERT_EQ(document["offerings"].size(), 1U);
  EXPECT_THAT(names(document["offerings"][0]["acts"]), Contains("terminate"));
}

TEST(rehearse, tells_what_is_wrong_with_the_settings) {
  const site s;
  std::string config = read_file(s.config_file());
  const std::string size = "default_size: Standard_B1s";
  config.replace(config.find(size), size.size(), "allowed_sizes: [Standard_B2s]");
  write_file(s.config_file(), config);
  const agent_run run = s.run_command({"rehearse"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.log, HasSubstr("problems"));
  EXPECT_THAT(run.log, HasSubstr("create: the customer's order"));
}

TEST(rehearse, leaves_an_offering_alone_whose_plugin_cannot_be_found) {
  const site s;
  std::string config = read_file(s.config_file());
  for (std::size_t at = config.find("backend: azure"); at != std::string::npos;
       at = config.find("backend: azure")) {
    config.replace(at, 14, "backend: nebula");
  }
  const std::string type = "backend_type: azure";
  config.replace(config.find(type), type.size(), "backend_type: nebula");
  write_file(s.config_file(), config);
  const agent_run run = s.run_command({"rehearse", "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const json document = rehearsed(run);
  EXPECT_THAT(texts(document["offerings"][0]["problems"]), Contains(HasSubstr("nebula")));
  EXPECT_THAT(names(document["offerings"][0]["acts"]), IsEmpty());
}

} // namespace
} // namespace siteagent::integration
