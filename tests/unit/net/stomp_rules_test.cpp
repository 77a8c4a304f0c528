// SPDX-License-Identifier: MIT
#include "core/net/stomp_rules.hpp"

#include <gtest/gtest.h>

namespace siteagent::net {
namespace {

using base::error_code;
using namespace std::chrono_literals;

stomp_frame connected(std::string beats, std::string version = "1.2") {
  return {
      .command = "CONNECTED",
      .headers = {{"version", std::move(version)}, {"heart-beat", std::move(beats)}}};
}

stomp_frame error_frame(std::string message, std::string body = "") {
  return {
      .command = "ERROR", .headers = {{"message", std::move(message)}}, .body = std::move(body)};
}

TEST(stomp_words, connect_names_version_host_login_and_heart_beats) {
  stomp_options o;
  o.virtual_host = "vh";
  o.login = "consumer";
  o.passcode = base::secret("to\\ken:1");
  const auto frame = connect_frame(o);
  EXPECT_EQ(frame.command, "CONNECT");
  EXPECT_EQ(frame.get("accept-version"), "1.2");
  EXPECT_EQ(frame.get("host"), "vh");
  EXPECT_EQ(frame.get("login"), "consumer");
  EXPECT_EQ(frame.get("passcode"), "to\\\\ken:1") << "RabbitMQ reads escapes here, too";
  EXPECT_EQ(frame.get("heart-beat"), "10000,10000");
  o.heartbeat = 0ms;
  EXPECT_EQ(connect_frame(o).get("heart-beat"), "0,0");
}

TEST(stomp_words, refuses_a_host_or_path_that_would_change_the_request) {
  stomp_options good;
  good.host = "broker.example";
  good.user_agent = "site agent/2";
  EXPECT_TRUE(check_options(good));
  std::vector<stomp_options> bad(7, good);
  bad[0].host = "";
  bad[1].host = "a\r\nX: y";
  bad[2].path = "";
  bad[3].path = "ws";
  bad[4].path = "/a b";
  bad[5].path = "/a\r\nX: y";
  bad[6].user_agent = "a\nb";
  for (const stomp_options& o : bad) {
    const auto checked = check_options(o);
    ASSERT_FALSE(checked) << o.host << o.path;
    EXPECT_EQ(checked.error().code, error_code::invalid);
  }
}

TEST(stomp_words, subscribes_to_the_brokers_own_queue) {
  const auto one = subscribe_frame("consumer_1/2", 1);
  EXPECT_EQ(one.get("destination"), "/amq/queue/consumer_1%2F2");
  EXPECT_EQ(one.get("id"), "consumer_1/2");
  EXPECT_EQ(one.get("ack"), "client-individual");
  EXPECT_EQ(one.get("prefetch-count"), "1");
  EXPECT_EQ(one.get("receipt"), "subscribe");
  const auto automatic = subscribe_frame("q", 0);
  EXPECT_EQ(automatic.get("ack"), "auto");
  EXPECT_EQ(automatic.find("prefetch-count"), nullptr);
}

TEST(stomp_words, agrees_on_the_slower_heart_beat_of_each_direction) {
  const std::vector<std::tuple<std::string, std::chrono::milliseconds, stomp_beats>> rows{
      {"10000,10000", 10s, {10s, 10s}},
      {"4000,20000", 10s, {20s, 10s}}, // the broker sends every 4 s; we asked for no more than 10
      {"0,0", 10s, {0ms, 0ms}},
      {"5000,0", 10s, {0ms, 10s}},
      {"0,60000", 10s, {60s, 0ms}},
      {"10000,10000", 0ms, {0ms, 0ms}},
      {"", 10s, {0ms, 0ms}},
      {"10000", 10s, {0ms, 10s}},
      {"x,-5", 10s, {0ms, 0ms}},
  };
  for (const auto& [text, wish, expected] : rows) {
    const auto beats = read_answer(connected(text), wish);
    ASSERT_TRUE(beats) << text;
    EXPECT_EQ(*beats, expected) << text;
  }
}

TEST(stomp_words, reads_a_refused_login_as_such) {
  const auto refused =
      read_answer(error_frame("Bad CONNECT", "Access refused for user 'u'\n"), 10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::auth);
  EXPECT_NE(refused.error().message.find("Access refused for user 'u'"), std::string::npos);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

TEST(stomp_words, refuses_other_versions_for_good) {
  for (const stomp_frame& answer :
       {connected("0,0", "1.1"),
        stomp_frame{.command = "CONNECTED"},
        stomp_frame{.command = "MESSAGE"},
        error_frame("Version mismatch", "Supported versions are 1.0,1.1\n")}) {
    const auto read = read_answer(answer, 10s);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, error_code::permanent) << read.error().message;
  }
}

TEST(stomp_words, sorts_the_errors_of_a_session) {
  const std::vector<std::pair<std::string, error_code>> rows{
      {"not_found", error_code::not_found},
      {"Server cancelled subscription", error_code::not_found},
      {"access_refused", error_code::auth},
      {"AMQP channel died", error_code::transient},
      {"connection_forced", error_code::transient},
      {"precondition_failed", error_code::transient},
      {"Subscription not found", error_code::transient},
      {"Bad command", error_code::permanent},
      {"", error_code::permanent},
  };
  for (const auto& [message, code] : rows) {
    EXPECT_EQ(to_error(error_frame(message)).code, code) << message;
  }
}

TEST(stomp_words, quotes_the_broker_on_one_line_and_not_for_ever) {
  const auto e =
      to_error(error_frame("odd", "line one\r\nline \x01 two" + std::string(5'000, 'x')));
  EXPECT_EQ(e.message.find_first_of("\r\n\x01"), std::string::npos);
  EXPECT_NE(e.message.find("line one"), std::string::npos);
  EXPECT_LT(e.message.size(), 500U);
}

TEST(stomp_words, makes_a_message_of_a_frame) {
  const auto m = to_message(
      {.command = "MESSAGE",
       .headers =
           {{"ack", "id-1"},
            {"Redelivered", "true"},
            {"X-Message-Id", "first"},
            {"x-message-id", "second"}},
       .body = "{}"}
  );
  EXPECT_EQ(m.ack, "id-1");
  EXPECT_TRUE(m.is_redelivered);
  EXPECT_EQ(m.headers.at("x-message-id"), "first");
  EXPECT_EQ(m.body, "{}");
  EXPECT_EQ(acknowledge_frame(m).get("id"), "id-1");

  const auto bare = to_message({.command = "MESSAGE"});
  EXPECT_EQ(bare.ack, "");
  EXPECT_FALSE(bare.is_redelivered);
}

TEST(stomp_words, tells_a_broker_that_is_down_from_a_wrong_address) {
  for (const int status : {408, 429, 500, 502, 503}) {
    EXPECT_EQ(upgrade_refused(status).code, error_code::transient) << status;
  }
  for (const int status : {200, 301, 400, 401, 403, 404}) {
    EXPECT_EQ(upgrade_refused(status).code, error_code::permanent) << status;
    EXPECT_EQ(upgrade_refused(status).http_status, status);
  }
}

} // namespace
} // namespace siteagent::net
