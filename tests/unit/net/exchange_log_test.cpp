// SPDX-License-Identifier: MIT
#include "core/net/exchange_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class scripted final : public transport {
public:
  explicit scripted(base::result<response> answer) : answer_(std::move(answer)) {}

  base::result<response> perform(const request&) override { return answer_; }

private:
  base::result<response> answer_;
};

request secretive_request() {
  request r;
  r.method = "PUT";
  r.url = "https://arm.example/vm?api-version=2024-07-01&sig=topsecret&API-VERSION=x";
  r.headers = {{"Authorization", "Bearer topsecret"}, {"X-Trace", "42"}};
  r.body = R"({"password":"topsecret"})";
  return r;
}

struct recorded {
  std::vector<std::string> lines;

  std::unique_ptr<transport> around(base::result<response> answer, bool wanted = true) {
    exchange_log log;
    log.write = [this](const std::string& line) { lines.push_back(line); };
    log.is_wanted = [wanted] { return wanted; };
    log.headers = {"x-trace", "x-ms-request-id"};
    log.query_keys = {"api-version"};
    static const base::manual_clock still;
    log.clock = &still;
    return log_exchanges(std::make_unique<scripted>(std::move(answer)), std::move(log));
  }
};

TEST(exchange_log, shows_only_what_the_caller_allows) {
  recorded r;
  const response answer{
      201, {{"x-ms-request-id", "abc"}, {"set-cookie", "topsecret"}}, "topsecret"};
  ASSERT_TRUE(r.around(answer)->perform(secretive_request()));
  EXPECT_THAT(
      r.lines,
      ElementsAre(
          "PUT https://arm.example/vm?api-version=2024-07-01&sig=*&API-VERSION=x -> 201 in 0 ms "
          "x-trace=42 x-ms-request-id=abc"
      )
  );
}

TEST(exchange_log, names_the_failure_but_not_its_text) {
  recorded r;
  const base::error lost{.code = base::error_code::outcome_unknown, .message = "topsecret"};
  ASSERT_FALSE(r.around(lost)->perform(secretive_request()));
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_THAT(r.lines.front(), HasSubstr("-> outcome_unknown in"));
  EXPECT_THAT(r.lines.front(), Not(HasSubstr("topsecret")));
}

TEST(exchange_log, shows_nothing_of_an_unreadable_url) {
  recorded r;
  request bad = secretive_request();
  bad.url = "https://user:topsecret@arm.example/";
  ASSERT_TRUE(r.around(response{200, {}, ""})->perform(bad));
  EXPECT_THAT(r.lines.front(), Not(HasSubstr("topsecret")));
}

TEST(exchange_log, makes_no_line_nobody_wants) {
  recorded r;
  ASSERT_TRUE(r.around(response{200, {}, ""}, false)->perform(secretive_request()));
  EXPECT_THAT(r.lines, IsEmpty());
}

} // namespace
} // namespace siteagent::net
