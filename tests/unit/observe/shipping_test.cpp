// SPDX-License-Identifier: MIT
#include "core/observe/shipping.hpp"

#include "core/base/secret.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace siteagent::observe {

namespace {

using base::error_code;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

// Takes what is sent, or refuses it as told. [any thread]
class receiver {
public:
  // The next `times` requests fail this way.
  void fail(error_code code, int times = 1'000'000) {
    const std::lock_guard lock(mutex_);
    code_ = code;
    failures_ = times;
  }

  void work_again() { fail(error_code::transient, 0); }

  log_shipper::send_function function() {
    return [this](const auto& topic, const auto& records, const auto&) {
      return take(topic, records);
    };
  }

  // Waits until that many requests were made.
  void wait_for_requests(int count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return requests_ >= count; }));
  }

  void wait_for_lines(const std::string& topic, std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return lines_[topic].size() >= count; }));
  }

  std::vector<std::string> lines(const std::string& topic) {
    const std::lock_guard lock(mutex_);
    return lines_[topic];
  }

  std::size_t largest() {
    const std::lock_guard lock(mutex_);
    return largest_;
  }

  int requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

private:
  base::result<void> take(const std::string& topic, const std::vector<log_record>& records) {
    logger("http").error("a line about the request itself");
    const std::lock_guard lock(mutex_);
    ++requests_;
    largest_ = std::max(largest_, records.size());
    changed_.notify_all();
    if (failures_ > 0) {
      --failures_;
      return base::error{.code = code_, .message = "no"};
    }
    for (const log_record& r : records) {
      lines_[topic].push_back(r.logger + ": " + r.message);
    }
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::string>> lines_;
  int requests_ = 0;
  std::size_t largest_ = 0;
  int failures_ = 0;
  error_code code_ = error_code::transient;
};

class shipping : public testing::Test {
protected:
  shipping() { capture_logs_for_test(&logged_); }

  ~shipping() override { capture_logs_for_test(nullptr); }

  static shipping_options quick() {
    shipping_options o;
    o.interval = 1ms;
    o.first_pause = 1ms;
    return o;
  }

  // Ships at the end only.
  static shipping_options lazy() {
    shipping_options o;
    o.interval = 1h;
    return o;
  }

  std::vector<std::string> logged_;
  receiver there_;
};

} // namespace

TEST_F(shipping, sends_lines_with_their_fields_to_the_topic_they_are_about) {
  {
    const log_shipper shipper(lazy(), there_.function());
    const logger log("orders");
    log.info("too low");
    log.with("offering", "My cloud").warning("order erred", {{"order", "17"}, {"why", "a b"}});
    log.error("about nobody");
  }
  logger("orders").error("too late");
  EXPECT_THAT(there_.lines("My cloud"), ElementsAre("orders: order erred (order=17, why=a b)"));
  EXPECT_THAT(there_.lines(""), ElementsAre("orders: about nobody"));
}

TEST_F(shipping, is_finished_once_when_nothing_is_destroyed) {
  log_shipper shipper(lazy(), there_.function());
  logger("x").error("one");
  shipper.finish();
  EXPECT_THAT(there_.lines(""), ElementsAre("x: one"));
  logger("x").error("two");
  shipper.finish();
  EXPECT_THAT(there_.lines(""), ElementsAre("x: one"));
}

TEST_F(shipping, keeps_secrets_out) {
  base::global_redactor().protect("shipped-secret");
  {
    const log_shipper shipper(lazy(), there_.function());
    logger("x").error("refused shipped-secret", {{"header", "Token shipped-secret"}});
  }
  EXPECT_THAT(there_.lines(""), ElementsAre("x: refused *** (header=Token ***)"));
}

TEST_F(shipping, never_ships_what_is_logged_while_shipping) {
  {
    const log_shipper shipper(quick(), there_.function());
    logger("x").error("one");
    there_.wait_for_lines("", 1);
  }
  EXPECT_THAT(there_.lines(""), ElementsAre("x: one"));
  EXPECT_EQ(there_.requests(), 1);
}

TEST_F(shipping, sends_at_most_100_at_once_and_20_requests_in_one_pass) {
  {
    const log_shipper shipper(lazy(), there_.function());
    for (int i = 0; i < 2'050; ++i) {
      logger("x").error(std::to_string(i));
    }
  }
  EXPECT_EQ(there_.largest(), 100U);
  EXPECT_EQ(there_.requests(), 20);
  EXPECT_EQ(there_.lines("").size(), 2'000U);
}

TEST_F(shipping, repeats_what_failed_for_now_and_keeps_the_order) {
  there_.fail(error_code::transient, 2);
  {
    const log_shipper shipper(quick(), there_.function());
    logger("x").error("one");
    logger("x").error("two");
    there_.wait_for_lines("", 2);
  }
  EXPECT_THAT(there_.lines(""), ElementsAre("x: one", "x: two"));
}

TEST_F(shipping, lets_lines_wait_through_an_outage_and_says_so_once_in_its_own_log) {
  there_.fail(error_code::transient);
  {
    const log_shipper shipper(quick(), there_.function());
    logger("x").error("one");
    there_.wait_for_requests(12); // three passes of one request and three repeats
    there_.work_again();
    there_.wait_for_lines("", 1);
  }
  EXPECT_THAT(there_.lines(""), ElementsAre("x: one"));
  int complaints = 0;
  for (const std::string& line : logged_) {
    complaints += line.find("could not be shipped") == std::string::npos ? 0 : 1;
  }
  EXPECT_EQ(complaints, 1);
  EXPECT_THAT(logged_, Contains(HasSubstr("shipped again")));
}

TEST_F(shipping, tells_how_many_lines_an_outage_cost) {
  there_.fail(error_code::transient);
  shipping_options small = quick();
  small.buffer_bytes = 20'000;
  {
    const log_shipper shipper(small, there_.function());
    for (int i = 0; i < 100; ++i) {
      logger("x").error(std::to_string(i) + std::string(1'000, '.'));
    }
    there_.wait_for_requests(1);
    there_.work_again();
    there_.wait_for_lines("", 5);
  }
  const auto lines = there_.lines("");
  EXPECT_THAT(lines, Contains(HasSubstr("log records were dropped before this one")));
  EXPECT_THAT(lines, Contains(StartsWith("x: 99.")));
  int arrived = 0;
  int lost = 0;
  for (const std::string& line : lines) {
    arrived += line.starts_with("x: ") ? 1 : 0;
    lost += line.starts_with("shipping: ") ? std::stoi(line.substr(10)) : 0;
  }
  EXPECT_EQ(arrived + lost, 100);
}

TEST_F(shipping, ends_quietly_where_a_server_takes_no_logs) {
  for (const error_code code : {error_code::not_found, error_code::unsupported}) {
    logged_.clear();
    receiver old;
    old.fail(code);
    {
      log_shipper shipper(quick(), old.function());
      logger("x").error("one");
      old.wait_for_requests(1);
      logger("x").error("two");
    }
    EXPECT_EQ(old.requests(), 1);
    EXPECT_THAT(logged_, Contains(HasSubstr("takes no log records")));
    EXPECT_THAT(logged_, Not(Contains(HasSubstr("\"level\":\"warning\""))));
  }
}

TEST_F(shipping, asks_again_after_a_reload) {
  there_.fail(error_code::forbidden, 1);
  log_shipper shipper(quick(), there_.function());
  logger("x").error("one");
  there_.wait_for_requests(1);
  while (there_.lines("").empty()) {
    shipper.forget_refusals();
    logger("x").error("two");
    std::this_thread::yield();
  }
  EXPECT_THAT(there_.lines(""), Contains("x: two"));
  EXPECT_THAT(there_.lines(""), Not(Contains("x: one")));
}

TEST_F(shipping, drops_lines_that_are_refused_and_goes_on) {
  there_.fail(error_code::invalid, 1);
  {
    const log_shipper shipper(quick(), there_.function());
    logger("x").error("one");
    there_.wait_for_requests(1);
    logger("x").error("two");
    there_.wait_for_lines("", 1);
  }
  EXPECT_THAT(there_.lines(""), ElementsAre("x: two"));
}

TEST_F(shipping, an_offering_that_is_down_does_not_starve_the_others) {
  const auto send = there_.function();
  {
    const log_shipper shipper(
        quick(),
        [&](const auto& topic, const auto& records, const auto& stop) -> base::result<void> {
          if (topic == "down") {
            return base::error{.code = error_code::transient, .message = "no"};
          }
          return send(topic, records, stop);
        }
    );
    logger("x").with("offering", "down").error("lost");
    logger("x").with("offering", "up").error("one");
    there_.wait_for_lines("up", 1);
  }
  EXPECT_THAT(there_.lines("up"), ElementsAre("x: one"));
}

TEST_F(shipping, the_end_waits_for_a_hung_request_only_as_long_as_it_may) {
  shipping_options o = quick();
  o.farewell = 20ms;
  std::atomic<bool> was_stopped{false};
  {
    const log_shipper shipper(o, [&](const auto&, const auto&, const std::stop_token& stop) {
      std::mutex m;
      std::condition_variable_any ended;
      std::unique_lock lock(m);
      was_stopped = !ended.wait_for(lock, stop, 30s, [] { return false; }) && stop.stop_requested();
      return base::result<void>(base::error{.code = error_code::cancelled, .message = "stopped"});
    });
    logger("x").error("one");
  }
  EXPECT_TRUE(was_stopped);
}

TEST_F(shipping, lines_of_many_threads_all_arrive) {
  {
    const log_shipper shipper(quick(), there_.function());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) {
          logger("x").error("line");
        }
      });
    }
    for (std::thread& t : threads) {
      t.join();
    }
  }
  EXPECT_EQ(there_.lines("").size(), 400U);
}

} // namespace siteagent::observe
