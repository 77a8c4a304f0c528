// SPDX-License-Identifier: MIT
// delete: everything released, then the entry, then the key; and what a killed create left.
#include "core/fleet/cloud_host/remove.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"
#include "tests/fleet/cloud_host_rig.hpp"

#include <gtest/gtest.h>

namespace siteagent::fleet::test {

namespace {

using base::error_code;
using cloud_host::detail_of;

struct cloud_host_delete : testing::Test {
  fleet_rig rig;

  base::result<cloud_host::delete_report> remove(const std::string& name = "b1") {
    return cloud_host::remove(rig.at(), name);
  }

  // What a create that was killed behind `objects` of its objects leaves.
  void leave_killed_create(std::size_t objects, int step = 6) {
    const std::string started = "2026-11-29T11:00:00.123Z";
    rig.edit_registry([&](base::json& d) {
      set_creating(
          d,
          {.name = "b1",
           .provider = "fake",
           .location = "here",
           .size = "Medium",
           .hourly = base::decimal::parse("0.384"),
           .started_at = started,
           .by = "control-1 pid 999999 start 1 boot gone"}
      );
    });
    journal_entry e{};
    e.name = "b1";
    e.provider = "fake";
    e.step = step;
    e.request = *base::json::parse(R"({"location":"here","size":"Medium","hourly_usd":0.384})");
    e.started_at = started;
    e.owner = "pid 999999 start 1 boot gone";
    if (objects > 0) {
      fake::machine& m = rig.cloud.machines["b1"];
      m.name = "b1";
      m.location = "here";
      m.state = objects == fake::kinds().size() ? "running" : "absent";
      m.vm_id = objects == fake::kinds().size() ? "generation-9" : "";
      m.tags = base::json::object({{"stado_cloud_host", "b1"}, {"stado_created", started}});
      for (std::size_t i = 0; i < objects; ++i) {
        m.objects.push_back({fake::kinds()[i], "/" + fake::kinds()[i] + "/b1"});
      }
    }
    ASSERT_TRUE(rig.at().journals().write(e));
    ASSERT_TRUE(rig.at().keys->generate("b1"));
  }
};

TEST_F(cloud_host_delete, R65_R67_R83_releases_everything_then_entry_and_key_go) {
  const std::string bytes = rig.registry_bytes();
  rig.declare("b1");
  bool had_entry = false;
  bool had_key = false;
  rig.cloud.at("delete_host", [&] {
    had_entry = rig.find("b1").has_value();
    had_key = rig.has_key("b1");
  });
  const auto r = remove();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_TRUE(had_entry && had_key);
  EXPECT_EQ(rig.registry_bytes(), bytes);
  EXPECT_FALSE(rig.has_key("b1"));
  EXPECT_EQ(rig.hosts.forgotten, (std::vector<std::string>{"b1"})); // R110
  const base::json j = to_json(*r);
  EXPECT_EQ(j["entry_removed"].boolean(), true);
  EXPECT_EQ(j["key_removed"].boolean(), true);
  EXPECT_EQ(j["released"].size(), 4U);
  EXPECT_EQ(
      j["released"][0].dump(),
      R"({"kind":"virtual-machine","id":"/virtual-machine/b1","outcome":"deleted"})"
  );
}

TEST_F(cloud_host_delete, F48_R64_an_unknown_name_is_refused_with_those_that_are_declared) {
  EXPECT_EQ(
      remove().error().message, "the registry declares no Fake cloud host b1 (it declares none)"
  );
  rig.declare("b2");
  rig.declare("b3");
  EXPECT_EQ(
      remove().error().message, "the registry declares no Fake cloud host b1 (it declares b2, b3)"
  );
  EXPECT_EQ(
      remove("build-host").error().message, // registered, and no cloud host
      "the registry declares no Fake cloud host build-host (it declares b2, b3)"
  );
  rig.edit_registry([](base::json& d) {
    d.member_ref("targets").items()[1].member_ref("cloud").set("provider", "other");
  });
  EXPECT_EQ(
      remove("b2").error().message, // another provider's
      "the registry declares no Fake cloud host b2 (it declares b3)"
  );
  EXPECT_TRUE(rig.cloud.calls().empty());
}

TEST_F(cloud_host_delete, F49_another_generation_of_that_name_is_not_touched) {
  rig.declare("b1");
  rig.cloud.machines["b1"].vm_id = "somebody-elses";
  const std::string bytes = rig.registry_bytes();
  const auto r = remove();
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("somebody-elses"), std::string::npos);
  EXPECT_NE(r.error().message.find("generation-of-b1"), std::string::npos);
  EXPECT_EQ(rig.registry_bytes(), bytes);
  EXPECT_TRUE(rig.has_key("b1"));
  EXPECT_EQ(rig.cloud.machines["b1"].objects.size(), 4U);
}

TEST_F(cloud_host_delete, F50_R77_a_later_try_may_help_where_every_cause_passes_by_itself) {
  rig.declare("b1");
  rig.cloud.hold("b1", "network-interface", "throttled", 1, true);
  const auto passing = remove();
  ASSERT_FALSE(passing);
  EXPECT_EQ(passing.error().code, base::error_code::transient);
  rig.cloud.hold("b1", "network-interface", "a lock", 1, false);
  const auto lasting = remove();
  ASSERT_FALSE(lasting);
  EXPECT_EQ(lasting.error().code, base::error_code::refused);
}

TEST_F(
    cloud_host_delete, F50_T9_R66_R68_R69_what_is_held_keeps_the_entry_and_deleting_again_finishes
) {
  rig.declare("b1");
  const std::string bytes = rig.registry_bytes();
  rig.cloud.hold("b1", "network-interface", "reserved for another machine", 2);
  for (int i = 0; i < 2; ++i) {
    const auto held = remove();
    ASSERT_FALSE(held);
    EXPECT_TRUE(held.error().message.starts_with(
        "b1 is still registered because Fake did not release everything: network-interface "
        "/network-interface/b1 (reserved for another machine); "
    )) << held.error().message;
    EXPECT_TRUE(held.error().message.ends_with("; deleting it again retries"));
    EXPECT_EQ(rig.registry_bytes(), bytes);
    EXPECT_TRUE(rig.has_key("b1"));
    EXPECT_EQ(detail_of(held.error())["not_removed"].size(), 3U);
  }
  ASSERT_TRUE(remove());
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_FALSE(rig.find("b1"));
  EXPECT_FALSE(rig.has_key("b1"));
  EXPECT_FALSE(remove()); // 7.5: afterwards it is not declared
}

TEST_F(cloud_host_delete, F51_a_registry_that_cannot_be_written_is_finished_by_deleting_again) {
  rig.declare("b1");
  rig.cloud.at("delete_host", [this] { rig.forbid_registry_writes(); });
  const auto failed = remove();
  rig.forbid_registry_writes(false);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("the cloud side of b1 is released"), std::string::npos);
  EXPECT_NE(failed.error().message.find("deleting it again"), std::string::npos);
  EXPECT_TRUE(rig.find("b1"));
  EXPECT_TRUE(rig.has_key("b1"));
  rig.cloud.at("delete_host", [] {});
  const auto again = remove();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->released[0].outcome, "already_gone");
  EXPECT_FALSE(rig.find("b1"));
}

TEST_F(cloud_host_delete, F52_a_key_that_cannot_be_removed_is_named_with_the_command) {
  rig.declare("b1");
  const std::string store = (rig.folder.path() / ".stado/credentials.json").string();
  rig.cloud.at("delete_host", [&] {
    std::filesystem::permissions(store, std::filesystem::perms(0644)); // not owner-only: refused
  });
  const auto failed = remove();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("stado-ssh-b1"), std::string::npos);
  EXPECT_NE(failed.error().message.find("stado fleet key rm b1"), std::string::npos);
  EXPECT_FALSE(rig.find("b1"));
  EXPECT_TRUE(rig.has_key("b1"));
}

TEST_F(
    cloud_host_delete, R101_a_host_that_admit_from_names_is_refused_before_the_cloud_is_touched
) {
  rig.declare("b1");
  rig.edit_registry([](base::json& d) {
    d.member_ref("cloud_hosts").set("admit_from", base::json::array({"build-host", "b1"}));
  });
  const auto r = remove();
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("admit_from"), std::string::npos) << r.error().message;
  EXPECT_TRUE(rig.cloud.calls().empty());
}

TEST_F(cloud_host_delete, R102_edits_elsewhere_in_the_registry_survive) {
  rig.declare("b1");
  rig.cloud.at("delete_host", [this] {
    rig.edit_registry([](base::json& d) { d.set("added", "meanwhile"); });
  });
  ASSERT_TRUE(remove());
  EXPECT_EQ(rig.registry()["added"].string_or(""), "meanwhile");
}

TEST_F(cloud_host_delete, two_deletes_at_once_both_end_well_or_find_nothing) {
  rig.declare("b1");
  rig.cloud.at("delete_host", [this] { // another machine removed the entry meanwhile
    rig.edit_registry([](base::json& d) { remove_target(d, "b1"); });
  });
  const auto r = remove();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_FALSE(rig.find("b1"));
}

TEST_F(cloud_host_delete, R70_A24_A25_asks_nothing_and_does_not_look_at_the_host) {
  rig.declare("b1");
  rig.hosts.fail("b1", failure(error_code::transient, "away"));
  EXPECT_TRUE(remove());
  EXPECT_TRUE(rig.hosts.calls().empty());
}

TEST_F(cloud_host_delete, F41_T14_a_killed_create_is_returned_by_its_name_whatever_it_had_made) {
  for (std::size_t objects = 0; objects <= fake::kinds().size(); ++objects) {
    leave_killed_create(objects);
    const auto r = remove();
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(r->released.size(), objects);
    EXPECT_FALSE(r->is_entry_removed);
    EXPECT_TRUE(rig.cloud.machines.empty());
    EXPECT_FALSE(rig.is_marked("b1"));
    EXPECT_FALSE(rig.is_journaled("b1"));
    EXPECT_FALSE(rig.has_key("b1"));
    EXPECT_FALSE(remove()); // nothing knows it now
  }
}

// A cloud's lists are behind, and a write whose sender was killed takes effect late.
TEST_F(cloud_host_delete, F41_T14_objects_that_the_cloud_shows_late_are_waited_for) {
  leave_killed_create(1);
  auto entry = **rig.at().journals().find("b1");
  entry.objects = {{.kind = "public-address", .id = "/public-address/b1"}};
  ASSERT_TRUE(rig.at().journals().write(entry));
  const auto late = rig.cloud.machines;
  rig.cloud.machines.clear();
  unsigned looks = 0;
  rig.cloud.at("list_hosts", [&] {
    if (++looks == 3) {
      rig.cloud.machines = late;
    }
  });
  const auto r = remove();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->released.size(), 1U);
  EXPECT_TRUE(rig.cloud.machines.empty());
  // What never comes ends the waiting, too.
  leave_killed_create(0);
  ASSERT_TRUE(rig.at().journals().write(entry));
  ASSERT_TRUE(remove());
  EXPECT_FALSE(rig.is_journaled("b1"));
}

TEST_F(cloud_host_delete, F41_of_two_killed_creates_of_a_name_each_is_known_until_it_is_returned) {
  leave_killed_create(0);
  auto other = **rig.at().journals().find("b1");
  other.started_at = "2026-11-29T12:00:00.456Z"; // this machine's; the marker is another one's
  ASSERT_TRUE(rig.at().journals().write(other));
  fake::machine& m = rig.cloud.machines["b1"];
  m.name = "b1";
  m.tags = base::json::object({{"stado_cloud_host", "b1"}, {"stado_created", other.started_at}});
  m.objects = {{"public-address", "/public-address/b1"}};
  ASSERT_TRUE(remove());
  EXPECT_FALSE(rig.is_marked("b1"));
  EXPECT_TRUE(rig.is_journaled("b1"));
  ASSERT_TRUE(remove());
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_FALSE(rig.is_journaled("b1"));
}

TEST_F(cloud_host_delete, a_name_that_is_used_again_meanwhile_keeps_its_key) {
  rig.declare("b1");
  rig.cloud.at("delete_host", [this] {
    rig.edit_registry([](base::json& d) {
      for (base::json& t : d.member_ref("targets").items()) {
        if (t["name"].string() == "b1") {
          t.member_ref("cloud").set("vm_id", "generation-of-the-next");
        }
      }
    });
  });
  const auto r = remove();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_FALSE(r->is_key_removed);
  EXPECT_TRUE(rig.has_key("b1"));
  EXPECT_TRUE(rig.find("b1"));
}

TEST_F(
    cloud_host_delete, T14_another_machine_returns_a_killed_create_it_knows_from_the_registry_alone
) {
  leave_killed_create(3);
  fleet_rig other(&rig);
  other.local_hostname = "control-2";
  other.cloud.machines = rig.cloud.machines;
  const auto r = cloud_host::remove(other.at(), "b1");
  ASSERT_TRUE(r) << r.error().message; // begun more than two hours ago
  EXPECT_TRUE(other.cloud.machines.empty());
  EXPECT_FALSE(other.is_marked("b1"));
}

TEST_F(cloud_host_delete, objects_of_another_fleet_under_that_name_are_never_touched) {
  leave_killed_create(4);
  rig.cloud.machines["b1"].tags.set("stado_created", "2026-11-29T11:00:00.124Z"); // not our create
  const auto r = remove();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
  EXPECT_EQ(rig.cloud.machines["b1"].objects.size(), 4U);
  EXPECT_FALSE(rig.is_marked("b1"));
}

TEST_F(cloud_host_delete, T14_what_is_held_of_a_killed_create_keeps_it_known) {
  leave_killed_create(4);
  rig.cloud.hold("b1", "public-address", "busy");
  const auto r = remove();
  ASSERT_FALSE(r);
  EXPECT_TRUE(rig.is_marked("b1"));
  EXPECT_TRUE(rig.is_journaled("b1"));
  EXPECT_TRUE(remove());
  EXPECT_TRUE(rig.cloud.machines.empty());
}

TEST_F(cloud_host_delete, a_create_that_still_runs_is_never_disturbed) {
  std::optional<base::result<cloud_host::delete_report>> here;
  std::optional<base::result<cloud_host::delete_report>> elsewhere;
  fleet_rig other(&rig);
  other.local_hostname = "control-2";
  rig.cloud.at("create_host", [&] {
    here = cloud_host::remove(rig.at(), "b1");
    elsewhere = cloud_host::remove(other.at(), "b1");
  });
  const auto made = rig.create();
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(here && elsewhere);
  for (const auto& refused : {*here, *elsewhere}) {
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("is being created"), std::string::npos);
  }
  EXPECT_TRUE(rig.find("b1")->cloud);
}

TEST_F(cloud_host_delete, F41_create_again_of_a_killed_name_says_how_to_return_it_first) {
  leave_killed_create(2);
  const auto r = rig.create();
  ASSERT_FALSE(r);
  EXPECT_NE(
      r.error().message.find("stado cloud host delete b1 --provider fake"), std::string::npos
  );
  EXPECT_TRUE(rig.talk.has_warned_of("was interrupted in step 6")); // 9.5
  EXPECT_EQ(rig.cloud.count("create_host"), 0U);
  // Another name goes on, counting the leftover's hour.
  rig.cloud.address = "127.0.0.7";
  ASSERT_TRUE(rig.create("b2"));
  EXPECT_NE(
      rig.talk.said[0].find("1 cloud host(s) already running at 0.384 USD"), std::string::npos
  );
}

TEST_F(cloud_host_delete, a_journal_of_a_recorded_host_is_no_leftover) {
  ASSERT_TRUE(rig.create());
  journal_entry e{};
  e.name = "b1";
  e.provider = "fake";
  e.step = 8;
  e.created = base::json::object({{"vm_id", rig.find("b1")->cloud->vm_id}});
  ASSERT_TRUE(rig.at().journals().write(e)); // killed between the record and this file's removal
  rig.talk.warnings.clear();
  cloud_host::warn_of_leftovers(rig.at(), rig.registry());
  EXPECT_TRUE(rig.talk.warnings.empty());
  ASSERT_TRUE(remove());
  EXPECT_FALSE(rig.is_journaled("b1"));
}

} // namespace

} // namespace siteagent::fleet::test
