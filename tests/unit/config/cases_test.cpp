// SPDX-License-Identifier: MIT
// Cases from the field about configuration; tests/cases.md has the list.
#include "tests/unit/config/config_text.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace siteagent::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A file of its own, and one variable of the environment, for as long as it lives.
class temporary {
public:
  explicit temporary(const std::string& text)
      : path_(testing::TempDir() + "case-" + std::to_string(::getpid()) + ".yaml") {
    std::ofstream(path_, std::ios::binary) << text;
  }

  ~temporary() {
    std::filesystem::remove(path_);
    for (const std::string& name : variables_) {
      ::unsetenv(name.c_str());
    }
  }

  temporary(const temporary&) = delete;
  temporary& operator=(const temporary&) = delete;

  void set(const std::string& name, const std::string& value) {
    variables_.push_back(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  const std::string& path() const { return path_; }

private:
  std::string path_;
  std::vector<std::string> variables_;
};

const std::vector<std::string> period_names = {
    "WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES",
    "WALDUR_SITE_AGENT_MEMBERSHIP_SYNC_PERIOD_MINUTES",
    "WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES",
    "WALDUR_SITE_AGENT_RECONCILIATION_PERIOD_MINUTES",
    "WALDUR_SITE_AGENT_STOMP_UNHEALTHY_AFTER_MINUTES",
    "WALDUR_SITE_AGENT_STOMP_HANDLER_STUCK_AFTER_MINUTES",
    "WALDUR_SITE_AGENT_RESOURCE_STATUS_RECONCILIATION_MINUTES"};

TEST(case_conf_02, fractional_periods_are_accepted) {
  for (const std::string& name : period_names) {
    for (const std::string value : {"0.5", "5", ""}) {
      temporary file(file_with(""));
      file.set(name, value);
      const auto config = load(file.path());
      ASSERT_TRUE(config.has_value());
      EXPECT_THAT(texts(*config), IsEmpty()) << name << "=" << value;
    }
  }
}

TEST(case_conf_02, nonsense_stops_the_start_and_names_the_variable) {
  for (const std::string& name : period_names) {
    for (const std::string value : {"-1", "abc", "1e3", "5m", "0.001"}) {
      temporary file(file_with(""));
      file.set(name, value);
      const auto config = load(file.path());
      ASSERT_TRUE(config.has_value());
      EXPECT_TRUE(config->has_global_errors()) << name << "=" << value;
      EXPECT_THAT(
          texts(*config),
          ElementsAre(
              "environment: error: " + name +
              ": expected a positive number such as 5 or 0.5 (at least one second), not '" + value +
              "'"
          )
      );
    }
  }
}

TEST(case_conf_02, zero_never_means_a_hot_loop) {
  for (const std::string& name : period_names) {
    temporary file(file_with(""));
    file.set(name, "0");
    const auto config = load(file.path());
    ASSERT_TRUE(config.has_value());
    const bool is_off_switch = name == period_names.back();
    EXPECT_EQ(config->has_global_errors(), !is_off_switch) << name;
  }
}

TEST(case_conf_03, scalars_are_read_as_the_operator_wrote_them) {
  const agent_config c = parsed(file_with("    backend_settings:\n"
                                          "      region: no\n"
                                          "      tenant_id: 0123\n"
                                          "      image_sku: 22_04-lts\n"
                                          "      version: 1.10\n"
                                          "      token: 1e3\n"
                                          "      size: .5\n"));
  EXPECT_THAT(texts(c), IsEmpty());
  ASSERT_EQ(c.offerings.size(), 1U);
  const value& settings = c.offerings[0].backend_settings;
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"region", "no"},
      {"tenant_id", "0123"},
      {"image_sku", "22_04-lts"},
      {"version", "1.10"},
      {"token", "1e3"},
      {"size", ".5"}};
  for (const auto& [key, text] : expected) {
    ASSERT_NE(settings.find(key), nullptr) << key;
    EXPECT_EQ(settings.find(key)->text, text) << key;
  }
}

TEST(case_conf_03, typed_keys_take_their_type_or_say_the_line) {
  EXPECT_THAT(
      texts(parsed(file_with("    stomp_enabled: \"yes\"\n"))),
      ElementsAre(StartsWith("agent.yaml:7:20: error: offerings[0].stomp_enabled: expected true"))
  );
  EXPECT_THAT(
      texts(parsed(file_with("    stomp_enabled: yes\n"))),
      ElementsAre(HasSubstr("agent.yaml:7:20: warning: offerings[0].stomp_enabled: read as true"))
  );
  EXPECT_THAT(
      texts(parsed(file_with("    stomp_ws_port: 0o17\n"))),
      ElementsAre(StartsWith("agent.yaml:7:20: error: offerings[0].stomp_ws_port: expected a whole")
      )
  );
}

TEST(case_conf_04, every_error_names_file_line_and_key) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"offerings:\n", "agent.yaml:1:1: error: offerings: required"},
      {"offerings: null\n", "agent.yaml:1:1: error: offerings: required"},
      {file_with("    stomp_ws_port:\n      - 1\n"),
       "agent.yaml:8:7: error: offerings[0].stomp_ws_port: expected a whole number from 1 to "
       "65535, "
       "not a list"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(texts(parsed(text)), ElementsAre(expected)) << text;
  }
  std::string url = file_with("");
  url.replace(url.find(" https://waldur.example.com/api/"), 32, "");
  EXPECT_THAT(
      texts(parsed(url)),
      ElementsAre("agent.yaml:3:5: error: offerings[0].waldur_api_url: required")
  );
  for (const std::string& broken :
       {std::string("offerings:\n\t- name: x\n"), std::string(), std::string("a: \xff\n")}) {
    EXPECT_THAT(refusal(broken), testing::ContainsRegex("^agent\\.yaml:[0-9]+:[0-9]+: error: "));
  }
}

TEST(case_conf_04, an_empty_list_of_offerings_is_only_a_warning) {
  const agent_config c = parsed("offerings: []\n");
  EXPECT_FALSE(c.has_errors());
  EXPECT_THAT(texts(c), ElementsAre(HasSubstr("warning: offerings: empty")));
}

TEST(case_conf_05, explicit_port_wins_and_the_default_depends_on_tls_only) {
  for (const std::string verify : {"true", "false"}) {
    for (const bool tls : {true, false}) {
      const std::string lines = "    verify_ssl: " + verify +
                                "\n    websocket_use_tls: " + (tls ? "true" : "false") + "\n";
      const agent_config usual = parsed(file_with(lines));
      ASSERT_EQ(usual.offerings.size(), 1U);
      EXPECT_EQ(usual.offerings[0].stomp_ws_port, tls ? 443 : 80);
      const agent_config own = parsed(file_with(lines + "    stomp_ws_port: 15674\n"));
      ASSERT_EQ(own.offerings.size(), 1U);
      EXPECT_EQ(own.offerings[0].stomp_ws_port, 15674);
    }
  }
}

} // namespace
} // namespace siteagent::config
