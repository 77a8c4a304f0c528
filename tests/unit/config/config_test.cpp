// SPDX-License-Identifier: MIT
// The top level of the file: defaults, checks, and what one bad part does to the others.
#include "core/config/config.hpp"
#include "tests/unit/config/config_text.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace siteagent::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(config, fills_every_default) {
  const agent_config c = parsed(file_with(""));
  EXPECT_THAT(texts(c), IsEmpty());
  EXPECT_EQ(c.file, "agent.yaml");
  EXPECT_EQ(c.timezone.name(), "UTC");
  EXPECT_EQ(c.log_level, "INFO");
  EXPECT_EQ(c.reporting_periods, 2U);
  EXPECT_TRUE(c.expose_backend_error_details);
  EXPECT_EQ(c.global_proxy, "");
  EXPECT_EQ(c.sentry_dsn, "");
  EXPECT_EQ(c.elastic_apm_server_url, "");
  EXPECT_FALSE(c.log_shipping.enabled);
  EXPECT_EQ(c.log_shipping.interval, std::chrono::seconds(60));
  EXPECT_EQ(c.log_shipping.buffer_mb, 1U);
  EXPECT_EQ(c.log_shipping.level, "WARNING");
  EXPECT_FALSE(c.has_errors());
  EXPECT_FALSE(c.has_global_errors());
}

TEST(config, reads_every_top_level_key) {
  const agent_config c = parsed(file_with("", R"(timezone: Europe/Vienna
sentry_dsn: https://key@sentry.example.com/1
elastic_apm_server_url: http://apm.example.com:8200
global_proxy: socks5h://proxy.example.com:1080
log_level: debug
reporting_periods: 12
expose_backend_error_details: false
log_shipping:
  enabled: true
  ship_interval_seconds: 30.5
  buffer_size_mb: 4
  log_level: error
)"));
  EXPECT_THAT(
      texts(c),
      ElementsAre(
          "agent.yaml:8:13: warning: sentry_dsn: no effect: errors are in the log; log_shipping "
          "sends them to Waldur",
          "agent.yaml:9:25: warning: elastic_apm_server_url: no effect: there is no APM client; "
          "`status --json` shows what runs and what it waits for"
      )
  );
  EXPECT_EQ(c.timezone.name(), "Europe/Vienna");
  EXPECT_EQ(c.sentry_dsn, "https://key@sentry.example.com/1");
  EXPECT_EQ(c.elastic_apm_server_url, "http://apm.example.com:8200");
  EXPECT_EQ(c.global_proxy, "socks5h://proxy.example.com:1080");
  EXPECT_EQ(c.log_level, "DEBUG");
  EXPECT_EQ(c.reporting_periods, 12U);
  EXPECT_FALSE(c.expose_backend_error_details);
  EXPECT_TRUE(c.log_shipping.enabled);
  EXPECT_EQ(c.log_shipping.interval, std::chrono::milliseconds(30'500));
  EXPECT_EQ(c.log_shipping.buffer_mb, 4U);
  EXPECT_EQ(c.log_shipping.level, "ERROR");
}

TEST(config, reads_null_as_absent_everywhere) {
  const agent_config c = parsed(file_with(
      "    verify_ssl:\n    backend_settings: ~\n    backend_components: null\n    stomp_ws_port: "
      "null\n",
      "timezone:\nsentry_dsn: null\nglobal_proxy: "
      "~\nlog_level:\nreporting_periods:\nlog_shipping:\n"
  ));
  EXPECT_THAT(texts(c), IsEmpty());
  ASSERT_EQ(c.offerings.size(), 1U);
  EXPECT_TRUE(c.offerings[0].verify_ssl);
  EXPECT_TRUE(c.offerings[0].backend_settings.is_map());
}

TEST(config, reads_empty_urls_as_none) {
  const agent_config c =
      parsed(file_with("", "sentry_dsn: ''\nelastic_apm_server_url: ''\nglobal_proxy: ''\n"));
  EXPECT_THAT(texts(c), IsEmpty());
  EXPECT_EQ(c.global_proxy, "");
}

struct bad_line {
  std::string line;
  std::string finding;
};

void PrintTo(const bad_line& b, std::ostream* out) {
  *out << b.line;
}

class config_bad_root : public testing::TestWithParam<bad_line> {};

TEST_P(config_bad_root, is_a_global_error_that_names_place_key_and_expectation) {
  const agent_config c = parsed(file_with("", GetParam().line + "\n"));
  EXPECT_THAT(texts(c), Contains(StartsWith("agent.yaml:7:" + GetParam().finding)));
  EXPECT_TRUE(c.has_global_errors());
  EXPECT_EQ(c.offerings.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    all,
    config_bad_root,
    testing::Values(
        bad_line{
            "timezone: Mars/Olympus", "11: error: timezone: no such time zone: 'Mars/Olympus'"},
        bad_line{"timezone: ''", "11: error: timezone: no such time zone"},
        bad_line{"timezone: ../../etc/passwd", "11: error: timezone: no such time zone"},
        bad_line{"sentry_dsn: ftp://x", "13: error: sentry_dsn: expected a URL"},
        bad_line{
            "elastic_apm_server_url: nonsense",
            "25: error: elastic_apm_server_url: expected a URL"},
        bad_line{"global_proxy: localhost:1080", "15: error: global_proxy: expected a URL"},
        bad_line{"global_proxy: socks4://h", "15: error: global_proxy: expected a URL"},
        bad_line{
            "log_level: LOUD",
            "12: error: log_level: expected DEBUG, INFO, WARNING, ERROR or CRITICAL, not 'LOUD'"},
        bad_line{
            "reporting_periods: 0",
            "20: error: reporting_periods: expected a whole number from 1 to 12, not '0'"},
        bad_line{
            "reporting_periods: 13",
            "20: error: reporting_periods: expected a whole number from 1 to 12"},
        bad_line{
            "reporting_periods: -1",
            "20: error: reporting_periods: expected a whole number from 1 to 12"},
        bad_line{
            "reporting_periods: '2'",
            "20: error: reporting_periods: expected a whole number from 1 to 12, not the text '2'; "
            "drop the quotes"},
        bad_line{"reporting_periods: 2.0", "20: error: reporting_periods: expected a whole number"},
        bad_line{"reporting_periods: 1e1", "20: error: reporting_periods: expected a whole number"},
        bad_line{"reporting_periods: 0x2", "20: error: reporting_periods: expected a whole number"},
        bad_line{
            "reporting_periods: 010",
            "20: error: reporting_periods: expected a whole number from 1 to 12, not '010'; drop "
            "the leading zero"},
        bad_line{
            "reporting_periods: 99999999999999999999",
            "20: error: reporting_periods: expected a whole number"},
        bad_line{
            "reporting_periods: [2]",
            "20: error: reporting_periods: expected a whole number from 1 to 12, not a list"},
        bad_line{
            "expose_backend_error_details: 1",
            "31: error: expose_backend_error_details: expected true or false, not '1'"},
        bad_line{
            "expose_backend_error_details: tRuE",
            "31: error: expose_backend_error_details: expected true or false"},
        bad_line{
            "expose_backend_error_details: ''",
            "31: error: expose_backend_error_details: expected true or false"},
        bad_line{
            "expose_backend_error_details: 'yes'",
            "31: error: expose_backend_error_details: expected true or false, not the text 'yes'; "
            "drop the quotes"},
        bad_line{
            "log_shipping: on", "15: error: log_shipping: expected a mapping, not a plain value"},
        bad_line{
            "log_shipping: {ship_interval_seconds: 9.9}",
            "39: error: log_shipping.ship_interval_seconds: must be from 10"},
        bad_line{
            "log_shipping: {ship_interval_seconds: 5m}",
            "39: error: log_shipping.ship_interval_seconds: expected a number"},
        bad_line{
            "log_shipping: {buffer_size_mb: 0}",
            "32: error: log_shipping.buffer_size_mb: expected a whole number from 1"},
        bad_line{"timezone: [UTC]", "11: error: timezone: expected text, not a list"}
    )
);

TEST(config, a_duplicate_top_level_key_names_both_lines) {
  const agent_config c = parsed(file_with("", "timezone: UTC\ntimezone: Europe/Vienna\n"));
  EXPECT_THAT(
      texts(c), ElementsAre("agent.yaml:8:1: error: timezone: duplicate key (first at line 7)")
  );
  EXPECT_TRUE(c.has_global_errors());
}

TEST(config, warns_of_unknown_keys_with_a_suggestion) {
  const agent_config c = parsed(file_with(
      "    membership_sync_backed: azure\n", "timezon: UTC\nbogus: 1\nx-anchors: {a: 1}\n"
  ));
  EXPECT_THAT(
      texts(c),
      ElementsAre(
          "agent.yaml:7:5: warning: offerings[0].membership_sync_backed: unknown key; did you mean "
          "'membership_sync_backend'?",
          "agent.yaml:8:1: warning: timezon: unknown key; did you mean 'timezone'?",
          "agent.yaml:9:1: warning: bogus: unknown key; ignored"
      )
  );
  EXPECT_FALSE(c.has_errors());
  EXPECT_EQ(c.offerings.size(), 1U);
}

TEST(config, accepts_pythons_booleans_with_a_warning) {
  for (const std::string word : {"yes", "Yes", "YES", "on", "ON"}) {
    const agent_config c = parsed(file_with("    stomp_enabled: " + word + "\n"));
    ASSERT_EQ(c.offerings.size(), 1U);
    EXPECT_TRUE(c.offerings[0].stomp_enabled);
    EXPECT_THAT(
        texts(c),
        ElementsAre(
            "agent.yaml:7:20: warning: offerings[0].stomp_enabled: read as true; write that "
            "instead of '" +
            word + "'"
        )
    );
  }
  for (const std::string word : {"no", "Off"}) {
    const agent_config c = parsed(file_with("    verify_ssl: " + word + "\n"));
    ASSERT_EQ(c.offerings.size(), 1U);
    EXPECT_FALSE(c.offerings[0].verify_ssl);
    EXPECT_EQ(c.findings.size(), 1U);
  }
  for (const std::string word : {"true", "True", "TRUE"}) {
    EXPECT_THAT(texts(parsed(file_with("    verify_ssl: " + word + "\n"))), IsEmpty());
  }
}

TEST(config, an_error_in_one_offering_leaves_the_others) {
  const std::string two =
      file_with("") +
      file_with("    verify_ssl: maybe\n").substr(std::string("offerings:\n").size());
  const agent_config c = parsed(two);
  ASSERT_EQ(c.offerings.size(), 1U);
  EXPECT_EQ(c.offerings[0].at.line, 2);
  EXPECT_TRUE(c.has_errors());
  EXPECT_FALSE(c.has_global_errors());
  EXPECT_THAT(
      texts(c),
      ElementsAre(
          "agent.yaml:12:17: error: offerings[1].verify_ssl: expected true or false, not 'maybe'"
      )
  );
}

TEST(config, an_offering_with_a_duplicate_key_deep_inside_is_unusable) {
  const agent_config c = parsed(file_with("    backend_settings:\n      a: 1\n      a: 2\n"));
  EXPECT_THAT(c.offerings, IsEmpty());
  EXPECT_THAT(
      texts(c),
      ElementsAre(
          "agent.yaml:9:7: error: offerings[0].backend_settings.a: duplicate key (first at line 8)"
      )
  );
}

TEST(config, an_error_in_the_eleventh_offering_does_not_hide_the_second) {
  std::string text = "offerings:\n";
  const std::string good = file_with("").substr(std::string("offerings:\n").size());
  for (int i = 0; i < 10; ++i) {
    text += good;
  }
  text += "  - name: bad\n";
  const agent_config c = parsed(text);
  EXPECT_EQ(c.offerings.size(), 10U);
}

TEST(config, warns_when_two_offerings_share_a_uuid) {
  const agent_config c =
      parsed(file_with("") + file_with("").substr(std::string("offerings:\n").size()));
  EXPECT_EQ(c.offerings.size(), 2U);
  EXPECT_FALSE(c.has_errors());
  EXPECT_THAT(
      texts(c), ElementsAre(HasSubstr("has the waldur_offering_uuid of 'Azure VM' at line 2"))
  );
}

TEST(config, asks_for_offerings) {
  EXPECT_THAT(
      texts(parsed("timezone: UTC\n")), ElementsAre("agent.yaml:1:1: error: offerings: required")
  );
  EXPECT_THAT(
      texts(parsed("offerings: null\n")), ElementsAre("agent.yaml:1:1: error: offerings: required")
  );
  EXPECT_THAT(
      texts(parsed("offerings: 5\n")),
      ElementsAre("agent.yaml:1:12: error: offerings: expected a list, not a plain value")
  );
  EXPECT_THAT(
      texts(parsed("offerings: [a]\n")),
      ElementsAre("agent.yaml:1:13: error: offerings[0]: expected a mapping, not 'a'")
  );
  EXPECT_THAT(
      texts(parsed("offerings:\n  -\n")),
      ElementsAre(HasSubstr("offerings[0]: expected a mapping, not nothing"))
  );
}

TEST(config, accepts_an_empty_list_of_offerings_with_a_warning) {
  const agent_config c = parsed("offerings: []\n");
  EXPECT_FALSE(c.has_errors());
  EXPECT_THAT(texts(c), ElementsAre("agent.yaml:1:12: warning: offerings: empty; the agent idles"));
}

TEST(config, shows_no_more_of_a_key_than_a_key) {
  const agent_config c = parsed(file_with("", R"("a key: and\n client_secret: s3cret": 1
"x y": 1
)" + std::string(80, 'k') + ": 1\n"));
  EXPECT_THAT(
      texts(c),
      ElementsAre(
          "agent.yaml:7:1: warning: a...: unknown key; ignored",
          "agent.yaml:8:1: warning: x...: unknown key; ignored",
          "agent.yaml:9:1: warning: " + std::string(60, 'k') + "...: unknown key; ignored"
      )
  );
}

TEST(config, sorts_findings_by_position) {
  const agent_config c = parsed("zzz: 1\nofferings: 5\ntimezone: x\naaa: 1\n");
  ASSERT_EQ(c.findings.size(), 4U);
  for (std::size_t i = 1; i < c.findings.size(); ++i) {
    EXPECT_LT(c.findings[i - 1].at.line, c.findings[i].at.line);
  }
}

TEST(config, refuses_a_root_that_is_no_mapping) {
  EXPECT_EQ(
      refusal("- a\n"),
      "agent.yaml:1:1: error: expected a mapping with the key 'offerings', not a list"
  );
  EXPECT_THAT(refusal("just text\n"), HasSubstr("not 'just text'"));
  EXPECT_THAT(refusal("---\n"), HasSubstr("not nothing"));
}

TEST(config, merged_and_anchored_values_serve_several_offerings) {
  const agent_config c = parsed(R"(x-common: &common
  waldur_api_url: https://waldur.example.com/api/
  waldur_api_token: token-of-the-agent
  backend_type: azure
offerings:
  - <<: *common
    name: one
    waldur_offering_uuid: e2ef0000000000000000000000000201
  - <<: *common
    name: two
    waldur_offering_uuid: e2ef0000-0000-0000-0000-000000000202
    backend_type: 'null'
)");
  EXPECT_THAT(texts(c), IsEmpty());
  ASSERT_EQ(c.offerings.size(), 2U);
  EXPECT_EQ(c.offerings[0].backend_type, "azure");
  EXPECT_EQ(c.offerings[1].backend_type, "null");
  EXPECT_EQ(c.offerings[1].uuid.hex(), "e2ef0000000000000000000000000202");
}

class config_file : public testing::Test {
protected:
  config_file() {
    std::string pattern = testing::TempDir() + "config-XXXXXX";
    directory_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
  }

  ~config_file() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string directory_;
};

TEST_F(config_file, is_loaded_and_named_in_findings) {
  const std::string path = write("agent.yaml", file_with("", "bogus: 1\n"));
  const auto config = load(path);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->file, path);
  EXPECT_THAT(texts(*config), ElementsAre(path + ":7:1: warning: bogus: unknown key; ignored"));
}

TEST_F(config_file, comes_with_warnings_about_variables_that_do_nothing) {
  const std::string path = write("agent.yaml", file_with(""));
  ASSERT_EQ(::setenv("WALDUR_VERIFY_SSL", "false", 1), 0);
  ASSERT_EQ(::setenv("SENTRY_ENVIRONMENT", "production", 1), 0);
  const auto config = load(path);
  ::unsetenv("WALDUR_VERIFY_SSL");
  ::unsetenv("SENTRY_ENVIRONMENT");
  ASSERT_TRUE(config.has_value());
  EXPECT_FALSE(config->has_errors());
  EXPECT_THAT(
      texts(*config),
      ElementsAre(
          "environment: warning: WALDUR_VERIFY_SSL: no effect, as in the Python agent; use "
          "verify_ssl of the offering",
          "environment: warning: SENTRY_ENVIRONMENT: no effect: there is no Sentry client"
      )
  );
}

TEST_F(config_file, that_is_missing_a_directory_or_too_large_is_refused_with_the_reason) {
  const auto missing = load(directory_ + "/none.yaml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(
      missing.error().message,
      directory_ + "/none.yaml: error: cannot read the configuration: No such file or directory"
  );
  const auto directory = load(directory_);
  ASSERT_FALSE(directory.has_value());
  EXPECT_THAT(directory.error().message, HasSubstr("it is a directory, not a file"));
  const auto large = load(write("large.yaml", std::string(std::size_t{5} << 20U, '#')));
  ASSERT_FALSE(large.has_value());
  EXPECT_THAT(large.error().message, HasSubstr("larger than 4096 KiB"));
  const auto empty = load(write("empty.yaml", ""));
  ASSERT_FALSE(empty.has_value());
  EXPECT_THAT(empty.error().message, HasSubstr("empty.yaml:1:1: error: empty"));
}

TEST_F(config_file, secrets_come_from_files_and_the_environment) {
  const std::string token = write("token", "s3cret-from-file\n");
  ASSERT_EQ(::setenv("SITEAGENT_TEST_OIDC_SECRET", "s3cret-from-env", 1), 0);
  std::string text = file_with("    oidc_token_url: https://id.example.com/token\n"
                               "    oidc_client_id: ${NOT_EXPANDED}\n"
                               "    oidc_client_secret: ${SITEAGENT_TEST_OIDC_SECRET}\n");
  text.replace(text.find("token-of-the-agent"), 18, "file:" + token);
  const agent_config c = parsed(text);
  ::unsetenv("SITEAGENT_TEST_OIDC_SECRET");
  ASSERT_EQ(c.offerings.size(), 1U);
  EXPECT_EQ(c.offerings[0].waldur_api_token.reveal(), "s3cret-from-file");
  EXPECT_EQ(c.offerings[0].oidc_client_secret.reveal(), "s3cret-from-env");
  EXPECT_EQ(c.offerings[0].oidc_client_id, "${NOT_EXPANDED}");
  EXPECT_EQ(base::global_redactor().scrub("s3cret-from-file s3cret-from-env"), "*** ***");
}

TEST_F(config_file, secret_sources_that_do_not_work_are_errors_without_the_value) {
  const std::string empty = write("empty", "\n");
  const std::string two_lines = write("two", "s3cret-one\ns3cret-two\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"${SITEAGENT_TEST_NOT_SET}", "the environment variable SITEAGENT_TEST_NOT_SET is not set"},
      {"${not a name}", "'${...}' must hold the name of one environment variable"},
      {"${}", "'${...}' must hold the name of one environment variable"},
      {"file:relative", "'file:' must be followed by an absolute path"},
      {"file:" + directory_ + "/none", "No such file or directory"},
      {"file:" + directory_, "it is a directory"},
      {"file:" + empty, "is empty"},
      {"file:" + two_lines, "holds a control character or a line break"},
      {"\"s3cret\\nx\"", "holds a control character or a line break"},
  };
  for (const auto& [written, why] : cases) {
    std::string text = file_with("");
    text.replace(text.find("token-of-the-agent"), 18, written);
    const agent_config c = parsed(text);
    EXPECT_THAT(c.offerings, IsEmpty()) << written;
    ASSERT_EQ(c.findings.size(), 1U) << written;
    EXPECT_THAT(
        c.findings[0].text(), StartsWith("agent.yaml:4:23: error: offerings[0].waldur_api_token: ")
    );
    EXPECT_THAT(c.findings[0].why, HasSubstr(why));
    EXPECT_EQ(c.findings[0].why.find("s3cret"), std::string::npos);
  }
}

struct period_case {
  std::string text;
  std::optional<std::chrono::milliseconds> expected;
};

TEST(config_period, takes_positive_decimal_numbers_only) {
  using std::chrono::milliseconds;
  const std::vector<period_case> cases = {
      {"0.5", milliseconds(30'000)},
      {"5", milliseconds(300'000)},
      {"0.02", milliseconds(1'200)},
      {"0.01", std::nullopt}, // below one second: a hot loop
      {"0", std::nullopt},
      {"-1", std::nullopt},
      {"abc", std::nullopt},
      {"1e3", std::nullopt},
      {"5m", std::nullopt},
      {"", std::nullopt},
      {" 5", std::nullopt},
      {"99999999999999999999", std::nullopt},
      {"1000000", std::nullopt},
  };
  for (const period_case& c : cases) {
    const auto period = parse_period("SOME_PERIOD", c.text, std::chrono::minutes(1));
    ASSERT_EQ(period.has_value(), c.expected.has_value()) << c.text;
    if (period) {
      EXPECT_EQ(*period, *c.expected) << c.text;
    } else {
      EXPECT_THAT(
          period.error().message,
          StartsWith("SOME_PERIOD: expected a positive number such as 5 or 0.5")
      );
      EXPECT_THAT(period.error().message, HasSubstr("not '" + c.text + "'"));
    }
  }
}

} // namespace
} // namespace siteagent::config
