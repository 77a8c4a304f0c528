// SPDX-License-Identifier: MIT
// How one exchange goes: headers, success, retries, errors and their texts.
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {
namespace {

using base::error_code;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string state_body = R"({"uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061","state":"executing"})";

base::error network(error_code code, bool sent) {
  base::error e{code, "GET https://waldur.example.com: connection refused"};
  e.may_have_been_sent = sent;
  return e;
}

TEST_F(waldur_client, sends_token_user_agent_and_accept_below_the_api_root) {
  options.api_root = "https://waldur.example.com/";
  http->expect(answer(200, state_body));
  ASSERT_EQ(*waldur().get_order_state(order_id), "executing");
  EXPECT_EQ(request(0).method, "GET");
  EXPECT_EQ(
      request(0).url,
      "https://waldur.example.com/api/marketplace-orders/5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061/"
      "?field=uuid&field=state"
  );
  EXPECT_EQ(header_of(request(0), "Authorization"), "Token the-api-token");
  EXPECT_EQ(header_of(request(0), "User-Agent"), "waldur-site-agent-order_process/2.0.0");
  EXPECT_EQ(header_of(request(0), "Accept"), "application/json");
  EXPECT_EQ(request(0).body, "");
  EXPECT_EQ(request(0).deadline, std::chrono::seconds(60));
}

TEST_F(waldur_client, repeats_a_read_twice_with_growing_pauses) {
  http->expect(answer(503, "<html>down</html>"));
  http->expect(network(error_code::transient, false));
  http->expect(answer(200, state_body));
  EXPECT_TRUE(waldur().get_order_state(order_id).has_value());
  ASSERT_EQ(pauses.size(), 2U);
  EXPECT_GE(pauses[0], milliseconds(500));
  EXPECT_LE(pauses[0], milliseconds(1'000));
  EXPECT_GE(pauses[1], milliseconds(1'000));
  EXPECT_LE(pauses[1], milliseconds(2'000));
}

TEST_F(waldur_client, gives_up_a_read_after_three_attempts) {
  for (int i = 0; i < 3; ++i) {
    http->expect(answer(502, "<html><body>Bad\n\n gateway</body></html>"));
  }
  const auto state = waldur().get_order_state(order_id);
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, error_code::transient);
  EXPECT_EQ(state.error().http_status, 502);
  EXPECT_EQ(
      state.error().message,
      "waldur: get state of order 5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061: HTTP 502: "
      "not JSON: <html><body>Bad gateway</body></html>"
  );
  EXPECT_FALSE(state.error().may_have_been_sent);
}

TEST_F(waldur_client, honours_retry_after_and_hands_long_ones_to_the_caller) {
  http->expect(answer(429, "", {{"retry-after", "7"}}));
  http->expect(answer(200, state_body));
  EXPECT_TRUE(waldur().get_order_state(order_id).has_value());
  EXPECT_THAT(pauses, ElementsAre(milliseconds(7'000)));

  http->expect(answer(429, R"({"detail":"slow down"})", {{"retry-after", "61"}}));
  const auto later = waldur().get_order_state(order_id);
  ASSERT_FALSE(later.has_value());
  EXPECT_EQ(later.error().code, error_code::throttled);
  EXPECT_EQ(later.error().retry_after, milliseconds(61'000));
  EXPECT_EQ(pauses.size(), 1U);
}

TEST_F(waldur_client, does_not_repeat_what_will_not_change) {
  struct row {
    int status;
    error_code code;
    std::string advice;
  };

  const std::vector<row> rows = {
      {400, error_code::invalid, ""},
      {401, error_code::auth, "check the token"},
      {403, error_code::forbidden, "lacks the permission"},
      {404, error_code::not_found, "does not exist or the token's user cannot see it"},
      {405, error_code::unsupported, "Marketplace.Slurm"},
      {409, error_code::conflict, ""},
      {410, error_code::permanent, ""},
      {424, error_code::unsupported, ""},
      {301, error_code::permanent, "a redirect, which is never followed"},
      {304, error_code::permanent, "a redirect"},
  };
  for (const row& r : rows) {
    http->expect(answer(r.status, R"({"detail":"No."})"));
    const auto state = waldur().get_order_state(order_id);
    ASSERT_FALSE(state.has_value());
    EXPECT_EQ(state.error().code, r.code) << r.status;
    EXPECT_EQ(state.error().http_status, r.status);
    EXPECT_THAT(state.error().message, HasSubstr("HTTP " + std::to_string(r.status) + ": No."));
    EXPECT_THAT(state.error().message, HasSubstr(r.advice));
  }
  EXPECT_THAT(pauses, IsEmpty());
}

TEST_F(waldur_client, takes_only_the_documented_status_as_success) {
  for (int i = 0; i < 3; ++i) {
    http->expect(answer(204));
  }
  EXPECT_EQ(waldur().get_order_state(order_id).error().code, error_code::transient);
  http->expect(answer(202, "{}"));
  const auto done = waldur().set_state_done(order_id);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, error_code::outcome_unknown);
  EXPECT_TRUE(done.error().may_have_been_sent);
  EXPECT_THAT(done.error().message, HasSubstr("not the documented status"));
}

TEST_F(waldur_client, never_takes_an_unreadable_200_for_an_empty_answer) {
  for (const std::string body :
       {"",
        "  \n",
        "<!DOCTYPE html><html>login</html>",
        R"({"uuid":"5f0c)",
        "\x1f\x8b\x08",
        "null",
        "[]",
        "5"}) {
    for (int i = 0; i < 3; ++i) {
      http->expect(answer(200, body));
    }
    const std::size_t before = http->requests.size();
    const auto order = waldur().get_order(order_id);
    ASSERT_FALSE(order.has_value()) << body;
    EXPECT_EQ(order.error().code, error_code::transient) << body;
    while (http->left() > 0) { // what is JSON of another shape is not asked again
      waldur().get_order(order_id).has_value();
    }
    EXPECT_GT(http->requests.size(), before);
  }
}

TEST_F(waldur_client, accepts_json_with_a_byte_order_mark) {
  http->expect(answer(200, "\xEF\xBB\xBF" + state_body));
  EXPECT_EQ(*waldur().get_order_state(order_id), "executing");
}

TEST_F(waldur_client, sends_writes_once) {
  http->expect(answer(503));
  const auto refused = waldur().set_state_done(order_id);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::transient);
  EXPECT_TRUE(refused.error().may_have_been_sent);
  EXPECT_EQ(http->requests.size(), 1U);
  EXPECT_THAT(pauses, IsEmpty());
}

TEST_F(waldur_client, says_when_a_write_may_have_happened) {
  for (const int status : {408, 502, 504}) {
    http->expect(answer(status));
    const auto done = waldur().set_state_done(order_id);
    EXPECT_EQ(done.error().code, error_code::outcome_unknown) << status;
    EXPECT_TRUE(done.error().may_have_been_sent);
  }
  http->expect(network(error_code::outcome_unknown, true));
  const auto cut = waldur().set_state_done(order_id);
  EXPECT_EQ(cut.error().code, error_code::outcome_unknown);
  EXPECT_TRUE(cut.error().may_have_been_sent);
  http->expect(network(error_code::transient, false));
  const auto not_sent = waldur().set_state_done(order_id);
  EXPECT_EQ(not_sent.error().code, error_code::transient);
  EXPECT_FALSE(not_sent.error().may_have_been_sent);
}

TEST_F(waldur_client, takes_a_page_of_html_after_a_write_for_an_unknown_outcome) {
  http->expect(answer(200, "<html>maintenance</html>"));
  const auto done = waldur().set_state_done(order_id);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, error_code::outcome_unknown);
  EXPECT_THAT(done.error().message, HasSubstr("HTTP 200, not JSON: <html>maintenance"));
  http->expect(answer(200));
  EXPECT_TRUE(waldur().set_state_done(order_id).has_value()) << "no body at all is fine";
}

TEST_F(waldur_client, shows_validation_errors_as_words) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"detail":"Wrong state."})", "HTTP 400: Wrong state."},
      {R"({"usages":["Bad amount.","Too late."]})", "HTTP 400: usages: Bad amount. Too late."},
      {R"(["One.","Two."])", "HTTP 400: One. Two."},
      {R"({"non_field_errors":["No."]})", "HTTP 400: No."},
      {R"({"a":{"b":["c"]},"n":5})", "HTTP 400: a: b: c; n: 5"},
      {"{\"detail\":\"two\\nlines\\u0007\"}", "HTTP 400: two lines "},
      {"", "HTTP 400"},
  };
  for (const auto& [body, expected] : cases) {
    http->expect(answer(400, body));
    const auto done = waldur().set_state_done(order_id);
    EXPECT_EQ(done.error().message, "waldur: set order " + order_id.hex() + " done: " + expected);
  }
}

TEST_F(waldur_client, bounds_and_scrubs_the_servers_words) {
  http->expect(answer(400, R"({"detail":"the-api-token )" + std::string(5'000, 'x') + "\"}"));
  const auto done = waldur().set_state_done(order_id);
  EXPECT_LT(done.error().message.size(), 700U);
  EXPECT_THAT(done.error().message, HasSubstr("HTTP 400: *** xxx"));
  EXPECT_THAT(done.error().detail, Not(HasSubstr("the-api-token")));
  http->expect(answer(500, std::string(5'000, '\xFF')));
  EXPECT_LT(waldur().set_state_done(order_id).error().message.size(), 400U);
}

TEST_F(waldur_client, keeps_status_words_and_request_id_for_programs) {
  http->expect(answer(409, R"({"detail":"Not now."})", {{"x-request-id", "abc"}}));
  const auto done = waldur().set_state_done(order_id);
  EXPECT_EQ(done.error().detail, R"({"http_status":409,"answer":"Not now."})");
  EXPECT_EQ(done.error().provider_request_id, "abc");
}

TEST_F(waldur_client, stops_before_the_next_attempt_when_asked) {
  bool stop = false;
  options.stop_requested = [&] { return stop; };
  options.sleep = [&](milliseconds) { stop = true; };
  http->expect(answer(503));
  const auto state = waldur().get_order_state(order_id);
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, error_code::cancelled);
  EXPECT_EQ(http->requests.size(), 1U);
  EXPECT_EQ(waldur().set_state_done(order_id).error().code, error_code::cancelled);
  EXPECT_EQ(http->requests.size(), 1U);
}

TEST_F(waldur_client, does_not_repeat_a_cancelled_read) {
  http->expect(network(error_code::cancelled, false));
  EXPECT_EQ(waldur().get_order_state(order_id).error().code, error_code::cancelled);
}

TEST_F(waldur_client, pauses_for_real_without_a_given_sleep_and_ends_the_pause_at_stop) {
  bool stop = false;
  options.sleep = {};
  options.stop_requested = [&] { return stop; };
  http->handler = [&](const net::request&) -> fake_transport::reply {
    stop = true;
    return answer(503, "", {{"retry-after", "60"}});
  };
  EXPECT_EQ(waldur().get_order_state(order_id).error().code, error_code::cancelled);
}

// OIDC

const std::string token_body =
    R"({"access_token":"access-1","expires_in":300,"token_type":"Bearer"})";

TEST_F(waldur_client, gets_an_access_token_by_client_credentials) {
  use_oidc();
  http->expect(answer(200, token_body));
  http->expect(answer(200, state_body));
  ASSERT_TRUE(waldur().get_order_state(order_id).has_value());
  EXPECT_EQ(request(0).method, "POST");
  EXPECT_EQ(request(0).url, "https://id.example.com/realm/token");
  EXPECT_EQ(request(0).content_type, "application/x-www-form-urlencoded");
  EXPECT_EQ(
      request(0).body,
      "grant_type=client_credentials&client_id=agent%20%26%20co&client_secret=oidc-secret%2B%2F%3D"
  );
  EXPECT_EQ(header_of(request(0), "Authorization"), "");
  EXPECT_EQ(header_of(request(1), "Authorization"), "Bearer access-1");
}

TEST_F(waldur_client, keeps_the_access_token_until_thirty_seconds_before_its_end) {
  use_oidc();
  http->expect(answer(200, token_body));
  http->expect(answer(200, state_body));
  http->expect(answer(200, state_body));
  http->expect(answer(200, R"({"access_token":"access-2"})"));
  http->expect(answer(200, state_body));
  http->expect(answer(200, state_body));
  http->expect(answer(200, R"({"access_token":"access-3","expires_in":"10"})"));
  http->expect(answer(200, state_body));
  http->expect(answer(200, R"({"access_token":"access-4","expires_in":3600})"));
  http->expect(answer(200, state_body));
  const auto used = [&] {
    EXPECT_TRUE(waldur().get_order_state(order_id).has_value());
    return header_of(http->requests.back(), "Authorization");
  };
  EXPECT_EQ(used(), "Bearer access-1");
  clock.advance(std::chrono::seconds(269));
  EXPECT_EQ(used(), "Bearer access-1");
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(used(), "Bearer access-2");
  clock.advance(std::chrono::seconds(269)); // without expires_in: 300 s
  EXPECT_EQ(used(), "Bearer access-2");
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(used(), "Bearer access-3");
  EXPECT_EQ(used(), "Bearer access-4") << "a token that lives 10 s serves one call";
}

TEST_F(waldur_client, renews_the_access_token_once_after_a_401_also_for_writes) {
  use_oidc();
  http->expect(answer(200, token_body));
  http->expect(answer(401, R"({"detail":"expired"})"));
  http->expect(answer(200, R"({"access_token":"access-2"})"));
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().set_state_done(order_id).has_value());
  EXPECT_EQ(header_of(request(3), "Authorization"), "Bearer access-2");

  http->expect(answer(401));
  http->expect(answer(200, R"({"access_token":"access-3"})"));
  http->expect(answer(401, R"({"detail":"still no: access-3"})"));
  const auto refused = waldur().set_state_done(order_id);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::auth);
  EXPECT_THAT(refused.error().message, HasSubstr("still no: ***"));
}

TEST_F(waldur_client, reads_a_refused_token_again_where_it_lies_also_for_writes) {
  int reads = 0;
  options.read_secret_again = [&]() -> base::result<base::secret> {
    ++reads;
    return base::secret("token-of-today");
  };
  http->expect(answer(401, R"({"detail":"Invalid token."})"));
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().set_state_done(order_id).has_value());
  EXPECT_EQ(header_of(request(1), "Authorization"), "Token token-of-today");

  // The one that is there is refused, too: no second attempt.
  http->expect(answer(401));
  EXPECT_EQ(waldur().set_state_done(order_id).error().code, error_code::auth);
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(http->requests.size(), 3U);
}

TEST_F(waldur_client, a_token_that_cannot_be_read_again_is_refused_as_before) {
  options.read_secret_again = []() -> base::result<base::secret> {
    return base::error{error_code::invalid, "no such file"};
  };
  http->expect(answer(401));
  EXPECT_EQ(waldur().set_state_done(order_id).error().code, error_code::auth);
}

TEST_F(waldur_client, reads_a_refused_client_secret_again_and_asks_once_more) {
  use_oidc();
  options.read_secret_again = [] {
    return base::result<base::secret>(base::secret("secret-of-today"));
  };
  http->expect(answer(401, R"({"error":"invalid_client"})"));
  http->expect(answer(200, token_body));
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().set_state_done(order_id).has_value());
  EXPECT_THAT(request(1).body, HasSubstr("client_secret=secret-of-today"));
}

TEST_F(waldur_client, reports_a_refusal_of_the_token_endpoint_without_the_secret) {
  use_oidc();
  http->expect(answer(401, R"({"error":"invalid_client","error_description":"bad oidc-secret+/="})")
  );
  const auto state = waldur().get_order_state(order_id);
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, error_code::auth);
  EXPECT_THAT(
      state.error().message,
      StartsWith(
          "waldur: get state of order " + order_id.hex() +
          ": OIDC token request: HTTP 401: error: invalid_client"
      )
  );
  EXPECT_THAT(state.error().message, Not(HasSubstr("oidc-secret")));
}

TEST_F(waldur_client, repeats_a_read_when_the_token_endpoint_was_away) {
  use_oidc();
  http->expect(network(error_code::outcome_unknown, true));
  http->expect(answer(503));
  http->expect(answer(200, token_body));
  http->expect(answer(200, state_body));
  EXPECT_TRUE(waldur().get_order_state(order_id).has_value());
}

TEST_F(waldur_client, knows_that_a_write_was_not_sent_when_there_was_no_token) {
  use_oidc();
  http->expect(network(error_code::outcome_unknown, true));
  const auto done = waldur().set_state_done(order_id);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, error_code::transient);
  EXPECT_FALSE(done.error().may_have_been_sent);
}

TEST_F(waldur_client, shares_the_access_token_with_clients_of_the_same_OIDC_client_only) {
  use_oidc();
  options.tokens = make_token_cache();
  http->expect(answer(200, token_body));
  http->expect(answer(200, state_body));
  http->expect(answer(200, state_body));
  http->expect(answer(401));
  http->expect(answer(200, R"({"access_token":"access-2"})"));
  http->expect(answer(200, state_body));
  http->expect(answer(200, state_body));
  client twin(options, http);
  client_options another = options;
  another.oidc_client_secret = base::secret("another-secret");
  client stranger(another, http);
  const auto used = [&](client& c) {
    EXPECT_TRUE(c.get_order_state(order_id).has_value());
    return header_of(http->requests.back(), "Authorization");
  };
  EXPECT_EQ(used(waldur()), "Bearer access-1");
  EXPECT_EQ(used(twin), "Bearer access-1");
  EXPECT_EQ(used(twin), "Bearer access-2") << "refused, and got anew";
  EXPECT_EQ(used(waldur()), "Bearer access-2");
  http->expect(answer(200, R"({"access_token":"access-3"})"));
  http->expect(answer(200, state_body));
  EXPECT_EQ(used(stranger), "Bearer access-3");
}

TEST_F(waldur_client, refuses_access_tokens_that_cannot_be_a_header) {
  use_oidc();
  for (const std::string body :
       {"<html>",
        "{}",
        R"({"access_token":""})",
        R"({"access_token":5})",
        "{\"access_token\":\"a\\r\\nX: y\"}"}) {
    http->expect(answer(200, body));
    const auto done = waldur().set_state_done(order_id);
    EXPECT_EQ(done.error().code, error_code::transient) << body;
    EXPECT_THAT(done.error().message, HasSubstr("no usable access_token"));
  }
}

} // namespace
} // namespace siteagent::waldur
