// SPDX-License-Identifier: MIT
#include "core/net/resolver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace siteagent::net {

namespace {

using base::error_code;
using addresses = std::vector<std::string>;
using namespace std::chrono_literals;

base::steady_time in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

TEST(resolver, asks_once_and_remembers) {
  std::atomic<int> asked{0};
  resolver r([&](const std::string& host) -> base::result<addresses> {
    ++asked;
    return addresses{host + "!"};
  });
  EXPECT_EQ(*r.resolve("a", in(10s), {}), addresses{"a!"});
  EXPECT_EQ(*r.resolve("a", in(10s), {}), addresses{"a!"});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(*r.resolve("b", in(10s), {}), addresses{"b!"});
  EXPECT_EQ(asked, 2);
  r.forget("a");
  EXPECT_EQ(*r.resolve("a", in(10s), {}), addresses{"a!"});
  EXPECT_EQ(asked, 3);
}

TEST(resolver, asks_again_when_its_memory_is_old) {
  std::atomic<int> asked{0};
  resolver r(
      [&](const std::string&) -> base::result<addresses> {
        ++asked;
        return addresses{"x"};
      },
      0ms
  );
  EXPECT_TRUE(r.resolve("a", in(10s), {}));
  EXPECT_TRUE(r.resolve("a", in(10s), {}));
  EXPECT_EQ(asked, 2);
}

TEST(resolver, does_not_remember_failures) {
  std::atomic<int> asked{0};
  resolver r([&](const std::string&) -> base::result<addresses> {
    if (++asked == 1) {
      return base::error{.code = error_code::transient, .message = "no"};
    }
    return addresses{"x"};
  });
  EXPECT_EQ(r.resolve("a", in(10s), {}).error().code, error_code::transient);
  EXPECT_TRUE(r.resolve("a", in(10s), {}));
}

TEST(resolver, turns_exceptions_and_empty_answers_into_errors) {
  resolver r([](const std::string& host) -> base::result<addresses> {
    if (host == "throws") {
      throw std::runtime_error("broken");
    }
    if (host == "throws-a-number") {
      throw 1;
    }
    return addresses{};
  });
  for (const char* host : {"throws", "throws-a-number", "empty"}) {
    const auto answer = r.resolve(host, in(10s), {});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, error_code::transient);
    EXPECT_NE(answer.error().message.find(host), std::string::npos);
  }
}

// A lookup that hangs until the test is over.
struct hung_lookup {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);

  lookup_function function() const {
    return [waiting = released, count = asked](const std::string& host) -> base::result<addresses> {
      ++*count;
      if (host.find("hung") == 0) {
        waiting.wait();
      }
      return addresses{"x"};
    };
  }

  ~hung_lookup() { release.set_value(); }
};

TEST(resolver, gives_up_on_a_hung_lookup_at_the_deadline_and_serves_other_names) {
  const hung_lookup hung;
  resolver r(hung.function());
  EXPECT_EQ(r.resolve("hung", in(60ms), {}).error().code, error_code::deadline);
  EXPECT_TRUE(r.resolve("quick", in(10s), {}));
}

TEST(resolver, joins_those_who_ask_for_the_same_name) {
  hung_lookup hung;
  resolver r(hung.function());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(r.resolve("hung", in(1ms), {}).error().code, error_code::deadline);
  }
  while (*hung.asked == 0) {
    std::this_thread::yield(); // its thread may still be on its way
  }
  EXPECT_EQ(*hung.asked, 1);
}

TEST(resolver, stops_on_request) {
  const hung_lookup hung;
  resolver r(hung.function());
  EXPECT_EQ(r.resolve("hung", in(60s), [] { return true; }).error().code, error_code::cancelled);
}

TEST(resolver, limits_the_number_of_hung_lookups) {
  const hung_lookup hung;
  resolver r(hung.function());
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(
        r.resolve("hung" + std::to_string(i), in(1ms), {}).error().code, error_code::deadline
    );
  }
  EXPECT_EQ(r.resolve("hung-too", in(1ms), {}).error().code, error_code::transient);
  // A name under way may still be waited for.
  EXPECT_EQ(r.resolve("hung3", in(1ms), {}).error().code, error_code::deadline);
}

TEST(resolver, may_go_while_a_lookup_hangs) {
  const hung_lookup hung;
  {
    resolver r(hung.function());
    EXPECT_FALSE(r.resolve("hung", in(1ms), {}));
  }
}

TEST(resolver, serves_many_threads) {
  std::atomic<int> asked{0};
  resolver r([&](const std::string&) -> base::result<addresses> {
    ++asked;
    return addresses{"x"};
  });
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&] { served += r.resolve("a", in(60s), {}).has_value() ? 1 : 0; });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(served, 32);
  EXPECT_EQ(asked, 1);
}

TEST(system_lookup, knows_localhost) {
  const auto found = system_lookup("localhost");
  ASSERT_TRUE(found) << found.error().message;
  for (const std::string& address : *found) {
    EXPECT_TRUE(address == "127.0.0.1" || address == "::1") << address;
  }
}

TEST(system_lookup, fails_for_a_name_that_cannot_be) {
  const auto found = system_lookup("a..b");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::transient);
}

TEST(is_address, tells_addresses_from_names) {
  EXPECT_TRUE(is_address("127.0.0.1"));
  EXPECT_TRUE(is_address("::1"));
  EXPECT_FALSE(is_address("localhost"));
  EXPECT_FALSE(is_address("127.1"));
  EXPECT_FALSE(is_address(""));
}

} // namespace

} // namespace siteagent::net
