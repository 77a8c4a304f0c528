// SPDX-License-Identifier: MIT
// What the agent tells Waldur of itself, how often, and what it does without it.
#include "world.hpp"

#include "core/agent/registration.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class registration_test : public ::testing::Test {
protected:
  registration_facts facts(const std::string& address = "https://waldur.example.com") {
    return {
        .services = {{"order_process", "order_process", "OfferingOrderProcessor"}},
        .plugin = "null",
        .waldur = address,
        .started_at = "2026-11-01T00:00:00Z",
        .plugins =
            [] {
              return std::vector<std::pair<std::string, std::string>>{
                  {"azure", "2.0.0"}, {"null", "2.0.1"}};
            },
        .statistics =
            [] {
              return base::json::object({{"passes", 1}});
            }};
  }

  std::vector<std::string> renewed() {
    const std::size_t before = w.waldur.writes().size();
    answered = r.renew();
    std::vector<std::string> all = w.waldur.writes();
    return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
  }

  world w;
  registration r{w.waldur, facts(), w.clock, observe::logger("test")};
  bool answered = false;
};

TEST_F(
    registration_test, tells_service_processor_and_statistics_with_the_plugins_and_their_versions
) {
  EXPECT_THAT(
      renewed(),
      ElementsAre(
          "register service order_process order_process",
          "register processor OfferingOrderProcessor siteagent.null 2.0.1",
          "set_statistics"
      )
  );
  EXPECT_TRUE(answered);
  ASSERT_THAT(w.waldur.builds, SizeIs(1));
  EXPECT_EQ(w.waldur.builds[0].version, SITEAGENT_VERSION);
  EXPECT_EQ(w.waldur.builds[0].last_restarted, "2026-11-01T00:00:00Z");
  EXPECT_EQ(
      w.waldur.builds[0].dependencies,
      (std::vector<std::pair<std::string, std::string>>{{"azure", "2.0.0"}, {"null", "2.0.1"}})
  );
  EXPECT_EQ(w.waldur.statistics[0]["passes"].integer(), 1);
}

TEST_F(registration_test, versions_compare_above_the_oldest_that_waldur_supports) {
  EXPECT_GE(std::string(SITEAGENT_VERSION), std::string("2.0.0"));
}

TEST_F(registration_test, every_five_minutes_it_is_the_processor_alone) {
  renewed();
  w.clock.advance(std::chrono::minutes(5));
  EXPECT_THAT(
      renewed(),
      ElementsAre(
          "register processor OfferingOrderProcessor siteagent.null 2.0.1", "set_statistics"
      )
  );
  w.clock.advance(std::chrono::minutes(5)); // a service that fell idle meanwhile
  EXPECT_THAT(renewed(), SizeIs(3));
}

TEST_F(registration_test, a_service_that_somebody_deleted_is_registered_again) {
  renewed();
  w.waldur.fail("register_processor", http_failure(404));
  EXPECT_THAT(renewed(), SizeIs(1));
  EXPECT_TRUE(answered);
  EXPECT_THAT(renewed(), SizeIs(3));
}

TEST_F(registration_test, a_waldur_without_statistics_is_not_asked_again) {
  w.waldur.always_fail("set_statistics", http_failure(404));
  EXPECT_THAT(renewed(), SizeIs(3));
  EXPECT_TRUE(answered);
  EXPECT_THAT(renewed(), SizeIs(1));
}

TEST_F(registration_test, failures_are_told_once_an_hour) {
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  w.waldur.always_fail("register", http_failure(403));
  for (int i = 0; i < 12; ++i) {
    renewed();
    w.clock.advance(std::chrono::minutes(5));
  }
  EXPECT_THAT(lines, SizeIs(1));
  renewed();
  observe::capture_logs_for_test(nullptr);
  EXPECT_THAT(lines, SizeIs(2));
  EXPECT_TRUE(answered) << "a refusal is an answer";
}

TEST_F(registration_test, no_answer_is_told_apart) {
  w.waldur.always_fail("register", failure(error_code::transient));
  renewed();
  EXPECT_FALSE(answered);
}

TEST_F(registration_test, the_pace_is_kept_between_requests) {
  int pauses = 0;
  r.renew([&] { ++pauses; });
  EXPECT_EQ(pauses, 2);
}

TEST_F(registration_test, a_silent_waldur_does_not_hold_up_the_others_and_is_left_alone_a_while) {
  fake_portal dead;
  dead.always_fail("register", failure(error_code::transient));
  registration one(dead, facts("https://dead.example.com"), w.clock, observe::logger("test"));
  registration two(dead, facts("https://dead.example.com"), w.clock, observe::logger("test"));
  registrar all(w.env);
  all.add(one);
  all.add(two);
  all.add(r);
  while (w.waldur.calls("register_processor") < 8) {
    w.clock.advance(std::chrono::seconds(1));
    all.tick();
    std::this_thread::yield();
  }
  all.remove(r);
  all.remove(two);
  all.remove(one);
  EXPECT_GE(dead.calls("register"), 2U);
  EXPECT_LE(dead.calls("register"), 12U) << "one of the two every five minutes, not both";
}

} // namespace

} // namespace siteagent::agent::test
