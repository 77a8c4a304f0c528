// SPDX-License-Identifier: MIT
// Offering users: names for new ones, the end of those who leave (contract 4.5).
#include "members_world.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using kind = username_answer::kind;

class offering_users_test : public ::testing::Test {
protected:
  offering_users_test() { w.own_usernames(); }

  // With the built-in `base`.
  void use_base() { made = std::make_unique<membership>(*w.offering, w.waldur, w.env); }

  // With a source that answers so.
  void use(std::function<base::result<username_answer>(const waldur::offering_user&)> answer) {
    auto made_source = std::make_unique<scripted_usernames>();
    made_source->answer = std::move(answer);
    source = made_source.get();
    made = std::make_unique<membership>(*w.offering, w.waldur, w.env, std::move(made_source));
  }

  void use(username_answer answer) {
    use([answer](const auto&) { return answer; });
  }

  std::string line(const std::string& call, unsigned n, const std::string& argument = "") {
    return call + " " + uuid_of(n).hex() + (argument.empty() ? "" : " " + argument);
  }

  members_world w;
  scripted_usernames* source = nullptr;
  std::unique_ptr<membership> made;
};

TEST_F(offering_users_test, u2_base_takes_on_who_asks_and_gives_no_name) {
  w.persons.add_user(1, "Requested", "");
  w.persons.add_user(2, "Creating", "");
  w.persons.add_user(3, "Error creating", "");
  w.persons.add_user(4, "OK", "alice");
  use_base();
  EXPECT_TRUE(made->run());
  EXPECT_TRUE(made->run());
  EXPECT_THAT(w.persons.writes(), ElementsAre(line("begin_creating", 1)));
}

TEST_F(offering_users_test, off_touches_nobody) {
  config::offering c = make_offering();
  c.username_management_backend = "";
  w.renew_offering(c);
  w.persons.add_user(1, "Requested", "");
  w.persons.add_user(2, "Requested deletion", "bob");
  use_base();
  EXPECT_TRUE(made->run());
  EXPECT_THAT(w.persons.writes(), IsEmpty());
  EXPECT_EQ(w.persons.calls("list_offering_users"), 0U);
}

TEST_F(offering_users_test, another_policy_than_service_provider_touches_nobody) {
  for (const char* policy : {"anonymized", "full_name", "waldur_username", "freeipa", "odd"}) {
    w.waldur.offering.plugin_options.set("username_generation_policy", policy);
    w.renew_offering();
    w.persons.add_user(1, "Requested", "");
    use_base();
    EXPECT_TRUE(made->run());
    EXPECT_THAT(w.persons.writes(), IsEmpty()) << policy;
  }
}

TEST_F(offering_users_test, without_the_right_to_create_users_it_is_said_once_and_left) {
  w.waldur.offering.plugin_options.erase("service_provider_can_create_offering_user");
  w.persons.add_user(1, "Requested", "");
  use_base();
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  EXPECT_TRUE(made->run());
  EXPECT_TRUE(made->run());
  observe::capture_logs_for_test(nullptr);
  std::erase_if(lines, [](const std::string& l) {
    return l.find("service_provider_can_create_offering_user") == l.npos;
  });
  EXPECT_THAT(lines, SizeIs(1));
  EXPECT_THAT(w.persons.writes(), IsEmpty());
}

TEST_F(offering_users_test, u3_every_waiting_user_gets_his_name_and_is_ok) {
  w.persons.add_user(1, "Requested", "");
  w.persons.add_user(2, "Creating", "");
  w.persons.add_user(3, "Error creating", "");
  w.persons.add_user(4, "Pending account linking", "");
  w.persons.add_user(5, "Pending additional validation", "");
  w.persons.add_user(6, "OK", "old");
  use([](const waldur::offering_user& u) {
    return username_answer{kind::name, "user" + u.uuid.hex().substr(31), "", ""};
  });
  EXPECT_TRUE(made->run());
  for (unsigned n = 1; n <= 5; ++n) {
    EXPECT_EQ(w.persons.state_of(n), "OK") << n;
  }
  EXPECT_THAT(w.persons.writes(), SizeIs(6)) << "five names and one begin_creating";
  EXPECT_TRUE(made->run());
  EXPECT_THAT(w.persons.writes(), SizeIs(6));
}

TEST_F(offering_users_test, u5_waiting_for_the_user_is_told_once_with_its_address) {
  struct {
    kind is;
    const char* call;
    const char* state;
  } const cases[] = {
      {kind::linking, "set_pending_account_linking", "Pending account linking"},
      {kind::validation, "set_pending_additional_validation", "Pending additional validation"},
  };

  unsigned n = 1;
  for (const auto& c : cases) {
    w.persons.add_user(n, "Creating", "");
    use(username_answer{c.is, "", "Please link", "https://link.example.com"});
    EXPECT_TRUE(made->run());
    EXPECT_TRUE(made->run());
    EXPECT_EQ(w.persons.state_of(n), c.state);
    EXPECT_THAT(w.persons.writes().back(), line(c.call, n, "Please link https://link.example.com"));
    EXPECT_THAT(w.persons.writes(), SizeIs(n));
    w.persons.add_user(n, "OK", "done");
    ++n;
  }
}

TEST_F(offering_users_test, u6_who_has_his_name_already_is_only_validated) {
  w.persons.add_user(1, "Pending additional validation", "alice");
  use(username_answer{kind::name, "alice", "", ""});
  EXPECT_TRUE(made->run());
  EXPECT_THAT(w.persons.writes(), ElementsAre(line("set_validation_complete", 1)));
}

TEST_F(offering_users_test, u4_a_source_that_fails_for_good_is_shown_once) {
  w.persons.add_user(1, "Creating", "");
  use([](const auto&) { return failure(error_code::permanent); });
  EXPECT_TRUE(made->run());
  EXPECT_TRUE(made->run());
  EXPECT_THAT(w.persons.writes(), ElementsAre(line("set_error_creating", 1)));
  EXPECT_EQ(source->asked, 2U) << "and is tried again";
}

TEST_F(offering_users_test, u4_a_passing_failure_of_the_source_changes_nothing) {
  w.persons.add_user(1, "Creating", "");
  use([](const auto&) { return failure(error_code::transient); });
  EXPECT_TRUE(made->run()) << "the resources were synchronised all the same";
  EXPECT_THAT(w.persons.writes(), IsEmpty());
  EXPECT_TRUE(made->next_due().has_value()) << "owed";
}

TEST_F(offering_users_test, a_user_somebody_else_moved_on_is_no_failure) {
  w.persons.add_user(1, "Requested", "");
  w.persons.fail("begin_creating", http_failure(409));
  use_base();
  EXPECT_TRUE(made->on_users_timer());
}

TEST_F(offering_users_test, one_user_that_fails_does_not_stop_the_others) {
  w.persons.add_user(1, "Requested", "");
  w.persons.add_user(2, "Requested", "");
  w.persons.fail("begin_creating", http_failure(500), 3);
  use_base();
  EXPECT_FALSE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(1), "Requested");
  EXPECT_EQ(w.persons.state_of(2), "Creating");
}

TEST_F(offering_users_test, u7_who_leaves_is_claimed_removed_everywhere_and_deleted) {
  for (unsigned n = 1; n <= 3; ++n) {
    w.make(n);
  }
  w.keep_users(1, {"alice", "bob"});
  w.keep_users(2, {"bob"});
  w.keep_users(3, {"alice"});
  w.waldur.add_resource(4, "Creating");
  w.persons.add_user(11, "Requested deletion", "alice");
  use_base();
  EXPECT_TRUE(made->on_users_timer());
  EXPECT_THAT(w.persons.writes(), ElementsAre(line("set_deleting", 11), line("set_deleted", 11)));
  EXPECT_THAT(w.users_of(1), ElementsAre("bob"));
  EXPECT_THAT(w.users_of(2), ElementsAre("bob"));
  EXPECT_THAT(w.users_of(3), IsEmpty());
  EXPECT_EQ(w.called(operation::remove_members), 2U);
}

TEST_F(offering_users_test, u7_a_resource_that_cannot_be_seen_ends_it_and_it_is_taken_up_again) {
  w.make(1);
  w.make(2);
  w.keep_users(1, {"alice"});
  w.keep_users(2, {"alice"});
  w.rows[uuid_of(1).hex()].set("presence", "unknown");
  w.persons.add_user(11, "Requested deletion", "alice");
  use_base();
  EXPECT_FALSE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(11), "Deleting");
  w.rows[uuid_of(1).hex()].set("presence", "present");
  w.cloud->fail(operation::pull_resources, failure(error_code::throttled));
  EXPECT_FALSE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(11), "Deleting");
  EXPECT_TRUE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(11), "Deleted");
  EXPECT_THAT(w.users_of(1), IsEmpty());
}

TEST_F(offering_users_test, u7_a_user_that_cannot_be_removed_is_shown_as_such) {
  w.make(1);
  w.keep_users(1, {"alice"});
  w.broken = {"alice"};
  w.persons.add_user(11, "Deleting", "alice");
  use_base();
  EXPECT_TRUE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(11), "Error deleting");
  EXPECT_TRUE(made->on_users_timer()) << "left to a person from here on";
  EXPECT_THAT(w.persons.writes(), SizeIs(1));
}

TEST_F(offering_users_test, u7_a_resource_in_an_orders_hands_is_waited_for) {
  w.make(1);
  w.keep_users(1, {"alice"});
  w.persons.add_user(11, "Deleting", "alice");
  use_base();
  {
    const auto lock = w.locks.try_lock(uuid_of(1));
    EXPECT_FALSE(made->on_users_timer());
    EXPECT_EQ(w.persons.state_of(11), "Deleting");
  }
  EXPECT_TRUE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(11), "Deleted");
}

TEST_F(offering_users_test, u7_who_never_had_a_name_costs_no_look_at_the_cloud) {
  w.make(1);
  w.persons.add_user(11, "Requested deletion", "");
  use_base();
  EXPECT_TRUE(made->on_users_timer());
  EXPECT_EQ(w.persons.state_of(11), "Deleted");
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

TEST_F(offering_users_test, names_are_asked_for_anew_once_an_hour_where_that_is_on) {
  config::offering c = make_offering();
  c.username_reconciliation_enabled = true;
  w.renew_offering(c);
  w.persons.add_user(1, "OK", "old");
  w.persons.add_user(2, "OK", "same");
  use([](const waldur::offering_user& u) {
    return username_answer{kind::name, u.username == "same" ? "same" : "new", "", ""};
  });
  EXPECT_TRUE(made->run());
  EXPECT_THAT(w.persons.writes(), ElementsAre(line("set_username", 1, "new")));
  w.clock.advance(std::chrono::minutes(30));
  EXPECT_TRUE(made->run());
  EXPECT_EQ(source->asked, 2U);
  w.clock.advance(std::chrono::minutes(31));
  EXPECT_TRUE(made->run());
  EXPECT_EQ(source->asked, 4U);
}

TEST_F(offering_users_test, names_stay_where_reconciliation_is_off) {
  w.persons.add_user(1, "OK", "old");
  use(username_answer{kind::name, "new", "", ""});
  EXPECT_TRUE(made->run());
  EXPECT_TRUE(made->on_users_timer());
  EXPECT_EQ(source->asked, 0U);
}

TEST(username_source_of, base_is_built_in_and_the_rest_is_off) {
  EXPECT_NE(make_username_source("base"), nullptr);
  EXPECT_EQ(make_username_source(""), nullptr);
  EXPECT_EQ(make_username_source("ldap"), nullptr);
}

} // namespace

} // namespace siteagent::agent::test
