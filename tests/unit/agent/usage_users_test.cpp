// SPDX-License-Identifier: MIT
// Usage of single users: where it goes, and that nothing is said twice.
#include "usage_fixture.hpp"

namespace siteagent::agent::test {

namespace {

using base::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class usage_users : public usage_report_test {
protected:
  usage_users() {
    w.waldur.books = &books;
    // As Waldur keeps them once the totals are booked.
    w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "2.00"}, {uuid_of(9), "ram", "4096.00"}};
  }

  void share(const char* name, json figures, unsigned n = 1) {
    json all = users[uuid_of(n).hex()];
    all = all.is_object() ? std::move(all) : json::object();
    all.set(name, std::move(figures));
    users.set(uuid_of(n).hex(), std::move(all));
  }

  fake_books books;
};

TEST_F(usage_users, go_to_the_record_of_their_component_in_one_call) {
  share("ada", json::object({{"cpu", "1.005"}, {"ram", 4096}}));
  share("bob", json::object({{"cpu", "0.995"}}));
  books.offering_users = {{"ada", uuid_of(7)}};
  EXPECT_TRUE(report());
  EXPECT_THAT(
      books.writes,
      ElementsAre("set_user_usages 08 ada=1.00@07 bob=1.00", "set_user_usages 09 ada=4096.00@07")
  );
  EXPECT_THAT(books.dates, ::testing::Each("2026-11-01T00:00:00+00:00"));
  EXPECT_EQ(books.user_lists, 1U);
}

TEST_F(usage_users, that_are_stored_as_they_are_are_left_alone) {
  share("ada", json::object({{"cpu", 1}}));
  share("bob", json::object({{"cpu", 1}}));
  books.stored["2026-11-01"] = {{uuid_of(8), "ada", "1.0"}, {uuid_of(8), "bob", "0.5"}};
  EXPECT_TRUE(report());
  EXPECT_THAT(books.writes, ElementsAre("set_user_usages 08 bob=1.00"));
  books.stored["2026-11-01"][1].usage = "1.00";
  EXPECT_TRUE(report());
  EXPECT_THAT(books.writes, SizeIs(1));
}

TEST_F(usage_users, are_not_asked_about_when_a_plugin_has_none) {
  EXPECT_TRUE(report());
  EXPECT_EQ(books.reads, 0U);
  EXPECT_EQ(books.user_lists, 0U);
}

TEST_F(usage_users, without_a_record_of_their_component_are_left_out) {
  total(1, json::object({{"cpu", 2}}));
  share("ada", json::object({{"ram", 1}, {"gpu", 1}}));
  w.waldur.usages["2026-11-01"] = {{uuid_of(8), "cpu", "2.00"}};
  EXPECT_TRUE(report());
  EXPECT_THAT(books.writes, IsEmpty());
}

TEST_F(usage_users, without_a_total_are_left_out) {
  total(1, json::object());
  share("ada", json::object({{"cpu", 1}}));
  EXPECT_TRUE(report());
  EXPECT_EQ(books.reads, 0U);
}

TEST_F(usage_users, of_a_lower_total_than_booked_are_left_out_with_it) {
  meter_hours();
  share("ada", json::object({{"cpu", 1}}));
  w.waldur.usages["2026-11-01"][0].usage = "310.00";
  EXPECT_TRUE(report());
  EXPECT_THAT(booked(), IsEmpty());
  EXPECT_EQ(books.reads, 0U);
}

TEST_F(usage_users, that_cannot_be_compared_are_not_written) {
  share("ada", json::object({{"cpu", 1}}));
  books.failure = http_failure(503);
  EXPECT_TRUE(report());
  EXPECT_THAT(books.writes, IsEmpty());
}

} // namespace

} // namespace siteagent::agent::test
