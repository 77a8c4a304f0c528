// SPDX-License-Identifier: MIT
// Resource providers that a subscription has not registered.
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"

namespace siteagent::azure::test {

namespace {

const std::string missing =
    R"({"error":{"code":"MissingSubscriptionRegistration","message":"The subscription is not registered to use namespace 'Microsoft.Compute'. See https://aka.ms/rps-not-found for how to register subscriptions.","details":[{"code":"MissingSubscriptionRegistration","target":"Microsoft.Compute","message":"text"}]}})";

class azure_registration : public azure_arm {
protected:
  void refuse_writes(int times = 1) {
    arm.script({"PUT", "resourceGroups", times, 0, false, 409, missing, {}});
  }

  void answer_register(int status, std::string text) {
    arm.script({"POST", "/register", -1, 0, false, status, std::move(text), {}});
  }

  base::result<arm::response> write() {
    return pipe_->write(
        scope_, {"PUT", group_id() + "?api-version=1", tagged(), false, true, "create group"}
    );
  }
};

TEST_F(azure_registration, is_made_and_awaited_and_the_write_repeated) {
  refuse_writes();
  answer_register(200, R"({"registrationState":"Registering"})");
  arm.script(
      {"GET",
       "providers/Microsoft.Compute",
       2,
       0,
       false,
       200,
       R"({"registrationState":"Registering"})",
       {}}
  );
  const auto waited = during([&] {
    const auto r = write();
    EXPECT_TRUE(r) << r.error().message;
  });
  EXPECT_GE(waited, seconds(30)); // three looks, ten seconds apart
  EXPECT_EQ(arm.count_requests("POST", "/register"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", ""), 2U);
  EXPECT_THAT(
      kinds_of(call_.checkpoints, "before", "post"), testing::ElementsAre("resource-provider")
  );
  EXPECT_EQ(
      arm.writes()[1].path,
      "/subscriptions/" + std::string(subscription) + "/providers/Microsoft.Compute/register"
  );
}

TEST_F(azure_registration, a_region_that_follows_later_gets_the_write_again) {
  refuse_writes(3);
  answer_register(200, R"({"registrationState":"Registered"})");
  EXPECT_TRUE(write());
  EXPECT_EQ(arm.count_requests("PUT", ""), 4U);
}

TEST_F(azure_registration, has_an_end) {
  refuse_writes(-1);
  answer_register(200, R"({"registrationState":"Registered"})");
  const auto r = write();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::not_ready);
  EXPECT_LE(arm.count_requests("PUT", ""), 6U);
}

TEST_F(azure_registration, without_the_right_names_right_and_command_once_a_minute) {
  refuse_writes(-1);
  answer_register(403, fake_arm::error_text("AuthorizationFailed"));
  for (int i = 0; i < 3; ++i) {
    const auto r = write();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::not_ready);
    EXPECT_EQ(reason_of(r.error()), reason::configuration);
    EXPECT_THAT(r.error().message, testing::HasSubstr("Microsoft.Compute/register/action"));
    EXPECT_THAT(
        r.error().message, testing::HasSubstr("az provider register --namespace Microsoft.Compute")
    );
    EXPECT_EQ(r.error().public_message, "");
  }
  EXPECT_EQ(arm.count_requests("POST", "/register"), 1U);
  clock.advance(std::chrono::minutes(2));
  EXPECT_FALSE(write());
  EXPECT_EQ(arm.count_requests("POST", "/register"), 2U);
}

TEST_F(azure_registration, stops_when_the_host_says_so) {
  refuse_writes(-1);
  answer_register(200, R"({"registrationState":"Registering"})");
  call_.on_checkpoint = [](const base::json& j) -> sagent_code {
    return j["phase"].string_or("") == "before" ? SAGENT_E_CANCELLED : SAGENT_OK;
  };
  const auto r = write();
  ASSERT_FALSE(r);
  EXPECT_TRUE(arm::is_stop(r.error()));
  EXPECT_EQ(arm.count_requests("POST", "/register"), 0U);
}

TEST_F(azure_registration, takes_its_namespace_from_target_or_text_and_nothing_odd) {
  const auto named = [](std::string_view target, std::string_view text) {
    arm::error_body said;
    said.status = 409;
    said.nodes.push_back({"MissingSubscriptionRegistration", std::string(text), std::string(target)}
    );
    return arm::missing_provider(said);
  };
  EXPECT_EQ(named("Microsoft.Network", ""), "Microsoft.Network");
  EXPECT_EQ(
      named("", "not registered to use namespace 'Microsoft.Storage'. See"), "Microsoft.Storage"
  );
  EXPECT_EQ(named("", "no name"), "");
  EXPECT_EQ(named("../../x", ""), "");
  EXPECT_EQ(named("", "namespace 'open"), "");
}

} // namespace

} // namespace siteagent::azure::test
