// SPDX-License-Identifier: MIT
// What each kind of credential sends, and what it says about material that cannot work.
#include "plugins/azure/arm/assertion.hpp"
#include "plugins/azure/arm/managed_identity.hpp"
#include "tests/unit/azure/credential_fixture.hpp"
#include "tests/unit/azure/credential_keys.hpp"

#include <cstdio>
#include <fstream>
#include <unistd.h>

namespace siteagent::azure::test {

namespace {

using base::json;
using testing::HasSubstr;
using testing::Not;

class azure_certificate : public azure_token {
protected:
  azure_certificate() { use(made().both()); }

  // A key takes its time: one for all tests.
  static const test_certificate& made() {
    static const test_certificate one = make_certificate(base::manual_clock().wall());
    return one;
  }

  void use(std::string material, bool has_password = false, bool with_chain = false) {
    secrets["client_certificate"] = std::move(material);
    secrets["client_certificate_password"] = "pass-word";
    proof = arm::make_certificate_credential(reader(), has_password, with_chain);
  }

  std::string trouble() {
    const auto r = get();
    EXPECT_TRUE(!r && r.error().code == base::error_code::auth);
    return r ? "" : r.error().message;
  }

  // Header (0) or claims (1) of the assertion that was sent.
  json part(std::size_t index) {
    const std::string assertion = field(login.last_form(), "client_assertion");
    const auto parts = base::split(assertion, '.');
    EXPECT_EQ(parts.size(), 3U);
    return parts.size() == 3 ? *json::parse(*base64_decode(parts[index])) : json();
  }
};

TEST_F(azure_certificate, signs_an_assertion_instead_of_sending_a_secret) {
  ASSERT_TRUE(get());
  const auto form = login.last_form();
  EXPECT_EQ(field(form, "grant_type"), "client_credentials");
  EXPECT_EQ(field(form, "client_secret"), "");
  EXPECT_EQ(
      field(form, "client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  );
  const json header = part(0);
  EXPECT_EQ(header["alg"].string_or(""), "PS256");
  EXPECT_EQ(header["typ"].string_or(""), "JWT");
  EXPECT_EQ(header["x5t#S256"].string_or("").size(), 43U);
  EXPECT_EQ(header["x5t"].string_or("").size(), 27U);
  EXPECT_TRUE(header["x5c"].is_null());
  const json claims = part(1);
  EXPECT_EQ(claims["aud"].string_or(""), "https://login.example/t/oauth2/v2.0/token");
  EXPECT_EQ(claims["iss"].string_or(""), "c");
  EXPECT_EQ(claims["sub"].string_or(""), "c");
  EXPECT_EQ(claims["jti"].string_or("").size(), 36U);
  const auto now = std::chrono::duration_cast<seconds>(clock.wall().time_since_epoch()).count();
  EXPECT_LE(claims["nbf"].integer().value_or(0), now);
  EXPECT_GT(claims["exp"].integer().value_or(0), now);
  EXPECT_LE(claims["exp"].integer().value_or(0), now + 600);
  EXPECT_TRUE(is_protected(field(form, "client_assertion"))) << "assertions stay out of logs";
  EXPECT_TRUE(is_protected("tok"));
}

TEST_F(azure_certificate, every_exchange_has_an_assertion_of_its_own) {
  ASSERT_TRUE(get());
  const std::string first = part(1)["jti"].string_or("");
  clock.advance(seconds(3590));
  ASSERT_TRUE(get());
  EXPECT_NE(part(1)["jti"].string_or(""), first);
}

TEST_F(azure_certificate, sends_the_chain_when_asked) {
  const test_certificate issuer = make_certificate(clock.wall(), 365, &made());
  use(made().certificate + made().key, false, true);
  ASSERT_TRUE(get());
  EXPECT_EQ(part(0)["x5c"].size(), 1U);
}

TEST_F(azure_certificate, is_read_in_every_form_it_is_kept_in) {
  for (const std::string& material :
       {made().both(),
        made().certificate + made().key,
        made().certificate + made().locked_key,
        made().pkcs12,
        base::base64(made().pkcs12)}) {
    clock.advance(seconds(60));
    source.invalidate(base::secret("tok"), "", clock.steady());
    use(material, true);
    const auto before = login.seen().size();
    const auto r = get();
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(login.seen().size(), before + 1);
  }
}

TEST_F(azure_certificate, a_last_byte_that_looks_like_a_line_end_may_be_lost_on_the_way) {
  std::string cut = made().pkcs12;
  ASSERT_EQ(cut.back(), '\n') << "made to end so";
  cut.pop_back();
  use(cut, true);
  EXPECT_TRUE(get());
}

TEST_F(azure_certificate, says_what_is_wrong_with_it) {
  static const test_certificate other = make_certificate(base::manual_clock().wall());

  struct row {
    std::string material;
    std::string words;
  };

  const row rows[] = {
      {made().certificate, "no private key"},
      {made().key, "no certificate"},
      {made().certificate + other.key, "belongs to none of its certificates"},
      {made().certificate + other.locked_key, "does not open it"},
      {other.pkcs12, "does not open the PKCS#12"},
      {make_curve_certificate(clock.wall()), "no RSA key"},
      {"nonsense", "neither PEM nor PKCS#12"},
  };
  for (const row& r : rows) {
    secrets["client_certificate"] = r.material;
    secrets["client_certificate_password"] = "wrong";
    proof = arm::make_certificate_credential(reader(), true, false);
    const std::string words = trouble();
    EXPECT_THAT(words, HasSubstr("client_certificate"));
    EXPECT_THAT(words, HasSubstr(r.words));
    EXPECT_THAT(words, Not(HasSubstr("BEGIN")));
  }
  EXPECT_TRUE(login.seen().empty()) << "nothing of it is sent";
}

TEST_F(azure_certificate, its_time_is_checked_before_azure_does) {
  clock.advance(std::chrono::hours(24 * 366));
  EXPECT_THAT(trouble(), HasSubstr("CN=site-agent expired at "));
  const test_certificate early =
      make_certificate(clock.wall() + std::chrono::hours(1), 30, &made());
  use(early.both());
  EXPECT_THAT(trouble(), HasSubstr("check the clock"));
}

class azure_federation : public azure_token {
protected:
  azure_federation() : file_(testing::TempDir() + "azure_federation_" + unique()) {
    proof = arm::make_federated_credential(file_);
  }

  ~azure_federation() override { std::remove(file_.c_str()); }

  static std::string unique() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(test->name()) + "_" + std::to_string(::getpid());
  }

  void write(const std::string& text) { std::ofstream(file_, std::ios::binary) << text; }

  std::string file_;
};

TEST_F(azure_federation, sends_the_token_of_the_file_and_reads_it_for_every_exchange) {
  write("aaa.bbb.first\n");
  ASSERT_TRUE(get());
  EXPECT_EQ(field(login.last_form(), "client_assertion"), "aaa.bbb.first");
  EXPECT_TRUE(is_protected("aaa.bbb.first"));
  write("aaa.bbb.second");
  clock.advance(seconds(3590));
  ASSERT_TRUE(get());
  EXPECT_EQ(field(login.last_form(), "client_assertion"), "aaa.bbb.second");
}

TEST_F(azure_federation, a_file_that_is_missing_or_holds_no_token_is_named) {
  const auto missing = get();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::error_code::auth);
  EXPECT_THAT(missing.error().message, HasSubstr(file_));
  write("no token here");
  const auto wrong = get();
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("holds no token"));
  EXPECT_THAT(wrong.error().message, Not(HasSubstr("no token here")));
  write("a.b.c");
  EXPECT_TRUE(get()) << "as soon as it is there";
}

class azure_identity : public azure_token {
protected:
  azure_identity() {
    use({});
    login.respond = [this](const net::request& r) -> endpoint::answer {
      const bool is_look = r.headers.empty();
      return is_look ? answered(400, R"({"error":"invalid_request"})") : reply_;
    };
  }

  void use(arm::identity_choice which) {
    proof = arm::make_managed_identity("http://169.254.169.254", std::move(which));
  }

  endpoint::answer reply_ = answered(
      200, R"({"access_token":"tok","expires_in":"86399","expires_on":"9","token_type":"Bearer"})"
  );
};

TEST_F(azure_identity, asks_the_metadata_service_after_one_look) {
  ASSERT_TRUE(get());
  const auto seen = login.seen();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].headers.empty()) << "the look has no Metadata header";
  EXPECT_EQ(seen[0].deadline, seconds(1));
  EXPECT_EQ(seen[1].method, "GET");
  EXPECT_EQ(
      seen[1].url,
      "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"
      "&resource=https%3A%2F%2Fmanagement.example"
  );
  EXPECT_EQ(seen[1].headers.at(0), (std::pair<std::string, std::string>{"Metadata", "true"}));
  clock.advance(seconds(86'300));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 3U) << "no second look";
}

TEST_F(azure_identity, day_long_tokens_are_renewed_at_half_their_life) {
  ASSERT_TRUE(get());
  clock.advance(seconds(43'000));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 2U);
  clock.advance(seconds(300));
  ASSERT_TRUE(get());
  EXPECT_EQ(login.seen().size(), 3U);
}

TEST_F(azure_identity, names_the_identity_in_the_way_it_was_chosen) {
  const std::pair<arm::identity_choice, const char*> rows[] = {
      {{"id-1", "", ""}, "&client_id=id-1"},
      {{"", "id-2", ""}, "&object_id=id-2"},
      {{"", "", "/subscriptions/s/x"}, "&msi_res_id=%2Fsubscriptions%2Fs%2Fx"}};
  for (const auto& [which, query] : rows) {
    use(which);
    arm::token_source fresh{who()};
    ASSERT_TRUE(fresh.get(scope_, environment()));
    EXPECT_THAT(login.seen().back().url, HasSubstr(query));
  }
}

TEST_F(azure_identity, no_identity_on_the_machine_is_final_and_says_so) {
  reply_ = answered(400, R"({"error":"invalid_request","error_description":"Identity not found"})");
  const auto r = get();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::auth);
  EXPECT_THAT(r.error().message, HasSubstr("assign that identity to this machine"));
  EXPECT_EQ(login.seen().size(), 2U) << "not repeated";
}

TEST_F(azure_identity, waits_out_an_update_of_the_service_for_at_least_70_seconds) {
  reply_ = answered(410, "");
  const auto before = clock.steady();
  EXPECT_FALSE(get());
  EXPECT_GE(clock.steady() - before, seconds(70));
}

class azure_identity_passing : public azure_identity, public testing::WithParamInterface<int> {};

TEST_P(azure_identity_passing, trouble_is_tried_six_times) {
  reply_ = answered(GetParam(), "");
  const auto r = get();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::transient);
  EXPECT_EQ(login.seen().size(), 7U);
}

INSTANTIATE_TEST_SUITE_P(
    statuses, azure_identity_passing, testing::Values(404, 410, 429, 500, 503)
);

TEST_F(azure_identity, outside_azure_it_says_so_after_one_second) {
  login.respond = [](const net::request&) -> endpoint::answer {
    return base::error{.code = base::error_code::transient, .message = "no connection"};
  };
  const auto r = get();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::auth);
  EXPECT_THAT(r.error().message, HasSubstr("no metadata service answers"));
  EXPECT_THAT(r.error().message, HasSubstr("choose another credential"));
  EXPECT_EQ(login.seen().size(), 1U);
  login.respond = [](const net::request&) {
    return answered(403, "A socket operation was attempted to an unreachable network");
  };
  clock.advance(seconds(61));
  const auto hidden = get();
  ASSERT_FALSE(hidden);
  EXPECT_THAT(hidden.error().message, HasSubstr("cannot be reached"));
}

TEST(azure_split_transport, plain_http_goes_to_the_metadata_service_alone) {
  auto usual = std::make_unique<endpoint>();
  auto metadata = std::make_unique<endpoint>();
  auto* const usual_seen = usual.get();
  auto* const metadata_seen = metadata.get();
  const auto both = arm::split_transport(
      std::move(usual), std::move(metadata), std::string(arm::metadata_origin)
  );
  for (const char* url :
       {"http://169.254.169.254/metadata/identity/oauth2/token?x=1",
        "http://169.254.169.254.evil.example/metadata",
        "http://169.254.169.254:8080/metadata",
        "https://169.254.169.254/metadata",
        "https://management.azure.com/subscriptions"}) {
    net::request r;
    r.url = url;
    ASSERT_TRUE(both->perform(r));
  }
  EXPECT_EQ(metadata_seen->seen().size(), 1U);
  EXPECT_EQ(usual_seen->seen().size(), 4U);
}

} // namespace

} // namespace siteagent::azure::test
