// SPDX-License-Identifier: MIT
#include "core/observe/log.hpp"

#include "core/base/json.hpp"
#include "core/base/secret.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace {

using siteagent::base::json;
using siteagent::observe::level;
using siteagent::observe::logger;

class log_lines : public testing::Test {
protected:
  log_lines() {
    std::string pattern = (std::filesystem::temp_directory_path() / "log_test.XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    siteagent::observe::set_up_logs(level::info, file());
    siteagent::observe::capture_logs_for_test(&lines);
  }

  ~log_lines() override {
    siteagent::observe::capture_logs_for_test(nullptr);
    siteagent::observe::set_up_logs(level::info);
    std::filesystem::remove_all(directory_);
  }

  std::string file() const { return directory_ + "/agent.log"; }

  json last() const {
    auto parsed = json::parse(lines.empty() ? "" : lines.back());
    EXPECT_TRUE(parsed) << "no line, or one that is no JSON";
    return parsed ? *parsed : json{};
  }

  std::vector<std::string> lines;
  std::string directory_;
};

TEST_F(log_lines, have_the_python_agents_keys_first) {
  logger("orders").info("order approved");
  ASSERT_EQ(lines.size(), 1u);
  const json line = last();
  ASSERT_GE(line.members().size(), 4u);
  EXPECT_EQ(line.members()[0].first, "event");
  EXPECT_EQ(line.members()[1].first, "level");
  EXPECT_EQ(line.members()[2].first, "logger");
  EXPECT_EQ(line.members()[3].first, "timestamp");
  EXPECT_EQ(line["event"].string_or(""), "order approved");
  EXPECT_EQ(line["level"].string_or(""), "info");
  EXPECT_EQ(line["logger"].string_or(""), "orders");
  EXPECT_EQ(line["timestamp"].string_or("").back(), 'Z');
}

TEST_F(log_lines, carry_context_and_fields) {
  const logger log = logger("orders").with("offering", "Azure VM").with("order", "0102");
  log.warning("slow", {{"seconds", "12"}, {"event", "a second meaning"}});
  const json line = last();
  EXPECT_EQ(line["level"].string_or(""), "warning");
  EXPECT_EQ(line["offering"].string_or(""), "Azure VM");
  EXPECT_EQ(line["order"].string_or(""), "0102");
  EXPECT_EQ(line["seconds"].string_or(""), "12");
  EXPECT_EQ(line["event"].string_or(""), "slow");
  EXPECT_EQ(line["event_"].string_or(""), "a second meaning");
}

TEST_F(log_lines, stay_one_json_line_whatever_the_text_holds) {
  logger("a").error("quote \" backslash \\ line\nfeed {} %s \x01 \xff", {{"k", "\r\n"}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find('\n'), std::string::npos);
  EXPECT_NE(last()["event"].string_or("").find("line\nfeed {} %s"), std::string::npos);
}

TEST_F(log_lines, below_the_level_are_not_written) {
  logger("a").debug("invisible");
  EXPECT_TRUE(lines.empty());
  EXPECT_FALSE(logger::is_enabled(level::debug));
  EXPECT_TRUE(logger::is_enabled(level::error));
}

TEST_F(log_lines, never_hold_a_protected_secret_in_any_place) {
  const std::string secret = "s3cr\"et\nmarker-value";
  siteagent::base::global_redactor().protect(secret);
  const siteagent::base::error failed{
      .code = siteagent::base::error_code::auth,
      .message = "refused: " + secret,
      .provider_code = secret,
      .provider_request_id = secret};
  const logger log = logger("a").with("context", "x" + secret);
  log.error("text " + secret, {{"field", secret + "y"}});
  log.failure(level::error, secret, failed, {{"more", secret}});
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("marker-value"), std::string::npos) << line;
    EXPECT_NE(line.find("***"), std::string::npos) << line;
  }
  std::ifstream written(file());
  const std::string all{std::istreambuf_iterator<char>(written), {}};
  EXPECT_EQ(all.find("marker-value"), std::string::npos);
}

TEST_F(log_lines, keep_their_keys_when_a_secret_is_a_key) {
  siteagent::base::global_redactor().protect("timestamp");
  logger("a").info("x");
  EXPECT_FALSE(last()["timestamp"].string_or("").empty());
}

TEST_F(log_lines, of_a_failure_tell_code_and_provider) {
  const siteagent::base::error failed{
      .code = siteagent::base::error_code::throttled,
      .message = "slow down",
      .provider_code = "TooManyRequests",
      .provider_request_id = "r-1"};
  logger("a").failure(level::warning, "create failed", failed);
  EXPECT_EQ(last()["error"].string_or(""), "slow down");
  EXPECT_EQ(last()["error_code"].string_or(""), "throttled");
  EXPECT_EQ(last()["provider_code"].string_or(""), "TooManyRequests");
  EXPECT_EQ(last()["provider_request_id"].string_or(""), "r-1");
}

TEST_F(log_lines, go_to_a_private_file_at_once) {
  logger("a").info("written");

  struct stat st {};

  ASSERT_EQ(::stat(file().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  std::ifstream in(file());
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, lines.at(0));
}

TEST_F(log_lines, of_several_threads_do_not_mix) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      const logger log("thread");
      for (int i = 0; i < 50; ++i) {
        log.info("line");
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  std::ifstream in(file());
  std::string line;
  std::size_t count = 0;
  while (std::getline(in, line)) {
    EXPECT_TRUE(json::parse(line)) << line;
    ++count;
  }
  EXPECT_EQ(count, 200u);
}

TEST(log_set_up, throws_when_the_file_cannot_be_opened) {
  EXPECT_THROW(
      siteagent::observe::set_up_logs(level::info, "/nonexistent-directory/x.log"),
      std::runtime_error
  );
}

} // namespace
