// SPDX-License-Identifier: MIT
// The Python agent's commands in our words.
#include "core/app/python_names.hpp"

#include "core/app/command_line.hpp"

#include <gmock/gmock.h>

namespace siteagent::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string>
words_of(std::string_view program, const std::vector<std::string_view>& words) {
  const python_command* as = find_python_command(program);
  if (as == nullptr) {
    ADD_FAILURE() << program;
    return {};
  }
  return own_words(*as, words);
}

command_line parsed(std::string_view program, const std::vector<std::string_view>& words) {
  const std::vector<std::string> own = words_of(program, words);
  std::vector<const char*> argv{"waldur-site-agent"};
  for (const std::string& word : own) {
    argv.push_back(word.c_str());
  }
  const auto made = parse_command_line(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(std::holds_alternative<command_line>(made)) << program;
  return std::holds_alternative<command_line>(made) ? std::get<command_line>(made) : command_line{};
}

TEST(python_names, are_found_by_the_last_part_of_the_path_only) {
  EXPECT_NE(find_python_command("waldur_site_agent"), nullptr);
  EXPECT_EQ(find_python_command("/opt/x/bin/waldur_site_healthz")->command, "healthz");
  for (const char* other :
       {"waldur-site-agent",
        "/usr/bin/waldur-site-agent",
        "",
        "waldur_site_agent/x",
        "xwaldur_site_agent"}) {
    EXPECT_EQ(find_python_command(other), nullptr) << other;
  }
}

TEST(python_names, lead_to_our_commands) {
  using command = command_line::command;
  const std::vector<std::pair<const char*, command>> expected = {
      {"waldur_site_agent", command::run},
      {"waldur_site_diagnostics", command::diagnose},
      {"waldur_site_load_components", command::load_components},
      {"waldur_site_healthz", command::healthz},
      {"waldur_sync_offering_users", command::sync_offering_users},
      {"waldur_sync_resource_limits", command::sync_resource_limits},
      {"waldur_site_create_homedirs", command::create_homedirs},
  };
  for (const auto& [name, what] : expected) {
    EXPECT_EQ(parsed(name, {}).what, what) << name;
  }
}

TEST(python_names, keep_the_defaults_of_the_file) {
  EXPECT_EQ(parsed("waldur_site_agent", {}).config_file, "waldur-site-agent-config.yaml");
  EXPECT_EQ(parsed("waldur_site_load_components", {}).config_file, "waldur-site-agent-config.yaml");
  EXPECT_EQ(parsed("waldur_site_healthz", {}).config_file, "/etc/waldur-site-agent/config.yaml");
}

TEST(python_names, take_every_flag_of_the_probe) {
  const command_line line = parsed(
      "waldur_site_healthz",
      {"--config-file",
       "a.yaml",
       "--max-age=60",
       "--liveness-only",
       "--heartbeat-path",
       "/run/beat"}
  );
  EXPECT_EQ(line.config_file, "a.yaml");
  EXPECT_EQ(line.max_age_s, 60);
  EXPECT_TRUE(line.liveness_only);
  EXPECT_EQ(line.heartbeat_file, "/run/beat");
  EXPECT_EQ(parsed("waldur_site_healthz", {}).max_age_s, 300);
}

TEST(python_names, take_mode_and_file_in_every_spelling_of_the_service) {
  for (const std::vector<std::string_view>& words :
       {std::vector<std::string_view>{"-m", "report", "-c", "f.yaml"},
        {"--mode", "report", "--config-file", "f.yaml"},
        {"--mode=report", "--config-file=f.yaml"},
        {"-mreport", "-cf.yaml"},
        {"--mo=report", "--conf", "f.yaml"}}) {
    const command_line line = parsed("waldur_site_agent", words);
    EXPECT_EQ(line.mode, "report");
    EXPECT_EQ(line.config_file, "f.yaml");
  }
}

TEST(python_names, drop_the_mode_where_it_means_nothing) {
  for (const std::vector<std::string_view>& words :
       {std::vector<std::string_view>{"-m", "report", "-c", "f.yaml"},
        {"-c", "f.yaml", "--mode=event_process"},
        {"-mreport", "-cf.yaml"},
        {"--m", "report", "--config", "f.yaml"}}) {
    const command_line line = parsed("waldur_site_diagnostics", words);
    EXPECT_EQ(line.what, command_line::command::diagnose);
    EXPECT_EQ(line.config_file, "f.yaml");
  }
}

TEST(python_names, leave_a_mode_that_nobody_knows_for_the_usage_error) {
  EXPECT_THAT(
      words_of("waldur_site_diagnostics", {"-m", "raport"}), ElementsAre("diagnose", "-m", "raport")
  );
}

TEST(python_names, complete_long_flags_only_when_one_fits) {
  EXPECT_THAT(
      words_of("waldur_site_load_historical_usage", {"--config=f", "--star", "2026-01-01", "--re"}),
      ElementsAre("load-historical-usage", "--config=f", "--start-date", "2026-01-01", "--re")
  );
  EXPECT_THAT(words_of("waldur_site_agent", {"--", "-"}), ElementsAre("--", "-"));
}

TEST(python_names, that_make_no_sense_for_machines_say_what_to_do) {
  const python_command* order = find_python_command("waldur_site_test_order");
  ASSERT_NE(order, nullptr);
  EXPECT_THAT(std::string(order->refusal), HasSubstr("waldur-site-agent rehearse"));
}

} // namespace
} // namespace siteagent::app
