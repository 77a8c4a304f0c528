// SPDX-License-Identifier: MIT
// list: what is declared, what it costs, and what nobody declared.
#include "core/fleet/cloud_host/list.hpp"
#include "core/fleet/cloud_host/remove.hpp"
#include "core/fleet/money.hpp"
#include "tests/fleet/cloud_host_rig.hpp"

#include <gtest/gtest.h>

namespace siteagent::fleet::test {

namespace {

using base::error_code;

struct cloud_host_list : testing::Test {
  fleet_rig rig;

  cloud_host::list_report list() {
    auto r = cloud_host::list(rig.at());
    EXPECT_TRUE(r);
    return r ? *std::move(r) : cloud_host::list_report{};
  }
};

TEST_F(cloud_host_list, R71_R72_R82_shows_each_declared_host_in_the_registrys_order) {
  rig.declare("b2", "0.384");
  rig.declare("b1", "0.5");
  rig.declare("b3", "1");
  rig.cloud.machines["b1"].state = "deallocated";
  rig.cloud.machines.erase("b3");
  const base::json j = to_json(list());
  EXPECT_EQ(j["provider"].string_or(""), "fake");
  ASSERT_EQ(j["hosts"].size(), 3U);
  EXPECT_EQ(j["hosts"][0]["name"].string_or(""), "b2");
  EXPECT_EQ(j["hosts"][0]["state"].string_or(""), "running");
  EXPECT_TRUE(j["hosts"][0]["cause"].is_null());
  EXPECT_EQ(j["hosts"][0]["hourly_usd"].number_text(), "0.384");
  EXPECT_EQ(j["hosts"][0]["idle_minutes"].integer(), 30);
  EXPECT_EQ(j["hosts"][1]["state"].string_or(""), "deallocated");
  EXPECT_EQ(j["hosts"][2]["state"].string_or(""), "absent");
  EXPECT_EQ(j["hourly_burn_usd"].number_text(), "0.384"); // A19: exactly the running ones
}

TEST_F(cloud_host_list, A20_other_power_states_are_shown_in_the_clouds_word_and_not_summed) {
  rig.declare("b1");
  rig.cloud.machines["b1"].state = "stopping";
  const auto r = list();
  EXPECT_EQ(r.hosts[0].shown_state(), "stopping");
  EXPECT_TRUE(r.burn.is_zero());
}

TEST_F(cloud_host_list, PRICE_07_a_host_without_a_readable_hour_makes_the_sum_incomplete) {
  for (const char* hour : {"null", "\"abc\"", "-1"}) {
    fleet_rig fresh;
    fresh.declare("b1");
    fresh.edit_registry([&](base::json& d) {
      d.member_ref("targets").items()[1].member_ref("cloud").set(
          "hourly_usd", *base::json::parse(hour)
      );
    });
    const auto r = cloud_host::list(fresh.at());
    ASSERT_TRUE(r) << hour;
    EXPECT_TRUE(r->burn.is_zero());
    EXPECT_EQ(r->without_hour, (std::vector<std::string>{"b1"}));
    const auto refused = fresh.create("b2"); // and new spending is blocked
    ASSERT_FALSE(refused) << hour;
    EXPECT_NE(refused.error().message.find("b1"), std::string::npos) << refused.error().message;
    EXPECT_EQ(fresh.cloud.count("create_host"), 0U);
    const auto deleted = cloud_host::remove(fresh.at(), "b1");
    EXPECT_TRUE(deleted) << deleted.error().message;
  }
}

TEST_F(cloud_host_list, R73_carries_the_recorded_addresses) {
  rig.edit_registry([](base::json& d) {
    set_egress(d, {{"build-host", {.address = "198.51.100.4", .read_at = "2026-11-29T11:59:58Z"}}});
  });
  EXPECT_EQ(
      to_json(list())["egress"].dump(),
      R"({"build-host":{"address":"198.51.100.4","read_at":"2026-11-29T11:59:58Z"}})"
  );
}

TEST_F(cloud_host_list, F42_R75_one_state_that_cannot_be_read_is_in_its_row) {
  rig.declare("b1");
  rig.declare("b2");
  rig.cloud.fail("host_state", failure(error_code::transient, "HTTP 503"));
  const auto r = list();
  EXPECT_EQ(r.hosts[0].shown_state(), "unread: HTTP 503");
  EXPECT_EQ(to_json(r)["hosts"][0]["state"].string_or(""), "unread");
  EXPECT_EQ(to_json(r)["hosts"][0]["cause"].string_or(""), "HTTP 503");
  EXPECT_EQ(r.hosts[1].state, "running");
}

TEST_F(cloud_host_list, F43_R75_a_provider_that_refuses_the_login_makes_every_row_unread) {
  rig.declare("b1");
  rig.declare("b2");
  rig.cloud.fail("host_state", failure(error_code::auth, "the secret has expired"), 1, 9);
  rig.cloud.fail("list_hosts", failure(error_code::auth, "the secret has expired"));
  const auto r = list();
  EXPECT_EQ(r.hosts[0].state, "unread");
  EXPECT_EQ(r.hosts[1].state, "unread");
  EXPECT_TRUE(r.burn.is_zero());
  EXPECT_TRUE(rig.talk.has_warned_of("the secret has expired"));
}

TEST_F(cloud_host_list, R76_opens_no_ssh_connection_and_writes_nothing) {
  rig.declare("b1");
  const std::string bytes = rig.registry_bytes();
  list();
  EXPECT_TRUE(rig.hosts.calls().empty());
  EXPECT_EQ(rig.registry_bytes(), bytes);
}

TEST_F(cloud_host_list, tagged_machines_that_the_registry_lacks_are_shown) {
  rig.declare("b1");
  fake::machine& m = rig.cloud.machines["lost"];
  m.name = "lost";
  m.location = "there";
  m.state = "running";
  const auto r = list();
  ASSERT_EQ(r.hosts.size(), 2U);
  EXPECT_EQ(r.hosts[1].shown_state(), "unregistered (running)");
  EXPECT_TRUE(rig.talk.has_warned_of("1 name(s) carry the tag stado_cloud_host"));
  EXPECT_EQ(format_money(r.burn), "0.384"); // R72: the declared ones
}

TEST_F(cloud_host_list, F41_creates_that_run_or_were_killed_are_shown) {
  rig.edit_registry([this](base::json& d) {
    const auto mark = [&](const std::string& name, std::chrono::hours ago) {
      set_creating(
          d,
          {.name = name,
           .provider = "fake",
           .location = "here",
           .size = "Medium",
           .hourly = base::decimal(1),
           .started_at = base::to_rfc3339(rig.clock.wall() - ago, true),
           .by = "other pid 1 start 2 boot 3"}
      );
    };
    mark("young", std::chrono::hours(0));
    mark("old", std::chrono::hours(5));
  });
  const auto r = list();
  ASSERT_EQ(r.hosts.size(), 2U);
  EXPECT_EQ(r.hosts[0].state, "creating");
  EXPECT_EQ(r.hosts[0].created_at, base::to_rfc3339(rig.clock.wall())); // whole seconds
  EXPECT_EQ(r.hosts[1].state, "interrupted");
  EXPECT_TRUE(rig.talk.has_warned_of("stado cloud host delete old --provider fake"));
  EXPECT_FALSE(rig.talk.has_warned_of("delete young"));
}

TEST_F(cloud_host_list, A4_shows_only_hosts_of_this_provider) {
  rig.declare("b1");
  rig.declare("b2");
  rig.edit_registry([](base::json& d) {
    d.member_ref("targets").items()[2].member_ref("cloud").set("provider", "other");
  });
  rig.cloud.machines.erase("b2");
  EXPECT_EQ(list().hosts.size(), 1U);
}

TEST_F(cloud_host_list, R97_falls_back_to_the_last_good_copy_saying_its_age) {
  rig.declare("b1");
  list();
  integration::write_file(rig.store->file("registry.json"), "{");
  rig.clock.shift(std::chrono::minutes(7));
  const auto r = cloud_host::list(rig.at());
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->hosts.size(), 1U);
  EXPECT_TRUE(rig.talk.has_warned_of("7 min old"));
}

} // namespace

} // namespace siteagent::fleet::test
