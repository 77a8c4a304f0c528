// SPDX-License-Identifier: MIT
// Every sample configuration against exactly what `validate` says of it.
#include "core/app/commands.hpp"
#include "core/config/python_agent.hpp"
#include "core/observe/log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace siteagent::app {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> samples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SITEAGENT_SAMPLES_DIR)) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

std::string path_of(const std::string& name, const std::string& extension) {
  return (fs::path(SITEAGENT_SAMPLES_DIR) / (name + extension)).string();
}

class sample : public testing::TestWithParam<std::string> {};

TEST_P(sample, is_judged_exactly_as_written_beside_it) {
  // As the program does it: what plugins log is not part of the answer.
  observe::set_up_logs(observe::level::warning, observe::log_to_stderr);
  command_line line;
  line.config_file = path_of(GetParam(), ".yaml");
  line.plugin_directories = {SITEAGENT_PLUGIN_DIR};
  testing::internal::CaptureStdout();
  const int code = run_validate(line);
  std::string said = testing::internal::GetCapturedStdout();
  replace_all(said, line.config_file, "FILE");
  replace_all(said, SITEAGENT_PLUGIN_DIR, "PLUGINS");
  const std::string expected = read(path_of(GetParam(), ".expected"));
  EXPECT_EQ(said, expected);
  EXPECT_EQ(code, said.find(": error: ") == std::string::npos ? exit_fine : exit_failed);
}

INSTANTIATE_TEST_SUITE_P(each, sample, testing::ValuesIn(samples()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(samples, name_every_plugin_that_only_the_python_agent_has) {
  const std::string plugins = read(path_of("python-plugins", ".expected"));
  for (const std::string_view name : config::python_only_plugins()) {
    EXPECT_THAT(
        plugins, testing::HasSubstr("'" + std::string(name) + "' is a plugin of the Python")
    );
  }
  const std::string usernames = read(path_of("usernames", ".expected"));
  for (const std::string_view name : config::python_only_username_plugins()) {
    EXPECT_THAT(
        usernames, testing::HasSubstr("'" + std::string(name) + "' is a plugin of the Python")
    );
  }
}

} // namespace
} // namespace siteagent::app
