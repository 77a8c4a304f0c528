// SPDX-License-Identifier: MIT
// The small parts: pool, locks, heartbeat, memory of orders, circuit, texts, bodies.
#include "world.hpp"

#include "core/agent/heartbeat.hpp"
#include "core/agent/order_book.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/secret.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(worker_pool, runs_everything_and_survives_an_exception) {
  worker_pool pool(3);
  task_group group;
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) {
    pool.submit(group, [&ran, i] {
      ++ran;
      if (i == 5) {
        throw std::runtime_error("scripted");
      }
      if (i == 6) {
        throw 7;
      }
    });
  }
  group.wait();
  EXPECT_EQ(ran, 100);
}

TEST(worker_pool, ends_its_work_before_it_goes) {
  std::atomic<int> ran{0};
  task_group group;
  {
    worker_pool pool(0);
    for (int i = 0; i < 20; ++i) {
      pool.submit(group, [&ran] { ++ran; });
    }
  }
  EXPECT_EQ(ran, 20);
}

TEST(worker_pool, what_a_task_holds_is_gone_when_the_group_is_idle) {
  worker_pool pool(1);
  task_group group;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  pool.submit(group, [held = std::move(held)] { EXPECT_EQ(*held, 1); });
  group.wait();
  EXPECT_TRUE(seen.expired());
}

TEST(resource_locks, are_one_per_resource_and_end_with_their_guard) {
  resource_locks locks;
  {
    const auto first = locks.try_lock(uuid_of(1));
    EXPECT_TRUE(first);
    EXPECT_FALSE(locks.try_lock(uuid_of(1)));
    EXPECT_TRUE(locks.try_lock(uuid_of(2)));
  }
  EXPECT_TRUE(locks.try_lock(uuid_of(1)));
}

TEST(progress_board, names_an_activity_that_is_silent_for_too_long) {
  base::manual_clock clock;
  progress_board board(clock);
  EXPECT_FALSE(board.find_stuck());
  progress_board::activity a = board.begin("create", std::chrono::minutes(50));
  clock.advance(std::chrono::minutes(49));
  a.touch();
  clock.advance(std::chrono::minutes(49));
  EXPECT_FALSE(board.find_stuck());
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(board.find_stuck(), "create");
  { const progress_board::activity moved = std::move(a); }
  EXPECT_FALSE(board.find_stuck());
}

class heartbeat_test : public ::testing::Test {
protected:
  heartbeat_test() {
    std::string pattern = ::testing::TempDir() + "heartbeat-XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }

  ~heartbeat_test() override { std::filesystem::remove_all(directory); }

  std::string path() const { return directory + "/beat"; }

  std::string directory;
};

TEST_F(heartbeat_test, is_the_time_in_seconds) {
  EXPECT_TRUE(touch_heartbeat(path(), base::wall_time{std::chrono::seconds(1'700'000'000)}));
  std::ifstream in(path());
  std::string text;
  in >> text;
  EXPECT_EQ(text, "1700000000");
}

TEST_F(heartbeat_test, follows_no_link) {
  std::ofstream(directory + "/victim") << "precious";
  std::filesystem::create_symlink(directory + "/victim", path());
  EXPECT_FALSE(touch_heartbeat(path(), {}));
  std::ifstream in(directory + "/victim");
  std::string text;
  in >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(heartbeat_test, the_monitor_beats_at_once) {
  base::manual_clock clock;
  progress_board board(clock);
  const heartbeat_monitor monitor(board, clock, path());
  while (!std::filesystem::exists(path())) {
    std::this_thread::yield();
  }
}

TEST_F(heartbeat_test, the_path_comes_from_the_environment) {
  ::setenv("WALDUR_SITE_AGENT_HEARTBEAT_PATH", path().c_str(), 1);
  EXPECT_EQ(heartbeat_path(), path());
  ::unsetenv("WALDUR_SITE_AGENT_HEARTBEAT_PATH");
  EXPECT_THAT(heartbeat_path(), ::testing::EndsWith("/waldur-site-agent-heartbeat"));
}

TEST(order_book, postpones_from_five_seconds_to_five_minutes) {
  base::manual_clock clock;
  order_book book(clock);
  EXPECT_TRUE(book.is_due(uuid_of(1)));
  for (int i = 0; i < 20; ++i) {
    const auto pause = book.postpone(uuid_of(1), failure(error_code::transient));
    EXPECT_GE(pause, std::chrono::seconds(5));
    EXPECT_LE(pause, std::chrono::minutes(5));
    if (i > 10) {
      EXPECT_GE(pause, std::chrono::minutes(2));
    }
  }
  base::error throttled = failure(error_code::throttled);
  throttled.retry_after = std::chrono::minutes(9);
  EXPECT_GE(book.postpone(uuid_of(1), throttled), std::chrono::minutes(9));
  EXPECT_FALSE(book.is_due(uuid_of(1)));
  book.begin(uuid_of(1));
  EXPECT_FALSE(book.next_due());
}

TEST(order_book, keeps_only_what_waldur_lists) {
  base::manual_clock clock;
  order_book book(clock);
  book.memory_of(uuid_of(1))->pending.emplace();
  book.memory_of(uuid_of(2))->pending.emplace();
  book.keep_only({uuid_of(2)});
  EXPECT_FALSE(book.memory_of(uuid_of(1))->pending);
  EXPECT_TRUE(book.memory_of(uuid_of(2))->pending);
}

TEST(order_book, keeps_what_somebody_works_on_whatever_the_list_says) {
  base::manual_clock clock;
  order_book book(clock);
  auto in_hand = book.memory_of(uuid_of(1)); // of an order that is younger than the list
  book.keep_only({});
  in_hand->pending.emplace();
  in_hand.reset();
  EXPECT_TRUE(book.memory_of(uuid_of(1))->pending);
}

TEST(circuit, probes_with_growing_pauses) {
  base::manual_clock clock;
  circuit c(clock);
  EXPECT_FALSE(c.is_open());
  EXPECT_TRUE(c.open());
  EXPECT_FALSE(c.open()); // sixty orders at once are one opening
  EXPECT_FALSE(c.may_probe());
  for (const int minutes : {1, 2, 4, 8, 15, 15}) {
    clock.advance(std::chrono::minutes(minutes) - std::chrono::seconds(1));
    EXPECT_FALSE(c.may_probe()) << minutes;
    clock.advance(std::chrono::seconds(1));
    EXPECT_TRUE(c.may_probe()) << minutes;
    EXPECT_FALSE(c.open());
  }
  c.close();
  EXPECT_FALSE(c.is_open());
}

TEST(offering_context, reads_waldur_every_five_minutes_and_lives_with_an_older_copy) {
  world w;
  EXPECT_TRUE(w.offering->info(w.waldur));
  EXPECT_TRUE(w.offering->info(w.waldur));
  EXPECT_EQ(w.waldur.calls("get_offering"), 1U);
  w.clock.advance(std::chrono::minutes(6));
  w.waldur.fail("get_offering", http_failure(503));
  EXPECT_TRUE(w.offering->info(w.waldur));
  w.waldur.fail("get_offering", http_failure(403));
  EXPECT_FALSE(w.offering->info(w.waldur));
}

TEST(offering_context, takes_over_components_only_the_server_knows) {
  world w;
  waldur::offering_component c;
  c.type = "disk";
  c.billing_type = "fixed";
  c.unit_factor = "1024";
  c.limit_amount = "10";
  c.name = "Disk";
  w.waldur.offering.components.push_back(c);
  c.type = "cpu";
  c.unit_factor = "99";
  w.waldur.offering.components.push_back(c);
  const auto info = *w.offering->info(w.waldur);
  EXPECT_EQ(info->components.size(), 3U);
  EXPECT_EQ(info->components_body.at({"disk", "unit_factor"}).number_text(), "1024");
  EXPECT_EQ(info->components_body.at({"disk", "accounting_type"}).string_or(""), "fixed");
  EXPECT_EQ(info->components_body["cpu"].find("unit_factor"), nullptr);
}

TEST(request_body, compares_limits_as_numbers_and_absent_as_zero) {
  EXPECT_TRUE(same_limits({{"cpu", "2"}}, {{"cpu", "2.00"}, {"ram", "0"}}));
  EXPECT_FALSE(same_limits({{"cpu", "2"}}, {{"cpu", "3"}}));
  EXPECT_FALSE(same_limits({}, {{"cpu", "1"}}));
}

TEST(request_body, an_unknown_project_is_no_tag) {
  EXPECT_EQ(resource_tags(uuid_of(1), uuid_of(2), "").find(tag_project), nullptr);
}

struct reaction_case {
  const char* name;
  int code;
  reaction expected;
};

class reactions : public ::testing::TestWithParam<reaction_case> {};

TEST_P(reactions, follow_the_class) {
  EXPECT_EQ(react_to(failure(static_cast<error_code>(GetParam().code))), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    codes,
    reactions,
    ::testing::Values(
        reaction_case{"transient", 100, reaction::retry},
        reaction_case{"throttled", 101, reaction::retry},
        reaction_case{"no_capacity", 102, reaction::retry},
        reaction_case{"cancelled", 104, reaction::stopped},
        reaction_case{"unknown_outcome", 150, reaction::retry},
        reaction_case{"permanent", 200, reaction::fail},
        reaction_case{"auth", 202, reaction::hold_offering},
        reaction_case{"forbidden", 205, reaction::fail},
        reaction_case{"new_permanent", 299, reaction::fail},
        reaction_case{"refused", 300, reaction::fail},
        reaction_case{"new_refused", 377, reaction::fail},
        reaction_case{"not_found", 400, reaction::not_there},
        reaction_case{"bug", 900, reaction::retry},
        reaction_case{"unknown_class", 777, reaction::retry},
        reaction_case{"negative", -3, reaction::retry}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST(customer_text, carries_no_internals) {
  base::error e = failure(error_code::forbidden, "client 1234 lacks a role in subscription 5678");
  e.provider_code = "AuthorizationFailed";
  e.provider_request_id = "req-9";
  e.detail = R"({"assignment":"abc"})";
  const std::string shown = customer_text(e, "r1", true);
  EXPECT_THAT(shown, HasSubstr("AuthorizationFailed"));
  EXPECT_THAT(shown, HasSubstr("(reference r1)"));
  for (const char* inner : {"1234", "5678", "req-9", "abc"}) {
    EXPECT_THAT(shown, Not(HasSubstr(inner)));
  }
  EXPECT_THAT(customer_text(e, "r1", false), Not(HasSubstr("AuthorizationFailed")));
}

TEST(customer_text, prefers_the_plugins_words_and_scrubs_them) {
  base::global_redactor().protect("hunter2-secret");
  base::error e = failure(error_code::invalid);
  e.public_message = "bad\nvalue hunter2-secret\r\n";
  const std::string shown = customer_text(e, "r1", false);
  EXPECT_EQ(shown, "bad value *** (reference r1)");
}

TEST(customer_text, is_bounded_and_keeps_its_reference) {
  base::error e = failure(error_code::invalid);
  for (int i = 0; i < 1500; ++i) {
    e.public_message += "ä";
  }
  const std::string shown = customer_text(e, "r1", true);
  EXPECT_LE(shown.size(), 2000U);
  EXPECT_THAT(shown, HasSubstr("(reference r1)"));
}

TEST(real_waiter, ends_at_once_when_stopped) {
  std::stop_source stop;
  EXPECT_TRUE(real_waiter().wait_for(std::chrono::milliseconds(1), stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(real_waiter().wait_for(std::chrono::hours(1), stop.get_token()));
}

} // namespace

} // namespace siteagent::agent::test
