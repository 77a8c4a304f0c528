// SPDX-License-Identifier: MIT
// The credit gate: exact decimals, one hour of everything, strictly above the floor.
#include "core/fleet/credit_gate.hpp"
#include "core/fleet/money.hpp"
#include "tests/fleet/cloud_host_rig.hpp"

#include <gtest/gtest.h>

namespace siteagent::fleet::test {

namespace {

base::decimal number(const char* text) {
  return *base::decimal::parse(text);
}

provider_description cloud_description() {
  return fake::cloud().says;
}

credit_answer credit_of(const char* current, const char* estimated = nullptr) {
  credit_answer a;
  a.reported = true;
  a.currency = "USD";
  if (current != nullptr) {
    a.current = number(current);
  }
  if (estimated != nullptr) {
    a.estimated = number(estimated);
  }
  return a;
}

const credit_floor floor_500{.id = "r", .amount = 500, .currency = "USD", .words = "w"};

TEST(credit_gate, T3_R117_equal_to_the_floor_is_refused_and_a_billionth_more_is_allowed) {
  const priced_size price{.size = "M", .hour = number("0.384"), .where = "here"};
  const burn hours{.total = number("0.768"), .running = number("0.384"), .hosts = 1};

  struct {
    const char* balance;
    bool allowed;
  } const cases[] = {
      {"500.768", false},
      {"500.768000001", true},
      {"500.767999999", false},
      {"900", true},
      {"0", false},
      {"-3.5", false}};

  for (const auto& each : cases) {
    const auto judged = judge_credit(
        credit_of(each.balance), floor_500, hours, price, "b1", "here", cloud_description()
    );
    ASSERT_TRUE(judged);
    EXPECT_EQ(judged->allowed, each.allowed) << each.balance;
  }
}

TEST(credit_gate, A11_R115_the_lower_of_current_and_estimated_counts) {
  const priced_size price{.size = "M", .hour = 1, .where = "here"};
  const burn hours{.total = 1, .running = 0, .hosts = 0};
  const auto balance = [&](const credit_answer& a) {
    return format_money(
        judge_credit(a, floor_500, hours, price, "b", "here", cloud_description())->balance
    );
  };
  EXPECT_EQ(balance(credit_of("900", "880.1")), "880.10");
  EXPECT_EQ(balance(credit_of("870", "880.1")), "870.00");
  EXPECT_EQ(balance(credit_of(nullptr, "12")), "12.00");
}

TEST(credit_gate, R116_other_currencies_are_refused) {
  const priced_size price{.size = "M", .hour = 1, .where = "here"};
  const burn hours{.total = 1, .running = 0, .hosts = 0};
  credit_answer euros = credit_of("900");
  euros.currency = "EUR";
  EXPECT_FALSE(judge_credit(euros, floor_500, hours, price, "b", "h", cloud_description()));
  credit_floor ruling = floor_500;
  ruling.currency = "EUR";
  const auto judged =
      judge_credit(credit_of("900"), ruling, hours, price, "b", "h", cloud_description());
  ASSERT_FALSE(judged);
  EXPECT_NE(judged.error().message.find("fake.credit_floor"), std::string::npos);
}

TEST(credit_gate, R114_the_operators_words_are_printed_as_they_are_on_one_line) {
  const priced_size price{.size = "M", .hour = 1, .where = "here"};
  const burn hours{.total = 1, .running = 0, .hosts = 0};
  credit_floor ruling = floor_500;
  ruling.words = "say \"no\" – always\nand\x01";
  const auto judged =
      judge_credit(credit_of("900"), ruling, hours, price, "b", "h", cloud_description());
  EXPECT_NE(
      judged->line.find("(the operator's ruling r: \"say \"no\" – always\\nand\\x01\")"),
      std::string::npos
  ) << judged->line;
}

TEST(credit_gate, R119_R120_the_highest_hour_wins_and_ties_prefer_the_location_asked_for) {
  const auto quote = [](const char* location, const char* hour) {
    return price_quote{location, number(hour), "USD", ""};
  };

  struct {
    std::vector<price_quote> quotes;
    const char* where; // nullptr: refused
  } const cases[] = {
      {{quote("here", "1"), quote("there", "2")}, "there"},
      {{quote("here", "2"), quote("there", "1")}, "here"},
      {{quote("b", "2"), quote("here", "2"), quote("a", "2")}, "here"},
      {{quote("b", "2"), quote("a", "2"), quote("here", "1")}, "a"},
      {{quote("here", "1"), quote("here", "3"), quote("b", "2")},
       "here"},                     // 3.3: the highest of one
      {{quote("b", "2")}, nullptr}, // not sold here
      {{}, nullptr},
      {{price_quote{"here", 1, "EUR", ""}}, nullptr}};

  for (const auto& each : cases) {
    const auto found = highest_hour({"M", each.quotes, ""}, "Here", {"here", "a", "b"});
    ASSERT_EQ(found.has_value(), each.where != nullptr);
    if (found) {
      EXPECT_EQ(found->where, each.where);
    }
  }
}

TEST(credit_gate, R121_A4_only_this_providers_hosts_count_whatever_their_state) {
  fleet_rig rig;
  rig.declare("b0", "0.10");
  rig.declare("b1", "0.2");
  rig.edit_registry([](base::json& d) {
    d.member_ref("targets").items()[1].member_ref("cloud").set("provider", "other");
  });
  const auto counted = projected_burn(rig.registry(), "fake", number("0.000000001"));
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->hosts, 1U);
  EXPECT_EQ(format_money(counted->running), "0.20");
  EXPECT_EQ(format_money(counted->total), "0.200000001"); // R122: exact
}

TEST(credit_gate, R114_a_ruling_with_a_bad_field_is_refused_naming_the_first) {
  struct {
    const char* ruling;
    const char* named;
  } const cases[] = {
      {R"([])", "fake.credit_floor"},
      {R"({"amount":5,"currency":"USD","words":"w"})", "fake.credit_floor.id"},
      {R"({"id":"i","amount":"5","currency":"USD","words":"w"})", "fake.credit_floor.amount"},
      {R"({"id":"i","amount":-1,"currency":"USD","words":"w"})", "fake.credit_floor.amount"},
      {R"({"id":"i","amount":5,"currency":" ","words":"w"})", "fake.credit_floor.currency"},
      {R"({"id":"i","amount":5,"currency":"USD"})", "fake.credit_floor.words"},
      {R"({"id":"i","amount":5,"currency":"USD","words":"w","ruled_at":"today"})",
       "fake.credit_floor.ruled_at"}};

  for (const auto& each : cases) {
    fleet_rig rig;
    std::string said;
    try {
      rig.set("fake.credit_floor", each.ruling);
      const auto c = rig.at();
      const auto floor = credit_floor_of(*c.settings, "fake");
      ASSERT_FALSE(floor) << each.ruling;
      said = floor.error().message;
    } catch (const std::exception& refused) {
      said = refused.what(); // the profile as a whole
    }
    EXPECT_NE(said.find(each.named), std::string::npos) << said;
  }
}

} // namespace

} // namespace siteagent::fleet::test
