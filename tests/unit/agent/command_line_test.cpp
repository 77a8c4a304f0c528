// SPDX-License-Identifier: MIT
// The command line: values, suggestions, exit codes.
#include "core/app/command_line.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace siteagent::app {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<command_line, int> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "waldur-site-agent");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

command_line parsed(std::vector<const char*> words) {
  const std::variant<command_line, int> made = parse(std::move(words));
  EXPECT_TRUE(std::holds_alternative<command_line>(made));
  return std::holds_alternative<command_line>(made) ? std::get<command_line>(made) : command_line{};
}

TEST(command_line, has_the_python_agents_defaults) {
  const command_line line = parsed({});
  EXPECT_EQ(line.what, command_line::command::run);
  EXPECT_EQ(line.mode, "order_process");
  EXPECT_EQ(line.config_file, "waldur-site-agent-config.yaml");
  EXPECT_FALSE(line.once);
  EXPECT_EQ(line.workers, 64U);
}

TEST(command_line, takes_every_option_of_a_run) {
  const command_line line = parsed(
      {"-m",
       "all",
       "-c",
       "f.yaml",
       "--once",
       "--workers",
       "3",
       "--plugin-dir",
       "a",
       "--plugin-dir=b"}
  );
  EXPECT_EQ(line.mode, "all");
  EXPECT_EQ(line.config_file, "f.yaml");
  EXPECT_TRUE(line.once);
  EXPECT_EQ(line.workers, 3U);
  EXPECT_THAT(line.plugin_directories, ElementsAre("a", "b"));
}

TEST(command_line, takes_the_long_names_of_the_python_agent) {
  const command_line line = parsed({"--mode=report", "--config-file", "f.yaml"});
  EXPECT_EQ(line.mode, "report");
  EXPECT_EQ(line.config_file, "f.yaml");
}

TEST(command_line, knows_its_subcommands) {
  using command = command_line::command;
  EXPECT_EQ(parsed({"validate", "-c", "x"}).what, command::validate);
  EXPECT_EQ(parsed({"validate", "-c", "x"}).config_file, "x");
  EXPECT_EQ(parsed({"diagnose", "-c", "x", "--plugin-dir", "d"}).what, command::diagnose);
  const command_line diagnose = parsed({"diagnose", "--offering", "u", "--json", "--role"});
  EXPECT_EQ(diagnose.offering, "u");
  EXPECT_TRUE(diagnose.json && diagnose.role);
  const command_line form = parsed({"offering-options", "-c", "x", "--offering=u", "--json"});
  EXPECT_EQ(form.what, command::offering_options);
  EXPECT_EQ(form.offering, "u");
  EXPECT_EQ(parsed({"plugin", "list"}).what, command::plugin_list);
  const command_line inspect = parsed({"plugin", "inspect", "azure", "--plugin-dir", "d"});
  EXPECT_EQ(inspect.what, command::plugin_inspect);
  EXPECT_EQ(inspect.plugin, "azure");
  EXPECT_THAT(inspect.plugin_directories, ElementsAre("d"));
}

struct wrong_case {
  const char* name;
  std::vector<const char*> words;
  const char* says;
};

class wrong_usage : public ::testing::TestWithParam<wrong_case> {};

TEST_P(wrong_usage, ends_with_two_and_says_what_was_meant) {
  ::testing::internal::CaptureStderr();
  const std::variant<command_line, int> made = parse(GetParam().words);
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(std::holds_alternative<int>(made));
  EXPECT_EQ(std::get<int>(made), exit_usage);
  EXPECT_THAT(text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    words,
    wrong_usage,
    ::testing::Values(
        wrong_case{"command", {"validat"}, "did you mean 'validate'"},
        wrong_case{"nested_command", {"plugin", "lst"}, "did you mean 'list'"},
        wrong_case{"option", {"--onec"}, "did you mean '--once'"},
        wrong_case{"mode", {"-m", "order_proces"}, "did you mean 'order_process'"},
        wrong_case{"far_from_anything", {"frobnicate"}, "unknown command 'frobnicate'"},
        wrong_case{"workers", {"--workers", "0"}, "--workers"},
        wrong_case{"workers_text", {"--workers", "many"}, "--workers"},
        wrong_case{"missing_value", {"-c"}, "-c"},
        wrong_case{"missing_subcommand", {"plugin"}, "ubcommand"},
        wrong_case{"missing_id", {"plugin", "inspect"}, "id"},
        wrong_case{"short_option", {"-x"}, "-x"},
        wrong_case{"extra_word", {"validate", "file.yaml"}, "file.yaml"}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST(command_line, help_and_version_are_no_errors) {
  for (const char* word : {"--help", "-h", "--version"}) {
    ::testing::internal::CaptureStdout();
    const std::variant<command_line, int> made = parse({word});
    const std::string text = ::testing::internal::GetCapturedStdout();
    ASSERT_TRUE(std::holds_alternative<int>(made)) << word;
    EXPECT_EQ(std::get<int>(made), exit_fine) << word;
    EXPECT_THAT(text, HasSubstr("waldur-site-agent"));
  }
}

} // namespace

} // namespace siteagent::app
