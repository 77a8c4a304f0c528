// SPDX-License-Identifier: MIT
// The last of the predecessor's weaknesses: one kind of credential, whose end came as a surprise.
#include "tests/unit/azure/credential_keys.hpp"
#include "tests/unit/azure/fixture.hpp"

namespace siteagent::azure::test {

namespace {

using base::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class weakness : public azure_test {
protected:
  void login_answers(int status, const char* text) {
    arm.script({"POST", "/oauth2/v2.0/token", -1, 0, false, status, text, {}});
  }

  std::string credentials_told() {
    for (const json& c : run(&backend::diagnostics).emitted) {
      if (c["name"].string_or("") == "credentials") {
        return c["detail"].string_or("");
      }
    }
    return "";
  }
};

TEST_F(weakness, w35_a_certificate_serves_as_well_and_its_end_is_told) {
  settings.erase("client_secret");
  settings.set("client_certificate", "file:/etc/key.pem");
  login_answers(200, R"({"access_token":"token-1","expires_in":3599})");
  host_data.secret = make_certificate(clock.wall(), 365).both();
  const std::string end = base::to_rfc3339(clock.wall() + std::chrono::days(365));
  EXPECT_THAT(
      credentials_told(),
      AllOf(HasSubstr("ends " + end.substr(0, 10)), Not(HasSubstr("make a new one")))
  );
  clock.advance(std::chrono::days(340));
  EXPECT_THAT(credentials_told(), HasSubstr("make a new one"));
}

TEST_F(weakness, w35_an_expired_secret_is_called_that) {
  login_answers(
      401,
      R"({"error":"invalid_client","error_codes":[7000222],"error_description":"AADSTS7000222"})"
  );
  EXPECT_THAT(credentials_told(), HasSubstr("the client secret has expired"));
}

TEST_F(weakness, w35_an_identity_of_the_machine_needs_no_secret) {
  settings.erase("client_secret");
  settings.set("credential", "managed_identity");
  EXPECT_TRUE(parse_settings(settings.dump()));
}

} // namespace

} // namespace siteagent::azure::test
