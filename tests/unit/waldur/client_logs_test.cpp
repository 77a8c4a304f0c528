// SPDX-License-Identifier: MIT
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {
namespace {

using base::error_code;

const std::string root = "https://waldur.example.com/api/";
const std::string identity = "000000000000000000000000000000a1";
const std::string identity_list = R"([{"uuid":")" + identity + R"("}])";
const agent_build build{"2.0.0", "2026-11-29T12:00:00Z"};

std::vector<log_line> one_line() {
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds(1'764'460'000'042)};
  return {{time, "WARNING", "order erred (why=\"no\")", "orders"}};
}

TEST_F(waldur_client, ships_logs_under_the_agents_identity) {
  http->expect(answer(200, identity_list));
  http->expect(answer(201, R"({"accepted":1})"));
  http->expect(answer(201, R"({"accepted":1})"));
  ASSERT_TRUE(waldur().ship_logs(offering_id, build, one_line()));
  ASSERT_TRUE(waldur().ship_logs(offering_id, build, one_line()));
  EXPECT_EQ(request(1).method, "POST");
  EXPECT_EQ(request(1).url, root + "marketplace-site-agent-logs/");
  EXPECT_EQ(
      request(1).body,
      R"([{"agent_identity_uuid":")" + identity +
          R"(","timestamp":1764460000.042,"level":"WARNING",)"
          R"x("message":"order erred (why=\"no\")","module":"orders"}])x"
  );
  EXPECT_EQ(request(2).body, request(1).body);
}

TEST_F(waldur_client, looks_the_identity_of_logs_up_again_when_the_server_does_not_know_it) {
  http->expect(answer(200, identity_list));
  http->expect(answer(400, R"({"agent_identity_uuid":["Agent identity is not found."]})"));
  http->expect(answer(200, R"([{"uuid":"000000000000000000000000000000a2"}])"));
  http->expect(answer(201, "{}"));
  ASSERT_TRUE(waldur().ship_logs(offering_id, build, one_line()));
  EXPECT_NE(request(3).body.find("00a2"), std::string::npos);
}

TEST_F(waldur_client, tells_an_older_server_from_refused_logs) {
  struct row {
    int status;
    error_code code;
  };

  for (const row& r :
       {row{404, error_code::not_found},
        row{403, error_code::forbidden},
        row{503, error_code::transient}}) {
    const auto fresh = std::make_shared<fake_transport>();
    client c(options, fresh);
    fresh->expect(answer(200, identity_list));
    fresh->expect(answer(r.status));
    const auto shipped = c.ship_logs(offering_id, build, one_line());
    ASSERT_FALSE(shipped) << r.status;
    EXPECT_EQ(shipped.error().code, r.code) << r.status;
  }
}

} // namespace
} // namespace siteagent::waldur
