// SPDX-License-Identifier: MIT
// Membership asked by messages and timers: roles, accounts, single resources, forced resync, what
// is owed (contract 4.1, 4.3, 4.6).
#include "members_world.hpp"

#include "core/agent/spread.hpp"

#include <gmock/gmock.h>

#include <atomic>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class member_events_test : public ::testing::Test {
protected:
  member_events_test() {
    w.make(1);
    w.make(2);
    w.make(3, 302);
    for (unsigned n = 1; n <= 3; ++n) {
      w.keep_users(n);
    }
    w.persons.add_member(1011, "alice");
  }

  // Which resources the last bulk read was about.
  std::size_t pulled() {
    const auto calls = w.cloud->calls(operation::pull_resources);
    return calls.empty() ? 0 : calls.back().request.body["resources"].size();
  }

  members_world w;
  membership m{*w.offering, w.waldur, w.env};
};

TEST_F(member_events_test, user_role_of_a_project_syncs_its_resources_alone) {
  EXPECT_TRUE(m.on_role_change({uuid_of(1011), uuid_of(301), std::nullopt}));
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
  EXPECT_THAT(w.users_of(2), ElementsAre("alice"));
  EXPECT_THAT(w.users_of(3), IsEmpty());
  EXPECT_EQ(pulled(), 2U);
  EXPECT_EQ(w.waldur.calls("list_resources"), 1U) << "the fake's own, behind the project's list";
}

TEST_F(member_events_test, user_role_granted_and_revoked_are_the_same_question) {
  w.keep_users(1, {"alice", "bob"});
  EXPECT_TRUE(m.on_role_change({uuid_of(1012), uuid_of(301), std::nullopt}));
  EXPECT_THAT(w.users_of(1), ElementsAre("alice")) << "bob is not in the team, whatever was said";
  EXPECT_TRUE(m.on_role_change({uuid_of(1012), uuid_of(301), std::nullopt}));
  EXPECT_EQ(w.called(operation::remove_members), 1U) << "a duplicate finds nothing to do";
}

TEST_F(member_events_test, user_role_with_a_resource_syncs_that_one) {
  EXPECT_TRUE(m.on_role_change({std::nullopt, std::nullopt, uuid_of(2)}));
  EXPECT_THAT(w.users_of(1), IsEmpty());
  EXPECT_THAT(w.users_of(2), ElementsAre("alice"));
  EXPECT_EQ(pulled(), 1U);
}

TEST_F(member_events_test, user_role_gives_the_user_a_name_first) {
  w.own_usernames();
  w.persons.add_user(11, "Requested", "");
  EXPECT_TRUE(m.on_role_change({uuid_of(1011), uuid_of(301), std::nullopt}));
  EXPECT_EQ(w.persons.state_of(11), "Creating");
}

TEST_F(member_events_test, user_role_costs_nothing_once_the_backend_is_known_to_keep_no_users) {
  w.users.clear();
  EXPECT_TRUE(m.run());
  const unsigned lists = w.waldur.calls("list_resources");
  EXPECT_TRUE(m.on_role_change({std::nullopt, uuid_of(301), std::nullopt}));
  EXPECT_TRUE(m.on_account_change(uuid_of(301)));
  EXPECT_EQ(w.called(operation::pull_resources), 1U);
  EXPECT_EQ(w.waldur.calls("list_resources"), lists);
}

TEST_F(member_events_test, account_events_add_and_remove_by_what_waldur_shows) {
  w.persons.services.push_back({"robot", "OK", uuid_of(301)});
  EXPECT_TRUE(m.on_account_change(uuid_of(301)));
  EXPECT_THAT(w.users_of(2), ElementsAre("alice", "robot"));
  w.persons.services[0].state = "Closed";
  EXPECT_TRUE(m.on_account_change(uuid_of(301)));
  EXPECT_THAT(w.users_of(2), ElementsAre("alice"));
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
}

TEST_F(member_events_test, offering_users_who_come_in_crowds_share_one_pass) {
  for (unsigned n = 11; n <= 30; ++n) {
    w.persons.add_user(n, "OK", "user" + std::to_string(n));
    EXPECT_TRUE(m.on_offering_user(uuid_of(n)));
  }
  EXPECT_EQ(w.called(operation::pull_resources), 0U);
  ASSERT_TRUE(m.next_due());
  EXPECT_LE(*m.next_due() - w.clock.steady(), std::chrono::seconds(10));
  w.clock.advance(std::chrono::seconds(10));
  EXPECT_TRUE(m.retry_failed());
  EXPECT_EQ(w.called(operation::pull_resources), 1U);
  EXPECT_THAT(w.users_of(3), ElementsAre("alice"));
  EXPECT_FALSE(m.next_due());
}

TEST_F(member_events_test, a_user_who_comes_during_a_pass_is_not_forgotten_with_its_end) {
  w.persons.add_user(11, "OK", "alice");
  bool first = true;
  w.waldur.before("list_resources", [&] {
    if (std::exchange(first, false)) {
      w.clock.advance(std::chrono::seconds(1));
      EXPECT_TRUE(m.on_offering_user(uuid_of(11)));
    }
  });
  EXPECT_TRUE(m.run());
  EXPECT_TRUE(m.next_due());
}

TEST_F(member_events_test, a_deleted_offering_user_is_no_failure) {
  EXPECT_TRUE(m.on_offering_user(uuid_of(99)));
}

TEST_F(member_events_test, offering_user_to_be_deleted_is_torn_down) {
  w.own_usernames();
  w.keep_users(1, {"alice"});
  w.persons.add_user(11, "Requested deletion", "alice");
  EXPECT_TRUE(m.on_offering_user(uuid_of(11)));
  EXPECT_EQ(w.persons.state_of(11), "Deleted");
  EXPECT_THAT(w.users_of(1), IsEmpty());
}

TEST_F(member_events_test, resource_event_does_all_steps_for_this_resource) {
  waldur::resource& r = w.make(1);
  r.paused = true;
  EXPECT_TRUE(m.on_resource(uuid_of(1)));
  EXPECT_EQ(w.called(operation::pause), 1U);
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
  EXPECT_THAT(w.users_of(2), IsEmpty());
}

TEST_F(member_events_test, resource_event_leaves_other_states_to_the_orders) {
  for (const char* state : {"Creating", "Updating", "Terminating", "Terminated", "Odd"}) {
    waldur::resource& r = w.make(1);
    r.state = state;
    r.paused = true;
    EXPECT_TRUE(m.on_resource(uuid_of(1))) << state;
  }
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
  EXPECT_TRUE(m.on_resource(uuid_of(99))) << "unlinked";
}

TEST_F(member_events_test, what_could_not_be_read_is_owed_with_growing_pauses) {
  w.waldur.always_fail("get_resource", http_failure(503));
  EXPECT_FALSE(m.on_resource(uuid_of(1)));
  auto pause = std::chrono::seconds(0);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(m.next_due());
    const auto next =
        std::chrono::duration_cast<std::chrono::seconds>(*m.next_due() - w.clock.steady());
    EXPECT_GE(next, pause);
    EXPECT_LE(next, std::chrono::minutes(30));
    pause = next;
    w.clock.advance(next);
    EXPECT_FALSE(m.retry_failed());
  }
  EXPECT_EQ(pause, std::chrono::minutes(30));
  w.waldur.heal("get_resource");
  w.clock.advance(pause);
  EXPECT_TRUE(m.retry_failed());
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
  EXPECT_FALSE(m.next_due());
}

TEST_F(member_events_test, a_failed_pass_is_owed_as_a_whole) {
  w.waldur.fail("list_resources", http_failure(503));
  EXPECT_FALSE(m.on_status_timer());
  ASSERT_TRUE(m.next_due());
  w.clock.advance(std::chrono::minutes(2));
  EXPECT_TRUE(m.retry_failed());
  EXPECT_THAT(w.users_of(3), ElementsAre("alice"));
}

TEST_F(member_events_test, a_resource_in_an_orders_hands_is_looked_at_again) {
  {
    const auto lock = w.locks.try_lock(uuid_of(1));
    EXPECT_TRUE(m.on_resource(uuid_of(1)));
    EXPECT_THAT(w.users_of(1), IsEmpty());
  }
  ASSERT_TRUE(m.next_due());
  w.clock.advance(std::chrono::minutes(2));
  EXPECT_TRUE(m.retry_failed());
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
}

TEST_F(member_events_test, a_missing_machine_is_confirmed_by_a_second_look_soon) {
  w.rows[uuid_of(1).hex()] = json::object({{"uuid", uuid_of(1).hex()}, {"presence", "absent"}});
  EXPECT_TRUE(m.on_resource(uuid_of(1)));
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
  w.clock.advance(std::chrono::minutes(2));
  EXPECT_TRUE(m.retry_failed());
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), SizeIs(1));
  EXPECT_FALSE(m.next_due());
}

TEST_F(member_events_test, forced_sync_looks_at_everything_and_creates_nothing) {
  w.rows[uuid_of(1).hex()] = json::object({{"uuid", uuid_of(1).hex()}, {"presence", "absent"}});
  w.make(2).backend_metadata.set(stopped_marker, true);
  w.rows[uuid_of(2).hex()].set("power", "deallocated");
  w.cloud->fail(operation::restore, failure(error_code::no_capacity));
  w.declined = {"alice"};
  EXPECT_TRUE(m.run());
  EXPECT_TRUE(m.run());
  EXPECT_EQ(w.called(operation::restore), 1U) << "pausing between starts";
  EXPECT_EQ(w.called(operation::add_members), 2U);
  EXPECT_TRUE(m.on_forced_sync());
  EXPECT_EQ(w.called(operation::restore), 2U);
  EXPECT_EQ(w.called(operation::add_members), 4U);
  EXPECT_EQ(w.called(operation::create_resource), 0U);
}

TEST_F(member_events_test, a_portal_without_people_leaves_users_alone) {
  w.waldur.members = nullptr;
  membership alone{*w.offering, w.waldur, w.env};
  EXPECT_TRUE(alone.run());
  EXPECT_TRUE(alone.on_role_change({uuid_of(1011), uuid_of(301), std::nullopt}));
  EXPECT_TRUE(alone.on_offering_user(uuid_of(11)));
  EXPECT_EQ(w.called(operation::add_members), 0U);
}

TEST(spread_over_a_pool, does_each_once_also_from_the_only_worker) {
  worker_pool pool(1);
  task_group helpers;
  task_group outer;
  std::vector<std::atomic<int>> times(500);
  pool.submit(outer, [&] {
    spread(pool, helpers, times.size(), [&](std::size_t i) { ++times[i]; });
  });
  outer.wait();
  for (const auto& t : times) {
    EXPECT_EQ(t, 1);
  }
  spread(pool, helpers, 0, [](std::size_t) { FAIL(); });
  helpers.wait();
}

} // namespace

} // namespace siteagent::agent::test
