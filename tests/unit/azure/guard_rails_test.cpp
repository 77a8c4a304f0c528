// SPDX-License-Identifier: MIT
// Limits that need figures: the price of an hour and the number of machines.
#include "tests/unit/azure/create_fixture.hpp"
#include "tests/unit/azure/price_rows.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

constexpr const char* offering_uuid = "00ff00ff00ff00ff00ff00ff00ff00ff";

class azure_rails : public azure_create {
protected:
  azure_rails() {
    settings.member_ref("cloud").set("prices", base_url);
    body.set("offering", base::json::object({{"uuid", offering_uuid}, {"name", "machines"}}));
    body.member_ref("tags").set("offering-uuid", offering_uuid);
    body.member_ref("tags").set("project-slug", "physics");
    arm.prices = {machine_row("Standard_B1s", "0.0104"), machine_row("Standard_Big", "3.84")};
  }

  base::json evaluated() {
    const fake_call call = run(&backend::evaluate_order);
    EXPECT_EQ(call.code, SAGENT_OK) << call.message;
    return call.emitted.empty() ? base::json() : call.emitted[0];
  }

  std::string decision() { return evaluated()["decision"].string_or(""); }

  void put_machine(const std::string& name, std::string_view of = offering_uuid) {
    arm.put(group_id("elsewhere"), base::json::object({{"properties", base::json::object()}}));
    base::json vm = tagged(std::string(31, 'f') + name.back());
    vm.member_ref("tags").set("offering-uuid", of);
    arm.put(object_id("Microsoft.Compute/virtualMachines", name, "elsewhere"), vm);
  }
};

TEST_F(azure_rails, without_limits_evaluating_asks_nobody) {
  EXPECT_EQ(decision(), "accept");
  EXPECT_TRUE(arm.log().empty());
}

TEST_F(azure_rails, a_size_within_the_price_limit_is_accepted_and_the_list_kept_for_a_day) {
  settings.set("max_hourly_price", "0.0104");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(decision(), "accept");
  }
  EXPECT_EQ(arm.count_requests("GET", "/api/retail/prices"), 1U);
  EXPECT_EQ(arm.tokens_issued, 0);
  EXPECT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(arm.count_requests("GET", "/api/retail/prices"), 1U);
  clock.advance(std::chrono::hours(25));
  EXPECT_EQ(decision(), "accept");
  EXPECT_EQ(arm.count_requests("GET", "/api/retail/prices"), 2U);
}

TEST_F(azure_rails, case_price_05_a_dear_size_is_rejected_with_both_list_prices) {
  settings.set("max_hourly_price", "0.0103999");
  const base::json verdict = evaluated();
  EXPECT_EQ(verdict["decision"].string_or(""), "reject");
  EXPECT_EQ(
      verdict["reason"].string_or(""),
      "Azure size 'Standard_B1s' in westeurope has a list price of 0.0104 USD an hour; this "
      "offering allows at most 0.0103999 USD. Choose a smaller size"
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_REFUSED);
  EXPECT_EQ(call.public_message, verdict["reason"].string_or(""));
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_rails, a_size_without_a_price_is_rejected) {
  settings.set("max_hourly_price", "100");
  arm.prices = {machine_row("Standard_B1s", "0")};
  const base::json verdict = evaluated();
  EXPECT_EQ(verdict["decision"].string_or(""), "reject");
  EXPECT_THAT(verdict["reason"].string_or(""), HasSubstr("no list price"));
  EXPECT_EQ(create().code, SAGENT_E_REFUSED);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_rails, an_unreadable_price_list_never_means_yes_and_never_no) {
  settings.set("max_hourly_price", "100");
  arm.script({"GET", "/api/retail/prices", -1, 0, false, 503, "", {}});
  const base::json verdict = evaluated();
  EXPECT_EQ(verdict["decision"].string_or(""), "wait");
  EXPECT_THAT(verdict["reason"].string_or(""), HasSubstr("HTTP 503"));
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << call.message;
  EXPECT_THAT(call.message, HasSubstr("max_hourly_price"));
  EXPECT_TRUE(arm.writes().empty());
  arm.clear_scripts();
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST_F(azure_rails, an_existing_machine_is_adopted_whatever_it_costs_now) {
  ASSERT_EQ(create().code, SAGENT_OK);
  settings.set("max_hourly_price", "0.0001");
  settings.set("max_machines", 1);
  open();
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted.at(0)["adopted"].boolean(), true);
  settings.erase("max_hourly_price");
  open();
  EXPECT_EQ(decision(), "accept"); // its own machine takes no second place
}

TEST_F(azure_rails, a_full_offering_rejects_and_counts_no_other_offerings_machines) {
  settings.set("max_machines", 2);
  put_machine("m1");
  put_machine("m2", "another");
  EXPECT_EQ(decision(), "accept");
  put_machine("m3");
  clock.advance(std::chrono::minutes(2));
  const base::json verdict = evaluated();
  EXPECT_EQ(verdict["decision"].string_or(""), "reject");
  EXPECT_EQ(
      verdict["reason"].string_or(""),
      "This offering is limited to 2 machines, and all of them are in use; try again when one is "
      "free."
  );
}

TEST_F(azure_rails, machines_are_counted_by_one_list_that_is_kept_for_a_minute) {
  settings.set("max_machines", 5);
  put_machine("m1");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(decision(), "accept");
  }
  EXPECT_EQ(arm.count_requests("GET", "/Microsoft.Compute/virtualMachines"), 1U);
}

TEST_F(azure_rails, a_no_is_only_believed_from_fresh_figures) {
  settings.set("max_machines", 1);
  put_machine("m1");
  EXPECT_EQ(decision(), "reject");
  run(&backend::delete_resource,
      object_id("Microsoft.Compute/virtualMachines", "m1", "elsewhere"),
      "fffffffffffffffffffffffffffffff1");
  EXPECT_EQ(decision(), "accept"); // within the minute
}

TEST_F(azure_rails, machines_that_cannot_be_counted_let_the_order_wait) {
  settings.set("max_machines", 5);
  arm.script(
      {"GET",
       "/Microsoft.Compute/virtualMachines?",
       -1,
       0,
       false,
       403,
       fake_arm::error_text("AuthorizationFailed"),
       {}}
  );
  EXPECT_EQ(decision(), "wait");
  EXPECT_NE(create().code, SAGENT_OK);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_rails, refused_credentials_are_not_a_decision) {
  settings.set("max_machines", 5);
  host_data.secret = "wrong";
  EXPECT_EQ(run(&backend::evaluate_order).code, SAGENT_E_AUTH);
}

TEST_F(azure_rails, zero_machines_closes_an_offering) {
  settings.set("max_machines", 0);
  EXPECT_EQ(decision(), "reject");
}

// Six orders at once, each begun at the first write of the one before.
class azure_six_orders : public azure_rails {
protected:
  static constexpr std::size_t limit = 3;

  azure_six_orders() { settings.set("max_machines", static_cast<int>(limit)); }

  static std::string uuid_of(int order) {
    return std::string(31, 'a') + static_cast<char>('0' + order);
  }

  fake_call create_order(int order) {
    body.member_ref("resource").set("name", "web" + std::to_string(order));
    const auto outer = std::exchange(prepare, [this, order](fake_call& c) { watch(c, order); });
    fake_call done = run(&backend::create_resource, "", uuid_of(order));
    prepare = outer;
    return done;
  }

  fake_call clean_up(int order) {
    body.member_ref("resource").set("name", "web" + std::to_string(order));
    return run(&backend::delete_resource, "", uuid_of(order));
  }

  // The first write of one order begins the next one; that of the third begins all the others.
  void watch(fake_call& c, int order) {
    c.on_checkpoint = [this, order](const base::json& j) -> sagent_code {
      most = std::max(most, arm.count("virtualMachines"));
      while (begun < 6 && (begun == order + 1 || order == 2)) {
        const int next = begun++;
        if (order == 2) {
          const auto mine = std::exchange(prepare, {});
          EXPECT_EQ(decision(), "wait") << next;
          prepare = mine;
        }
        results[next] = create_order(next).code;
      }
      const bool at_machine = j["kind"].string_or("") == "virtual-machine";
      return order == killed && at_machine && j["phase"].string_or("") == "before"
                 ? SAGENT_E_CANCELLED
                 : SAGENT_OK;
    };
  }

  int begun = 1;
  int killed = -1;
  std::size_t most = 0;
  std::map<int, sagent_code> results;
};

TEST_F(azure_six_orders, case_conc_04_count_by_what_exists) {
  killed = 1;
  arm.script(
      {"PUT",
       "/virtualMachines/web2",
       1,
       0,
       false,
       409,
       fake_arm::error_text("SkuNotAvailable"),
       {}}
  );
  results[0] = create_order(0).code;
  killed = -1;
  EXPECT_EQ(results[0], SAGENT_OK);
  EXPECT_EQ(results[1], SAGENT_E_CANCELLED);
  EXPECT_EQ(results[2], SAGENT_E_REFUSED);
  for (const int late : {3, 4, 5}) {
    EXPECT_EQ(results[late], SAGENT_E_TRANSIENT) << late; // stays executing, tried again
  }
  EXPECT_EQ(clean_up(2).code, SAGENT_OK);
  // The killed and the failed one hold no machine: their places are free, no counter is stuck.
  EXPECT_EQ(create_order(3).code, SAGENT_OK);
  EXPECT_EQ(create_order(4).code, SAGENT_OK);
  const fake_call full = create_order(5);
  EXPECT_EQ(full.code, SAGENT_E_TRANSIENT);
  EXPECT_THAT(full.message, HasSubstr("max_machines 3 is reached"));
  EXPECT_EQ(create_order(1).code, SAGENT_E_TRANSIENT);
  EXPECT_EQ(arm.count("virtualMachines"), limit);
  EXPECT_EQ(clean_up(0).code, SAGENT_OK);
  EXPECT_EQ(create_order(5).code, SAGENT_OK);
  EXPECT_EQ(arm.count("virtualMachines"), limit);
  EXPECT_LE(most, limit);
}

TEST(azure_machine_slots, a_create_counts_until_a_later_list_tells_what_became_of_it) {
  machine_slots slots;
  const auto at = [](int seconds) { return base::steady_time(std::chrono::seconds(seconds)); };
  EXPECT_TRUE(slots.take("o", "a", {}, at(1), 2));
  EXPECT_TRUE(slots.take("o", "a", {}, at(1), 2)); // the same again is the same
  EXPECT_TRUE(slots.take("o", "b", {}, at(1), 2));
  EXPECT_FALSE(slots.take("o", "c", {}, at(1), 2));
  EXPECT_TRUE(slots.take("other", "c", {}, at(1), 2));
  slots.end("o", "a", at(5));
  EXPECT_FALSE(slots.take("o", "c", {}, at(4), 2)); // begun before: may not show it yet
  EXPECT_FALSE(slots.take("o", "c", {"a"}, at(6), 2));
  EXPECT_TRUE(slots.take("o", "c", {}, at(6), 2));
  EXPECT_EQ(slots.beside("o", "d", {"b"}, at(6)), 1U);
}

} // namespace

} // namespace siteagent::azure::test
