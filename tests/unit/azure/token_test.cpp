// SPDX-License-Identifier: MIT
// The life of a token: fetched once for all, renewed early, refused, and what the token endpoint's
// refusals mean.
#include "tests/unit/azure/credential_fixture.hpp"

#include <atomic>
#include <future>
#include <thread>

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;
using testing::Not;

struct refusal_row {
  int status;
  std::string name;
  int code;
  bool passing;
  std::string advice;
};

class azure_token_refusals : public testing::TestWithParam<refusal_row> {};

TEST_P(azure_token_refusals, each_has_its_class_and_its_words) {
  const refusal_row& r = GetParam();
  const auto answer = refused(r.status, r.name, r.code);
  const base::error e = arm::token_error(*answer, {"https://l", "the-tenant", "the-client", "a"});
  EXPECT_EQ(e.code, r.passing ? base::error_code::transient : base::error_code::auth);
  EXPECT_EQ(reason_of(e), r.passing ? reason::ambiguous : reason::credentials);
  EXPECT_EQ(e.provider_code, "AADSTS" + std::to_string(r.code));
  EXPECT_THAT(e.message, HasSubstr("AADSTS" + std::to_string(r.code)));
  EXPECT_THAT(e.message, HasSubstr(r.advice));
  EXPECT_THAT(e.message, HasSubstr("client the-client in tenant the-tenant"));
  EXPECT_THAT(e.message, Not(HasSubstr("words"))) << "the description may hold anything";
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    azure_token_refusals,
    testing::Values(
        refusal_row{401, "invalid_client", 7000215, false, "the secret's value, not its id"},
        refusal_row{401, "invalid_client", 7000222, false, "has expired; make a new one"},
        refusal_row{400, "unauthorized_client", 700016, false, "client_id is unknown"},
        refusal_row{400, "invalid_tenant", 90002, false, "the tenant does not exist"},
        refusal_row{400, "invalid_request", 90002, false, "the tenant does not exist"},
        refusal_row{400, "invalid_request", 900023, false, "tenant_id is malformed"},
        refusal_row{400, "invalid_request", 900144, false, "a fault of this plugin"},
        refusal_row{400, "invalid_scope", 70011, false, "check cloud.audience"},
        refusal_row{400, "invalid_resource", 500011, false, "unknown in this tenant"},
        refusal_row{401, "invalid_client", 700027, false, "register this certificate"},
        refusal_row{401, "invalid_client", 700021, false, "issuer, subject and audience"},
        refusal_row{400, "invalid_request", 70021, false, "federated credential"},
        refusal_row{401, "invalid_client", 700213, false, "federated credential"},
        refusal_row{401, "invalid_client", 700024, false, "set the clock"},
        refusal_row{400, "interaction_required", 53003, false, "conditional access"},
        refusal_row{400, "invalid_grant", 530999, false, "conditional access"},
        refusal_row{400, "invalid_client", 123456, false, "check tenant_id"},
        refusal_row{503, "temporarily_unavailable", 90033, true, ""},
        refusal_row{400, "invalid_grant", 50196, true, ""},
        refusal_row{429, "invalid_request", 111, true, ""},
        refusal_row{500, "server_error", 111, true, ""}
    )
);

TEST(azure_token_refusal, without_numbers_the_name_decides_and_without_both_the_status) {
  const arm::principal who{"https://l", "t", "c", "a"};
  const auto of = [&](int status, const std::string& body) {
    return arm::token_error(*answered(status, body), who);
  };
  EXPECT_EQ(of(400, R"({"error":"temporarily_unavailable"})").code, base::error_code::transient);
  EXPECT_THAT(of(400, R"({"error":"invalid_scope"})").message, HasSubstr("cloud.audience"));
  EXPECT_EQ(of(502, "<html>").code, base::error_code::transient);
  EXPECT_EQ(of(404, "<html>").code, base::error_code::auth);
  EXPECT_THAT(of(404, "<html>").message, HasSubstr("check cloud.authority"));
  EXPECT_EQ(of(307, "").code, base::error_code::auth) << "never followed";
  EXPECT_EQ(of(401, R"({"error":"x","error_codes":"none"})").code, base::error_code::auth);
  EXPECT_THAT(
      of(401, R"({"error":"invalid_client","error_codes":[1,7000222]})").message,
      HasSubstr("AADSTS7000222")
  ) << "the code that says something";
}

TEST_F(azure_token, the_request_has_the_fields_of_the_contract_and_no_more) {
  ASSERT_TRUE(get());
  const net::request r = login.seen().at(0);
  EXPECT_EQ(r.method, "POST");
  EXPECT_EQ(r.url, "https://login.example/t/oauth2/v2.0/token");
  EXPECT_EQ(r.content_type, "application/x-www-form-urlencoded");
  EXPECT_EQ(
      net::parse_query(r.body),
      (net::query_list{
          {"grant_type", "client_credentials"},
          {"client_id", "c"},
          {"client_secret", "s3cret-value"},
          {"scope", "https://management.example/.default"}})
  );
  for (const auto& [name, value] : r.headers) {
    EXPECT_FALSE(base::equals_ignoring_case(name, "authorization"));
  }
}

TEST_F(azure_token, many_callers_at_once_mean_one_request) {
  std::promise<void> open;
  const std::shared_future<void> gate = open.get_future().share();
  login.respond = [&](const net::request&) -> endpoint::answer {
    gate.wait();
    return answered(200, R"({"access_token":"tok","expires_in":3599})");
  };
  std::vector<std::future<bool>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::async(std::launch::async, [&] {
      fake_call own(clock);
      sagent::call wrapped(own.raw());
      const arm::scope scope(wrapped, "");
      return static_cast<bool>(
          source.get(scope, {login, clock, *proof, [](std::string_view) {}, milliseconds(1)})
      );
    }));
  }
  open.set_value();
  for (auto& caller : callers) {
    EXPECT_TRUE(caller.get());
  }
  EXPECT_EQ(login.seen().size(), 1U);
}

// Tells when the call looks whether it may go on waiting.
struct watched_call {
  explicit watched_call(std::promise<void>& told) : waiting(told) {
    table.struct_size = sizeof table;
    table.host_data = this;
    table.remaining_ms = [](const sagent_call* c) -> std::int64_t {
      auto* self = static_cast<watched_call*>(c->host_data);
      if (!self->is_told.exchange(true)) {
        self->waiting.set_value();
      }
      return 60'000;
    };
  }

  std::promise<void>& waiting;
  std::atomic<bool> is_told{false};
  sagent_call table{};
};

TEST_F(azure_token, those_that_waited_share_the_failure_instead_of_repeating_it) {
  std::promise<void> asked;
  std::promise<void> open;
  login.respond = [&](const net::request&) -> endpoint::answer {
    asked.set_value(); // a second request would throw here
    open.get_future().wait();
    return refused(401, "invalid_client", 7000215);
  };
  auto first = std::async(std::launch::async, [&] { return get(); });
  asked.get_future().wait();
  std::promise<void> waiting;
  watched_call second_call(waiting);
  auto second = std::async(std::launch::async, [&] {
    sagent::call wrapped(&second_call.table);
    const arm::scope scope(wrapped, "");
    return source.get(scope, {login, clock, *proof, [](std::string_view) {}, milliseconds(1)});
  });
  waiting.get_future().wait();
  open.set_value();
  EXPECT_FALSE(first.get());
  const auto r = second.get();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::auth);
  EXPECT_EQ(login.seen().size(), 1U);
}

TEST_F(azure_token, is_renewed_in_the_last_minutes_and_not_before) {
  ASSERT_TRUE(get());
  clock.advance(seconds(3599 - 151));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 1U);
  clock.advance(seconds(35));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 2U);
}

TEST_F(azure_token, refresh_in_moves_the_renewal_forward) {
  login.respond = [](const net::request&) {
    return answered(200, R"({"access_token":"tok","expires_in":86399,"refresh_in":43199})");
  };
  ASSERT_TRUE(get());
  clock.advance(seconds(43'100));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 1U);
  clock.advance(seconds(100));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 2U);
}

TEST_F(
    azure_token, passing_trouble_in_the_window_keeps_the_old_one_with_one_try_per_three_seconds
) {
  ASSERT_TRUE(get());
  clock.advance(seconds(3599 - 100));
  login.respond = [](const net::request&) { return answered(503, ""); };
  const auto before = clock.steady();
  for (int i = 0; i < 5; ++i) {
    const auto token = get();
    ASSERT_TRUE(token);
    EXPECT_EQ(token->reveal(), "tok");
  }
  EXPECT_EQ(login.seen().size(), 2U);
  EXPECT_EQ(clock.steady(), before) << "nobody waits while the old token serves";
  clock.advance(seconds(4));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 3U);
  clock.advance(seconds(80));
  EXPECT_FALSE(get()) << "in the last half minute only a new one will do";
}

TEST_F(azure_token, a_failing_endpoint_is_asked_four_times_with_growing_pauses) {
  login.respond = [](const net::request&) { return answered(503, ""); };
  const auto before = clock.steady();
  const auto r = get();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::transient);
  EXPECT_EQ(login.seen().size(), 4U);
  EXPECT_GE(clock.steady() - before, seconds(3));
}

TEST_F(azure_token, retry_after_of_the_endpoint_is_honoured) {
  login.respond = [&](const net::request&) -> endpoint::answer {
    if (login.seen().size() > 1) {
      return answered(200, R"({"access_token":"tok"})");
    }
    net::response r;
    r.status = 429;
    r.headers = {{"retry-after", "17"}};
    return r;
  };
  const auto before = clock.steady();
  ASSERT_TRUE(get());
  EXPECT_GE(clock.steady() - before, seconds(17));
}

TEST_F(azure_token, one_that_azure_refuses_twice_in_a_row_is_not_fetched_a_third_time) {
  const auto first = get();
  ASSERT_TRUE(first);
  source.invalidate(*first, "", clock.steady());
  const auto second = get();
  ASSERT_TRUE(second);
  EXPECT_EQ(login.seen().size(), 2U);
  source.refused_again(*second, "", clock.steady());
  source.invalidate(*second, "", clock.steady());
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 2U) << "a wrong tenant must not mean two tokens per call";
  clock.advance(seconds(31));
  source.invalidate(*second, "", clock.steady());
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 3U);
}

TEST_F(azure_token, demanded_claims_are_sent_once) {
  const auto first = get();
  ASSERT_TRUE(first);
  source.invalidate(*first, R"({"access_token":{}})", clock.steady());
  ASSERT_TRUE(get());
  EXPECT_EQ(field(login.last_form(), "claims"), R"({"access_token":{}})");
  clock.advance(seconds(3590));
  ASSERT_TRUE(get());
  EXPECT_EQ(field(login.last_form(), "claims"), "");
}

TEST_F(azure_token, a_private_cloud_with_ad_fs_has_its_own_endpoint) {
  const arm::principal adfs{"https://login.example", "ADFS", "c", "https://arm.example"};
  EXPECT_EQ(adfs.token_url(), "https://login.example/ADFS/oauth2/token");
}

using case_cred_02 = azure_token;

TEST_F(case_cred_02, a_wrong_secret_is_tried_once_a_minute_and_told_without_it) {
  login.respond = [](const net::request&) { return refused(401, "invalid_client", 7000222); };
  for (int i = 0; i < 59; ++i) {
    const auto r = get();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::auth) << "orders wait";
    EXPECT_THAT(r.error().message, HasSubstr("the client secret has expired"));
    EXPECT_THAT(r.error().message, Not(HasSubstr("s3cret")));
    clock.advance(seconds(1));
  }
  EXPECT_EQ(login.seen().size(), 1U);
  clock.advance(seconds(2));
  EXPECT_FALSE(get());
  EXPECT_EQ(login.seen().size(), 2U);
  secrets["client_secret"] = "the-new-one";
  login.respond = [](const net::request&) { return answered(200, R"({"access_token":"tok"})"); };
  EXPECT_TRUE(get()) << "a new secret is tried at once";
}

using case_cred_03 = azure_token;

TEST_F(case_cred_03, every_form_of_lifetime_is_read_and_nonsense_falls_back) {
  const auto now = base::wall_time(seconds(1'000));
  const auto life = [&](const char* rest) {
    const auto a = arm::parse_token(std::string(R"({"access_token":"x")") + rest + "}", now);
    return a ? a->lifetime.count() : -1;
  };
  EXPECT_EQ(life(R"(,"expires_in":3599)"), 3599);
  EXPECT_EQ(life(R"(,"expires_in":"3599")"), 3599);
  EXPECT_EQ(life(R"(,"expires_in":10)"), 10);
  EXPECT_EQ(life(R"(,"expires_on":"1718")"), 718);
  EXPECT_EQ(life(""), 300);
  EXPECT_EQ(life(R"(,"expires_in":-5)"), 300);
  EXPECT_EQ(life(R"(,"expires_in":"soon")"), 300);
  EXPECT_EQ(life(R"(,"expires_in":9223372036854775807)"), 400LL * 24 * 3600);
  EXPECT_EQ(life(R"(,"token_type":"bearer")"), 300);
  EXPECT_EQ(life(R"(,"token_type":"pop")"), -1);
}

TEST_F(case_cred_03, an_answer_without_a_usable_token_is_an_error) {
  for (const char* body :
       {R"({"expires_in":3599})",
        R"({"access_token":""})",
        R"({"access_token":7})",
        R"({"access_token":"two words"})",
        R"({"access_token":"line\r\nbreak"})",
        "<html>",
        ""}) {
    login.respond = [body](const net::request&) { return answered(200, body); };
    const auto r = get();
    ASSERT_FALSE(r) << body;
    EXPECT_THAT(r.error().message, HasSubstr("access_token")) << body;
    EXPECT_THAT(r.error().message, HasSubstr("check cloud.authority")) << body;
  }
}

TEST_F(case_cred_03, a_ten_second_token_does_not_mean_a_request_per_call) {
  login.respond = [](const net::request&) {
    return answered(200, R"({"access_token":"tok","expires_in":10})");
  };
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(get());
    clock.advance(milliseconds(500));
  }
  EXPECT_LE(login.seen().size(), 4U);
}

} // namespace

} // namespace siteagent::azure::test
