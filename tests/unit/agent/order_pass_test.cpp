// SPDX-License-Identifier: MIT
// Many orders: order within a resource, parallel across resources, isolation, second looks.
#include "world.hpp"

#include "core/agent/order_pass.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Lets `count` threads meet; wait() fails when they do not within the test's patience.
class meeting {
public:
  explicit meeting(unsigned count) : missing_(count) {}

  bool wait() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) {
      all_.notify_all();
    }
    return all_.wait_for(lock, std::chrono::seconds(20), [this] { return missing_ == 0; });
  }

private:
  std::mutex mutex_;
  std::condition_variable all_;
  unsigned missing_;
};

fake_cloud::emitted made(const host::call_request& request) {
  return std::vector{json::object({{"backend_id", "/vm/" + request.idempotency_key}})};
}

class order_pass_test : public ::testing::Test {
protected:
  explicit order_pass_test(unsigned workers = 8) : w(workers) {}

  void orders(unsigned first, unsigned count, const std::string& type = "Create") {
    for (unsigned n = first; n < first + count; ++n) {
      w.waldur.add_order(n, type, "executing");
      w.waldur.add_resource(n + 1000, type == "Create" ? "Creating" : "OK");
    }
  }

  base::result<void> pass_once() {
    base::result<void> answer = pass.start();
    pass.wait();
    return answer;
  }

  world w;
  order_pass pass{*w.offering, w.waldur, w.env};
};

TEST_F(order_pass_test, carries_out_orders_of_different_resources_at_the_same_time) {
  orders(1, 4);
  meeting all(4);
  w.cloud->on(operation::create_resource, [&](const auto& request, const auto&) {
    EXPECT_TRUE(all.wait());
    return made(request);
  });
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.writes("set_done").size(), 4U);
}

TEST_F(order_pass_test, an_order_does_not_wait_for_another_ones_cloud_operation) {
  orders(1, 1);
  orders(2, 1, "Terminate");
  meeting both(2);
  w.cloud->on(operation::create_resource, [&](const auto& request, const auto&) {
    EXPECT_TRUE(both.wait()); // ends only once the terminate order is done
    return made(request);
  });
  std::atomic<bool> first{true};
  w.waldur.before("set_done", [&] {
    if (first.exchange(false)) {
      EXPECT_TRUE(both.wait());
    }
  });
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.state_of(1), "done");
  EXPECT_EQ(w.waldur.state_of(2), "done");
}

TEST_F(order_pass_test, orders_of_one_resource_follow_their_creation) {
  w.waldur.add_resource(2000);
  for (const unsigned n : {1U, 2U, 3U}) {
    waldur::order& o = w.waldur.add_order(n, n == 1 ? "Create" : "Terminate", "executing");
    o.resource = uuid_of(2000);
  }
  EXPECT_TRUE(pass_once());
  EXPECT_THAT(
      w.waldur.writes("set_done"),
      ElementsAre(
          "set_done " + uuid_of(1).hex(),
          "set_done " + uuid_of(2).hex(),
          "set_done " + uuid_of(3).hex()
      )
  );
}

TEST_F(order_pass_test, a_later_order_waits_for_an_earlier_one_that_stays) {
  w.waldur.add_resource(2000);
  w.waldur.add_order(1, "Create", "executing").resource = uuid_of(2000);
  w.waldur.add_order(2, "Terminate", "executing").resource = uuid_of(2000);
  w.cloud->fail(operation::create_resource, failure(error_code::transient));
  EXPECT_TRUE(pass_once());
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
  EXPECT_EQ(w.waldur.state_of(2), "executing");
}

TEST_F(order_pass_test, one_bad_order_does_not_stop_the_others) {
  w.waldur.add_order(1, "Create", "executing").attributes = nullptr;
  w.waldur.add_order(2, "Weird", "executing");
  w.waldur.add_order(3, "Create", "executing").resource.reset();
  orders(4, 2);
  EXPECT_TRUE(pass_once()); // resources of 1 and 2 do not exist
  EXPECT_EQ(w.waldur.state_of(4), "done");
  EXPECT_EQ(w.waldur.state_of(5), "done");
}

TEST_F(order_pass_test, a_postponed_order_is_left_alone_until_it_is_due) {
  orders(1, 1);
  w.cloud->fail(operation::create_resource, failure(error_code::transient));
  EXPECT_TRUE(pass_once());
  ASSERT_TRUE(pass.next_due());
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.cloud->calls(operation::create_resource).size(), 1U);
  w.clock.advance(std::chrono::ceil<std::chrono::milliseconds>(*pass.next_due() - w.clock.steady())
  );
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.state_of(1), "done");
  EXPECT_FALSE(pass.next_due());
}

TEST_F(order_pass_test, a_running_order_asks_for_no_early_look) {
  orders(1, 1);
  w.cloud->fail(operation::create_resource, failure(error_code::transient));
  EXPECT_TRUE(pass_once());
  w.clock.advance(std::chrono::minutes(6));
  w.cloud->on(operation::create_resource, [&](const auto& request, const auto&) {
    EXPECT_FALSE(pass.next_due());
    return made(request);
  });
  EXPECT_TRUE(pass_once());
}

TEST_F(order_pass_test, a_busy_resource_is_skipped_and_looked_at_again) {
  orders(1, 2);
  meeting both(2);
  w.cloud->on(operation::create_resource, [&](const auto& request, const auto&) {
    EXPECT_TRUE(both.wait());
    return made(request);
  });
  {
    const auto lock = w.locks.try_lock(uuid_of(1001));
    ASSERT_TRUE(lock);
    EXPECT_TRUE(pass.start()); // order 1 is skipped
    w.waldur.set_order_state(1, "executing");
    EXPECT_TRUE(both.wait()); // order 2 ends when we have seen it work
    pass.wait();
  }
  EXPECT_EQ(w.waldur.state_of(1), "executing");
  EXPECT_EQ(w.waldur.state_of(2), "done");
}

TEST_F(order_pass_test, a_second_look_while_the_first_works_begins_nothing_twice) {
  orders(1, 1);
  meeting seen(2);
  meeting end(2);
  w.cloud->on(operation::create_resource, [&](const auto& request, const auto&) {
    EXPECT_TRUE(seen.wait());
    EXPECT_TRUE(end.wait());
    return made(request);
  });
  EXPECT_TRUE(pass.start());
  EXPECT_TRUE(seen.wait());
  EXPECT_TRUE(pass.start());
  EXPECT_TRUE(end.wait());
  pass.wait();
  EXPECT_EQ(w.cloud->calls(operation::create_resource).size(), 1U);
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

TEST_F(order_pass_test, the_providers_keys_are_read_after_the_orders_and_by_normalised_uuid) {
  orders(1, 1);
  w.waldur.keys["00000000-0000-0000-0000-000000000501"] = "ssh-ed25519 AAAA";
  w.waldur.before("list_ssh_keys", [&] { EXPECT_EQ(w.waldur.calls("list_orders"), 1U); });
  EXPECT_TRUE(pass_once());
  const auto calls = w.cloud->calls(operation::create_resource);
  EXPECT_EQ(
      calls.at(0).request.body.at({"ssh_keys", "00000000000000000000000000000501"}).string_or(""),
      "ssh-ed25519 AAAA"
  );
}

TEST_F(order_pass_test, keys_are_read_only_when_a_create_is_in_the_list) {
  orders(1, 2, "Terminate");
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.calls("list_ssh_keys"), 0U);
}

TEST_F(order_pass_test, an_offering_without_a_provider_record_has_no_keys) {
  w.waldur.offering.customer.reset();
  orders(1, 1);
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.calls("list_ssh_keys"), 0U);
  const auto calls = w.cloud->calls(operation::create_resource);
  EXPECT_TRUE(calls.at(0).request.body["ssh_keys"].is_object());
}

TEST_F(order_pass_test, says_when_the_offering_could_not_run) {
  orders(1, 1);
  w.waldur.fail("get_offering", http_failure(503));
  EXPECT_FALSE(pass_once());
  w.waldur.fail("list_orders", http_failure(401));
  EXPECT_FALSE(pass_once());
  EXPECT_TRUE(pass_once());
}

TEST_F(order_pass_test, an_open_circuit_is_probed_before_any_order_is_touched) {
  orders(1, 1);
  w.cloud->fail(operation::create_resource, failure(error_code::auth));
  EXPECT_TRUE(pass_once());
  w.clock.advance(std::chrono::minutes(6));
  w.cloud->fail(operation::ping, failure(error_code::auth));
  EXPECT_FALSE(pass_once());
  w.clock.advance(std::chrono::minutes(20));
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

TEST_F(order_pass_test, a_stopping_agent_begins_nothing_new) {
  orders(1, 3);
  w.stop.request_stop();
  EXPECT_TRUE(pass_once());
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

class sixty_orders : public order_pass_test {
protected:
  sixty_orders() : order_pass_test(64) {}
};

TEST_F(sixty_orders, are_all_under_way_together_and_the_bad_one_errs_alone) {
  orders(1, 60);
  meeting all(60);
  w.cloud->on(operation::create_resource, [&](const auto& request, const auto&) {
    EXPECT_TRUE(all.wait());
    if (request.idempotency_key == uuid_of(1017).hex()) {
      return fake_cloud::emitted(failure(error_code::refused, "no such size"));
    }
    return made(request);
  });
  EXPECT_TRUE(pass_once());
  EXPECT_EQ(w.waldur.writes("set_done").size(), 59U);
  EXPECT_EQ(w.waldur.state_of(17), "erred");
}

} // namespace

} // namespace siteagent::agent::test
