// SPDX-License-Identifier: MIT
// Tokens, throttling, retries and paging.
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"

namespace siteagent::azure::test {

namespace {

TEST_F(azure_arm, one_token_serves_many_requests) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(read());
  }
  EXPECT_EQ(arm.tokens_issued, 1);
}

TEST_F(azure_arm, every_request_carries_fresh_ids_and_the_calls_correlation) {
  ASSERT_TRUE(read());
  ASSERT_TRUE(read());
  std::vector<std::string> client_ids;
  for (const logged& l : arm.log()) {
    for (const auto& [name, value] : l.headers) {
      if (name == "x-ms-client-request-id") {
        client_ids.push_back(value);
      }
      if (name == "x-ms-correlation-request-id") {
        EXPECT_EQ(value, "01234567-89ab-cdef-0123-456789abcdef");
      }
    }
  }
  ASSERT_EQ(client_ids.size(), 2U);
  EXPECT_NE(client_ids[0], client_ids[1]);
}

TEST_F(azure_arm, a_short_token_is_renewed_but_not_per_call) {
  arm.token_lifetime = 10;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(read());
    clock.advance(milliseconds(500));
  }
  EXPECT_LE(arm.tokens_issued, 3);
}

TEST_F(azure_arm, an_expired_token_is_renewed_once_and_the_call_goes_on) {
  ASSERT_TRUE(read());
  arm.script(
      {"GET",
       "subscriptions",
       1,
       0,
       false,
       401,
       fake_arm::error_text("ExpiredAuthenticationToken"),
       {}}
  );
  EXPECT_TRUE(read());
  EXPECT_EQ(arm.tokens_issued, 2);
}

TEST_F(azure_arm, a_second_401_is_a_credentials_error) {
  arm.script(
      {"GET",
       "subscriptions",
       -1,
       0,
       false,
       401,
       fake_arm::error_text("InvalidAuthenticationToken"),
       {}}
  );
  const auto r = read();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::auth);
  EXPECT_EQ(arm.tokens_issued, 2);
}

TEST_F(azure_arm, claims_of_a_challenge_reach_the_token_endpoint) {
  arm.script(
      {"GET",
       "subscriptions",
       1,
       0,
       false,
       401,
       fake_arm::error_text("InvalidAuthenticationToken"),
       {{"www-authenticate", R"(Bearer error="insufficient_claims", claims="eyJhIjoxfQ==")"}}}
  );
  ASSERT_TRUE(read());
  std::string form;
  for (const logged& l : arm.log()) {
    if (l.method == "POST") {
      form = l.body;
    }
  }
  EXPECT_NE(net::decode(form, true).find(R"(claims={"a":1})"), std::string::npos);
}

TEST_F(azure_arm, a_wrong_secret_is_tried_once_a_minute_and_a_new_one_at_once) {
  host_data.secret = "swordfish";
  for (int i = 0; i < 10; ++i) {
    const auto r = read();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::auth);
    EXPECT_NE(r.error().message.find("7000215"), std::string::npos);
    EXPECT_EQ(r.error().message.find("swordfish"), std::string::npos);
  }
  EXPECT_EQ(arm.count_requests("POST", "oauth2"), 1U);
  host_data.secret = "right";
  EXPECT_TRUE(read());
}

TEST_F(azure_arm, token_answers_are_read_in_every_form) {
  const auto now = base::wall_time(seconds(1'000));
  const auto life = [&](const char* text) { return arm::parse_token(text, now)->lifetime.count(); };
  EXPECT_EQ(life(R"({"access_token":"x","expires_in":"3599"})"), 3599);
  EXPECT_EQ(life(R"({"access_token":"x","expires_in":3599})"), 3599);
  EXPECT_EQ(life(R"({"access_token":"x","expires_on":"1500"})"), 500);
  EXPECT_EQ(life(R"({"access_token":"x"})"), 300);
  EXPECT_FALSE(arm::parse_token(R"({"expires_in":1})", now));
  EXPECT_FALSE(arm::parse_token("<html>", now));
}

TEST_F(azure_arm, reads_are_repeated_with_pauses_and_a_ceiling) {
  arm.script({"GET", "subscriptions", 3, 0, false, 503, "", {}});
  EXPECT_TRUE(read());
  arm.script({"GET", "subscriptions", -1, 0, false, 503, "", {}});
  const auto before = arm.log().size();
  const auto r = read();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::transient);
  EXPECT_EQ(arm.log().size() - before, 5U);
}

TEST_F(azure_arm, a_truncated_answer_is_read_again) {
  arm.script({"GET", "subscriptions", 1, 0, false, 200, R"({"state":)", {}});
  EXPECT_TRUE(read());
}

TEST_F(azure_arm, retry_after_seconds_are_seconds) {
  arm.script(
      {"GET",
       "subscriptions",
       1,
       0,
       false,
       429,
       fake_arm::error_text("TooManyRequests"),
       {{"retry-after", "3"}}}
  );
  const auto waited = during([&] { ASSERT_TRUE(read()); });
  EXPECT_GE(waited, seconds(3));
  EXPECT_LE(waited, milliseconds(4'500));
}

TEST_F(azure_arm, a_retry_after_date_counts_from_the_servers_clock) {
  const auto server = clock.wall() + std::chrono::minutes(10);
  arm.script(
      {"GET",
       "subscriptions",
       1,
       0,
       false,
       429,
       fake_arm::error_text("TooManyRequests"),
       {{"date", base::to_http_date(server)},
        {"retry-after", base::to_http_date(server + seconds(4))}}}
  );
  const auto waited = during([&] { ASSERT_TRUE(read()); });
  EXPECT_GE(waited, seconds(4));
  EXPECT_LE(waited, seconds(6));
}

TEST_F(azure_arm, a_429_pauses_the_whole_class_but_not_the_others) {
  arm.script(
      {"GET",
       "Microsoft.Compute",
       1,
       0,
       false,
       429,
       fake_arm::error_text("TooManyRequests"),
       {{"retry-after", "1200"}}}
  );
  const auto compute = read("/subscriptions/11111111-1111-1111-1111-111111111111/providers/"
                            "Microsoft.Compute/disks?api-version=1");
  ASSERT_FALSE(compute);
  EXPECT_EQ(compute.error().code, base::error_code::throttled);
  EXPECT_GT(*compute.error().retry_after, seconds(1'000));
  const auto sent = arm.log().size();
  EXPECT_FALSE(read("/subscriptions/11111111-1111-1111-1111-111111111111/providers/"
                    "Microsoft.Compute/disks?api-version=1"));
  EXPECT_EQ(arm.log().size(), sent);
  EXPECT_TRUE(read());
}

TEST_F(azure_arm, a_write_with_a_lost_answer_is_not_repeated) {
  arm.script({"PUT", "", 1, 0, false, std::nullopt, "", {}});
  const auto r = pipe_->write(
      scope_, {"PUT", group_id() + "?api-version=1", base::json::object(), false, true, "write"}
  );
  ASSERT_FALSE(r);
  EXPECT_EQ(reason_of(r.error()), reason::ambiguous);
  EXPECT_TRUE(r.error().may_have_been_sent);
  EXPECT_EQ(arm.count_requests("PUT", ""), 1U);
}

TEST_F(azure_arm, links_to_other_hosts_get_no_token) {
  const auto r = read("https://evil.example/subscriptions?x=1");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::permanent);
  EXPECT_EQ(arm.log().size(), 0U);
}

TEST_F(azure_arm, lists_are_read_to_the_last_page) {
  arm.put(group_id(), tagged());
  for (int i = 0; i < 7; ++i) {
    arm.put(object_id("Microsoft.Network/networkInterfaces", "n" + std::to_string(i)), tagged());
  }
  arm.page_size = 2;
  const auto all = arm::read_all(
      *pipe_,
      scope_,
      "/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Network/"
      "networkInterfaces?api-version=1",
      "list"
  );
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 7U);
}

TEST_F(azure_arm, empty_pages_go_on_and_circles_are_errors) {
  const std::string next =
      std::string(base_url) + "/subscriptions/11111111-1111-1111-1111-111111111111/x?p=2";
  const std::string first = R"({"value":[],"nextLink":")" + next + "\"}";
  arm.script({"GET", "x?p=1", 1, 0, false, 200, first, {}});
  arm.script({"GET", "x?p=2", 1, 0, false, 200, R"({"value":[{"id":"/a"}],"nextLink":""})", {}});
  const auto all = arm::read_all(
      *pipe_, scope_, "/subscriptions/11111111-1111-1111-1111-111111111111/x?p=1", "list"
  );
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 1U);
  arm.script({"GET", "x?p=1", 1, 0, false, 200, first, {}});
  arm.script({"GET", "x?p=2", -1, 0, false, 200, first, {}});
  EXPECT_FALSE(arm::read_all(
      *pipe_, scope_, "/subscriptions/11111111-1111-1111-1111-111111111111/x?p=1", "list"
  ));
}

} // namespace

} // namespace siteagent::azure::test
