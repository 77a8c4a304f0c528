// SPDX-License-Identifier: MIT
// A plugin that cannot be used makes its own offering unhealthy; the others go on.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view null_offering = "e2ef0000000000000000000000000202";

struct damage {
  const char* name;
  const char* says; // part of the refusal
  void (*apply)(const std::string& path);
};

const damage damages[] = {
    {"removed", "azure", [](const std::string& path) { std::filesystem::remove(path); }},
    {"corrupted",
     "azure.so",
     [](const std::string& path) { write_file(path, "not a shared object\n"); }},
    {"cut_short",
     "azure.so",
     [](const std::string& path) { std::filesystem::resize_file(path, 4096); }},
    {"group_writable",
     "may be written by its group",
     [](const std::string& path) { ::chmod(path.c_str(), 0775); }},
    {"of_a_wrong_abi",
     "sagent_plugin_v",
     [](const std::string& path) {
       std::filesystem::copy_file(
           SITEAGENT_BROKEN_PLUGIN_DIR "/wrong-major.so",
           path,
           std::filesystem::copy_options::overwrite_existing
       );
     }},
    {"with_another_id",
     "id",
     [](const std::string& path) {
       std::filesystem::copy_file(
           SITEAGENT_PLUGIN_DIR "/null.so", path, std::filesystem::copy_options::overwrite_existing
       );
     }},
};

void PrintTo(const damage& d, std::ostream* out) {
  *out << d.name;
}

class plugin_that_is : public testing::TestWithParam<damage> {};

TEST_P(plugin_that_is, refused_alone) {
  site_options options;
  options.waldur_seed = *json::parse(R"({"offerings": [
    {"uuid": "e2ef0000000000000000000000000201", "name": "Azure VM"},
    {"uuid": "e2ef0000000000000000000000000202", "name": "Null"}],
    "plans": [
    {"uuid": "e2ef0000000000000000000000000401", "offering": "e2ef0000000000000000000000000201"},
    {"uuid": "e2ef0000000000000000000000000402", "offering": "e2ef0000000000000000000000000202"}]})"
  );
  site s(options);
  const std::string directory = s.dir().file("plugins");
  std::filesystem::create_directory(directory);
  for (const char* file : {"azure.so", "null.so"}) {
    std::filesystem::copy_file(
        std::string(SITEAGENT_PLUGIN_DIR "/") + file, directory + "/" + file
    );
  }
  GetParam().apply(directory + "/azure.so");
  s.set_plugin_dir(directory);
  s.write_config(
      s.default_offering_yaml("Azure VM", offering_uuid) +
      "  - name: Null cloud\n"
      "    waldur_api_url: " +
      s.waldur().url() +
      "/api/\n"
      "    waldur_api_token: " +
      std::string(agent_token) +
      "\n"
      "    waldur_offering_uuid: " +
      std::string(null_offering) +
      "\n"
      "    backend_type: \"null\"\n"
      "    backend_settings:\n"
      "      state_file: " +
      s.dir().file("null.json") + "\n"
  );
  const std::string azure_order = s.order_machine("web 1");
  const std::string null_order = s.order_machine("web 2", {}, null_offering);
  const agent_run run = s.run_agent();
  EXPECT_EQ(run.exit_code, 1) << "an offering that could not run";
  EXPECT_THAT(run.log, HasSubstr(GetParam().says));
  EXPECT_EQ(s.order_state(azure_order), "pending-provider") << run.log;
  EXPECT_EQ(s.order_state(null_order), "done") << run.log;
  EXPECT_TRUE(s.azure().writes().empty());
}

INSTANTIATE_TEST_SUITE_P(damages, plugin_that_is, testing::ValuesIn(damages), [](const auto& test) {
  return std::string(test.param.name);
});

} // namespace
} // namespace siteagent::integration
