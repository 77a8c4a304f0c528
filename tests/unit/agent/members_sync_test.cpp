// SPDX-License-Identifier: MIT
// Users of resources: rows 3, 4 and 9 of the pass, the member diff, what is reported of it.
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

class member_sync_test : public ::testing::Test {
protected:
  member_sync_test() { w.make(1); }

  void run() { EXPECT_TRUE(members().run()); }

  membership& members() {
    if (!made) {
      made = std::make_unique<membership>(*w.offering, w.waldur, w.env);
    }
    return *made;
  }

  // The users of the n-th call of that kind.
  std::vector<json> asked(operation op, std::size_t n = 0) {
    const auto calls = w.cloud->calls(op);
    return n < calls.size() ? calls[n].request.body["users"].items() : std::vector<json>();
  }

  void want_reports() {
    w.waldur.offering.plugin_options.set("enable_membership_sync_status", true);
  }

  unsigned reports() {
    const auto writes = w.persons.writes();
    return static_cast<unsigned>(std::count_if(writes.begin(), writes.end(), [](const auto& line) {
      return line.starts_with("report_members");
    }));
  }

  members_world w;
  std::unique_ptr<membership> made;
};

TEST_F(member_sync_test, row_3_new_users_are_added_and_stale_ones_removed) {
  w.persons.add_member(11, "alice");
  w.persons.add_member(12, "bob");
  w.keep_users(1, {"bob", "carol", "nobody-waldur-knows"});
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("alice", "bob"));
  ASSERT_THAT(asked(operation::add_members), SizeIs(1));
  EXPECT_EQ(asked(operation::add_members)[0]["login"].string_or(""), "login-alice");
  EXPECT_EQ(asked(operation::add_members)[0]["role"].string_or(""), "PROJECT.MEMBER");
  EXPECT_THAT(asked(operation::remove_members), SizeIs(2));
  run();
  EXPECT_EQ(w.called(operation::add_members), 1U);
  EXPECT_EQ(w.called(operation::remove_members), 1U);
  EXPECT_THAT(w.writes(), IsEmpty());
}

TEST_F(member_sync_test, row_3_a_backend_without_users_is_asked_nothing_and_nor_is_waldur) {
  w.persons.add_member(11, "alice");
  run();
  EXPECT_EQ(w.called(operation::add_members) + w.called(operation::remove_members), 0U);
  EXPECT_EQ(w.persons.calls("list_team"), 0U);
  EXPECT_EQ(w.persons.calls("list_offering_users"), 0U);
  EXPECT_EQ(w.persons.calls("list_services"), 0U);
  EXPECT_THAT(w.writes(), IsEmpty());
}

TEST_F(member_sync_test, row_3_nothing_done_is_no_success_and_is_not_asked_again) {
  want_reports();
  w.persons.add_member(11, "alice");
  w.persons.add_member(12, "bob");
  w.keep_users(1);
  w.declined = {"alice", "bob"};
  run();
  run();
  EXPECT_EQ(w.called(operation::add_members), 1U);
  EXPECT_THAT(w.persons.reports[uuid_of(1)], IsEmpty());
  EXPECT_EQ(reports(), 1U) << "an empty report once, so that nothing old stays";
}

TEST_F(member_sync_test, row_3_a_declined_user_who_went_and_came_back_is_asked_about_again) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.declined = {"alice"};
  run();
  const auto team = std::exchange(w.persons.team, {});
  run();
  w.persons.team = team;
  run();
  EXPECT_EQ(w.called(operation::add_members), 2U);
}

TEST_F(member_sync_test, row_3_the_failure_of_one_user_harms_nobody_else) {
  std::vector<std::string> lines;
  w.persons.add_member(11, "alice");
  w.persons.add_member(12, "bob");
  w.keep_users(1);
  w.broken = {"alice"};
  observe::capture_logs_for_test(&lines);
  run();
  run();
  observe::capture_logs_for_test(nullptr);
  EXPECT_THAT(w.users_of(1), ElementsAre("bob"));
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
  std::erase_if(lines, [](const std::string& l) {
    return l.find("user of a resource not changed") == l.npos;
  });
  EXPECT_THAT(lines, SizeIs(1)) << "said when it begins, not every pass";
  w.broken.clear();
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("alice", "bob"));
}

TEST_F(member_sync_test, policy_a_pass_that_did_a_part_is_not_shown_as_done_but_may_set_ok) {
  waldur::resource& r = w.make(1);
  r.state = "Erred";
  r.raw.set("last_sync", "2020-01-01T00:00:00Z");
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.broken = {"alice"};
  run();
  EXPECT_EQ(w.waldur.resource_of(1).state, "OK");
  EXPECT_THAT(w.waldur.writes("refresh_last_sync"), IsEmpty());
  w.broken.clear();
  run();
  EXPECT_THAT(w.waldur.writes("refresh_last_sync"), SizeIs(1));
}

TEST_F(member_sync_test, row_3_a_call_that_fails_as_a_whole_is_made_again) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.cloud->fail(operation::add_members, failure(error_code::transient));
  run();
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
}

TEST_F(member_sync_test, row_3_a_backend_that_only_shows_users_is_asked_once) {
  w.persons.add_member(11, "alice");
  w.keep_users(1, {"bob"});
  w.cloud->fail(operation::add_members, failure(error_code::unsupported), 5);
  w.cloud->fail(operation::remove_members, failure(error_code::unsupported), 5);
  run();
  run();
  EXPECT_EQ(w.called(operation::add_members), 1U);
  EXPECT_EQ(w.called(operation::remove_members), 1U);
}

TEST_F(member_sync_test, row_3_refused_credentials_open_the_circuit) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.cloud->fail(operation::add_members, failure(error_code::auth));
  run();
  EXPECT_TRUE(w.offering->breaker().is_open());
}

TEST_F(member_sync_test, row_3_the_team_is_read_once_per_project_and_pass) {
  for (unsigned n = 2; n <= 40; ++n) {
    w.make(n, n % 2 == 0 ? 301 : 302);
  }
  w.persons.add_member(11, "alice");
  for (unsigned n = 1; n <= 40; ++n) {
    w.keep_users(n);
  }
  run();
  EXPECT_EQ(w.persons.calls("list_team"), 2U);
  EXPECT_EQ(w.persons.calls("list_offering_users"), 1U);
  EXPECT_EQ(w.persons.calls("list_attributes"), 1U);
  EXPECT_EQ(w.persons.calls("list_services"), 1U);
  EXPECT_EQ(w.persons.calls("list_courses"), 1U);
  EXPECT_EQ(w.called(operation::add_members), 40U);
  run();
  EXPECT_EQ(w.persons.calls("list_team"), 4U);
  EXPECT_EQ(w.called(operation::add_members), 40U);
}

TEST_F(member_sync_test, row_3_restricted_access_means_nobody_and_the_status_goes_on) {
  waldur::resource& r = w.make(1);
  r.raw.set("restrict_member_access", true);
  r.paused = true;
  w.persons.add_member(11, "alice");
  w.persons.services.push_back({"robot", "OK", uuid_of(301)});
  w.keep_users(1, {"alice", "robot"});
  run();
  EXPECT_THAT(w.users_of(1), IsEmpty());
  EXPECT_EQ(w.called(operation::pause), 1U);
  EXPECT_EQ(w.called(operation::add_members), 0U);
}

TEST_F(member_sync_test, row_3_restriction_is_read_again_before_anybody_is_added) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.waldur.before("get_resource", [this] { w.make(1).raw.set("restrict_member_access", true); });
  run();
  EXPECT_EQ(w.called(operation::add_members), 0U);
}

TEST_F(member_sync_test, row_3_shared_membership_is_the_union_of_consenting_teams) {
  w.make(2);
  w.make(3, 302);
  for (unsigned n = 1; n <= 3; ++n) {
    w.keep_users(n);
    w.rows[uuid_of(n).hex()].set("users_shared", true);
  }
  w.persons.add_member(11, "alice");
  w.persons.teams[uuid_of(1)] = std::exchange(w.persons.team, {});
  w.persons.add_member(12, "bob");
  w.persons.teams[uuid_of(2)] = std::exchange(w.persons.team, {});
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("alice", "bob"));
  EXPECT_THAT(w.users_of(2), ElementsAre("alice", "bob"));
  EXPECT_THAT(w.users_of(3), IsEmpty());
  EXPECT_THAT(w.persons.consents, ElementsAre(true, true, true));
}

TEST_F(member_sync_test, f45_a_blank_username_is_nobody) {
  w.persons.add_member(11, "");
  w.keep_users(1);
  run();
  EXPECT_EQ(w.called(operation::add_members), 0U);
}

TEST_F(member_sync_test, row_3_an_account_on_its_way_out_is_not_added_again) {
  w.persons.add_member(1011, "alice"); // the team may be older than the account's state
  w.persons.add_user(11, "Deleting", "alice");
  w.persons.add_member(1012, "bob").state = "Requested deletion";
  w.keep_users(1, {"alice"});
  run();
  EXPECT_THAT(w.users_of(1), IsEmpty());
  EXPECT_EQ(w.called(operation::add_members), 0U);
}

TEST_F(member_sync_test, u8_what_the_offering_exposes_of_a_user_reaches_the_plugin) {
  w.persons.add_member(1011, "alice");
  w.persons.add_user(11, "OK", "alice").attributes.set("affiliations", "staff@x");
  waldur::offering_user& u = w.persons.add_user(11, "OK", "alice");
  u.attributes = json::object({{"affiliations", "staff@x"}});
  w.keep_users(1);
  run();
  EXPECT_EQ(
      asked(operation::add_members).at(0)["attributes"]["affiliations"].string_or(""), "staff@x"
  );
  EXPECT_THAT(w.persons.asked_attributes, ElementsAre("username", "affiliations"));
}

TEST_F(member_sync_test, u8_unreadable_means_what_every_server_exposes) {
  w.persons.add_member(1011, "alice");
  w.persons.fail("list_attributes", http_failure(404));
  w.keep_users(1);
  run();
  EXPECT_THAT(w.persons.asked_attributes, ElementsAre("username", "full_name", "email"));
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
}

TEST_F(member_sync_test, f43_unreadable_offering_users_leave_the_members_alone_and_nothing_else) {
  w.make(1).paused = true;
  w.persons.add_member(11, "alice");
  w.keep_users(1, {"bob"});
  w.persons.fail("list_offering_users", http_failure(503));
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("bob"));
  EXPECT_EQ(w.called(operation::pause), 1U);
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("alice"));
}

TEST_F(member_sync_test, f44_an_unreadable_team_leaves_the_members_alone_and_errs_nothing) {
  w.make(2);
  w.persons.add_member(11, "alice");
  w.keep_users(1, {"bob"});
  w.keep_users(2, {"bob"});
  w.persons.fail("list_team", http_failure(503));
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  run();
  observe::capture_logs_for_test(nullptr);
  std::erase_if(lines, [](const std::string& l) { return l.find("left as they are") == l.npos; });
  EXPECT_THAT(lines, SizeIs(1)) << "one line for the pass";
  EXPECT_THAT(w.users_of(1), ElementsAre("bob"));
  EXPECT_THAT(w.users_of(2), ElementsAre("bob"));
  EXPECT_THAT(w.writes(), IsEmpty());
}

TEST_F(member_sync_test, row_4_accounts_of_the_project_are_users_while_they_are_ok) {
  w.keep_users(1, {"closed"});
  w.persons.services = {
      {"robot", "OK", uuid_of(301)},
      {"closed", "Closed", uuid_of(301)},
      {"foreign", "OK", uuid_of(302)},
      {"stray", "OK", std::nullopt}};
  w.persons.courses = {{"student1", "OK", uuid_of(301)}, {"student2", "Erred", uuid_of(301)}};
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("robot", "student1"));
}

TEST_F(member_sync_test, f22_unreadable_accounts_err_nothing_and_remove_nobody) {
  w.keep_users(1, {"robot", "stale"});
  w.persons.add_member(11, "alice");
  w.persons.fail("list_services", http_failure(500));
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("alice", "robot", "stale"));
  EXPECT_THAT(w.writes(), IsEmpty());
}

TEST_F(member_sync_test, row_4_a_server_without_account_lists_has_no_accounts) {
  w.keep_users(1, {"stale"});
  w.persons.fail("list_services", http_failure(404));
  w.persons.fail("list_courses", http_failure(424));
  run();
  EXPECT_THAT(w.users_of(1), IsEmpty());
}

TEST_F(member_sync_test, row_3_a_role_that_changed_is_given_to_the_one_who_is_there) {
  w.persons.add_member(11, "alice").role = "PROJECT.ADMIN";
  w.persons.add_member(12, "bob");
  w.keep_users(1);
  json users = json::array();
  for (const char* name : {"alice", "bob"}) {
    users.push_back(json::object({{"username", name}, {"role", "PROJECT.MEMBER"}}));
  }
  w.rows[uuid_of(1).hex()].set("users", users);
  run();
  ASSERT_THAT(asked(operation::add_members), SizeIs(1));
  EXPECT_EQ(asked(operation::add_members)[0]["username"].string_or(""), "alice");
  EXPECT_EQ(asked(operation::add_members)[0]["role"].string_or(""), "PROJECT.ADMIN");
}

TEST_F(member_sync_test, row_9_limits_of_users_are_set_where_they_differ) {
  w.persons.add_member(1011, "alice");
  w.persons.add_member(1012, "bob");
  w.persons.add_member(1013, "carol");
  w.persons.add_user(11, "OK", "alice");
  w.persons.add_user(12, "OK", "bob");
  w.persons.add_user(13, "OK", "carol");
  w.persons.limits = {
      {uuid_of(1), uuid_of(11), "cpu", "10.00"},
      {uuid_of(1), uuid_of(12), "cpu", "10.00"},
      {uuid_of(2), uuid_of(13), "cpu", "1.00"}};
  json users = json::array();
  users.push_back(json::object({{"username", "alice"}, {"limits", json::object({{"cpu", 10}})}}));
  users.push_back(json::object({{"username", "bob"}, {"limits", json::object()}}));
  users.push_back(json::object({{"username", "carol"}, {"limits", json::object({{"cpu", 7}})}}));
  w.rows[uuid_of(1).hex()].set("users", users);
  run();
  ASSERT_THAT(asked(operation::add_members), SizeIs(1));
  EXPECT_EQ(asked(operation::add_members)[0]["username"].string_or(""), "bob");
  EXPECT_EQ(asked(operation::add_members)[0]["limits"].dump(), R"({"cpu":10.00})");
  EXPECT_EQ(w.persons.calls("list_user_limits"), 1U);
}

TEST_F(member_sync_test, row_9_users_without_limits_cost_no_look_at_limits) {
  w.persons.add_member(11, "alice");
  w.keep_users(1, {"alice"});
  run();
  EXPECT_EQ(w.persons.calls("list_user_limits"), 0U);
}

TEST_F(member_sync_test, r11_the_whole_truth_is_reported_when_it_changed) {
  want_reports();
  w.persons.add_member(11, "alice");
  w.persons.add_member(12, "bob");
  w.persons.add_member(13, "dora");
  w.keep_users(1, {"bob", "stale"});
  w.broken = {"alice"};
  w.declined = {"dora"};
  run();
  const std::string one = "report_members " + uuid_of(1).hex();
  EXPECT_THAT(w.persons.writes(), ElementsAre(one + " login-alice=error login-bob=synced"));
  EXPECT_THAT(w.persons.reports[uuid_of(1)].at(0).message, HasSubstr("not applied"))
      << "the plugin's own words stay here";
  run();
  EXPECT_EQ(reports(), 1U);
  w.broken.clear();
  run();
  EXPECT_EQ(reports(), 2U);
  EXPECT_THAT(w.persons.writes().back(), HasSubstr(one + " login-alice=synced login-bob=synced"));
}

TEST_F(member_sync_test, r11_a_user_who_got_in_after_all_is_no_error_any_more) {
  want_reports();
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.broken = {"alice"};
  run();
  EXPECT_EQ(w.persons.reports[uuid_of(1)].at(0).state, "error");
  w.keep_users(1, {"alice"}); // by somebody else, or the answer was wrong
  run();
  EXPECT_EQ(w.persons.reports[uuid_of(1)].at(0).state, "synced");
}

TEST_F(member_sync_test, r11_nothing_is_reported_where_the_offering_does_not_want_it) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  run();
  EXPECT_EQ(reports(), 0U);
}

TEST_F(member_sync_test, r11_a_refused_report_is_not_repeated_and_a_lost_one_is) {
  want_reports();
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  w.persons.fail("report_members", http_failure(409));
  run();
  run();
  EXPECT_EQ(reports(), 1U);
  made.reset();
  w.persons.fail("report_members", http_failure(503), 3); // as often as one pass tries
  run();
  run();
  EXPECT_EQ(reports(), 5U);
  EXPECT_THAT(w.persons.reports[uuid_of(1)], SizeIs(1));
}

TEST_F(member_sync_test, f51_a_resource_that_moved_gets_the_users_of_its_new_project) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  run();
  w.make(1, 302).name = "renamed";
  w.persons.team.clear();
  w.persons.add_member(12, "bob");
  run();
  EXPECT_THAT(w.users_of(1), ElementsAre("bob"));
  EXPECT_EQ(w.called(operation::delete_resource) + w.called(operation::create_resource), 0U);
}

TEST_F(member_sync_test, f52_an_unlinked_resource_is_left_alone_for_good) {
  w.persons.add_member(11, "alice");
  w.keep_users(1);
  run();
  w.waldur.add_resource(1, "OK").backend_id = ""; // gone from the list of those we look after
  run();
  EXPECT_EQ(w.called(operation::delete_resource), 0U);
  EXPECT_EQ(w.called(operation::remove_members), 0U);
}

} // namespace

} // namespace siteagent::agent::test
