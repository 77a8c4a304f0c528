// SPDX-License-Identifier: MIT
// reap and the coordinator's lines: readmission, judgement, the two markers, deletion.
#include "core/fleet/cloud_host/check.hpp"
#include "core/fleet/cloud_host/coordinator.hpp"
#include "core/fleet/cloud_host/reap.hpp"
#include "tests/fleet/cloud_host_rig.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace siteagent::fleet::test {

namespace {

using base::error_code;
using std::chrono::minutes;

struct cloud_host_reap : testing::Test {
  fleet_rig rig;

  cloud_host::reap_report reap(bool apply = false) {
    auto r = cloud_host::reap(rig.at(), apply);
    EXPECT_TRUE(r) << r.error().message;
    return r ? *std::move(r) : cloud_host::reap_report{};
  }

  void idle_host(const std::string& name = "b1", minutes since = minutes(31)) {
    rig.declare(name);
    rig.stand_idle(name, since);
  }

  bool has_marker(const std::string& name) {
    return std::filesystem::exists(rig.hosts.work(name) / "returning");
  }

  // A run that stands, of a process that is alive.
  void start_run(const std::string& name) {
    const auto run = rig.hosts.work(name) / "runs" / std::string(32, 'a');
    std::filesystem::create_directories(run);
  }
};

TEST_F(cloud_host_reap, R60_with_nothing_declared_it_measures_nothing) {
  const std::string bytes = rig.registry_bytes();
  const auto r = reap();
  EXPECT_FALSE(r.is_any_declared);
  EXPECT_TRUE(r.is_clean());
  EXPECT_TRUE(rig.hosts.calls().empty());
  EXPECT_TRUE(rig.cloud.calls().empty());
  EXPECT_EQ(rig.registry_bytes(), bytes);
}

TEST_F(cloud_host_reap, R19_R60_admit_from_is_needed_only_when_a_host_is_declared) {
  rig.edit_registry([](base::json& d) { d.erase("cloud_hosts"); });
  reap();
  rig.declare("b1");
  const auto r = cloud_host::reap(rig.at(), false);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("cloud_hosts.admit_from is absent"), std::string::npos);
}

TEST_F(cloud_host_reap, R54_R59_R84_measures_readmits_and_judges_without_deleting) {
  idle_host();
  rig.declare("b2"); // just created
  const auto r = reap();
  EXPECT_TRUE(r.is_clean());
  ASSERT_EQ(r.hosts.size(), 2U);
  EXPECT_EQ(r.hosts[0].state, "reapable");
  EXPECT_GE(r.hosts[0].idle_seconds, 31 * 60);
  EXPECT_EQ(r.hosts[1].state, "idle");
  EXPECT_EQ(rig.cloud.machines["b1"].addresses, (std::vector<std::string>{"198.51.100.4"}));
  EXPECT_EQ(rig.cloud.calls(), (std::vector<std::string>{"admit_addresses - b1 b2"}));
  const base::json j = to_json(r);
  EXPECT_EQ(j["applied"].boolean(), false);
  EXPECT_EQ(j.at({"egress", "build-host", "address"}).string_or(""), "198.51.100.4");
  EXPECT_EQ(j["hosts"][0]["processes"].dump(), R"({"cargo":0,"rustc":0})");
  EXPECT_FALSE(has_marker("b1"));
  EXPECT_EQ(
      rig.registry().at({"cloud_hosts", "egress", "build-host", "address"}).string_or(""),
      "198.51.100.4"
  );
}

TEST_F(cloud_host_reap, R5_R57_apply_deletes_what_is_reapable_and_records_that_a_pass_ran) {
  idle_host();
  rig.declare("b2");
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "reaped");
  EXPECT_EQ(r.hosts[0].released.size(), 4U);
  EXPECT_EQ(r.hosts[1].state, "idle");
  EXPECT_FALSE(rig.find("b1"));
  EXPECT_FALSE(rig.has_key("b1"));
  EXPECT_TRUE(rig.find("b2"));
  EXPECT_FALSE(rig.cloud.machines.contains("b1"));
  EXPECT_EQ(rig.registry().at({"cloud_hosts_reaped", "fake", "by"}).string_or(""), "control-1");
  EXPECT_TRUE(cloud_host::last_applied_pass(rig.registry(), "fake"));
}

TEST_F(cloud_host_reap, R51_R52_a_standing_run_makes_it_busy) {
  idle_host();
  start_run("b1");
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "busy");
  EXPECT_EQ(r.hosts[0].runs.size(), 1U);
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
}

TEST_F(cloud_host_reap, F45_R56_a_host_that_cannot_be_read_is_unread_and_never_deleted) {
  idle_host();
  rig.hosts.fail("b1", failure(error_code::transient, "b1: connection timed out"));
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "unread");
  EXPECT_EQ(r.hosts[0].cause, "b1: connection timed out");
  EXPECT_TRUE(r.is_clean()); // R58: unread alone is no failure
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
}

TEST_F(cloud_host_reap, F45_a_host_long_unread_shows_since_when_and_what_it_cost) {
  idle_host();
  reap(); // it could be read
  rig.clock.shift(std::chrono::hours(26));
  rig.hosts.fail("b1", failure(error_code::transient, "gone"));
  const auto r = reap();
  EXPECT_EQ(r.hosts[0].standing_hours, 26);
  ASSERT_TRUE(r.hosts[0].standing_usd);
  EXPECT_EQ(r.hosts[0].standing_usd->to_string(), "9.984");
}

TEST_F(cloud_host_reap, R55_an_unread_host_s_power_state_is_its_cause) {
  idle_host();
  rig.hosts.fail("b1", failure(error_code::transient, "no route"));
  rig.cloud.machines["b1"].state = "deallocated";
  EXPECT_EQ(reap(true).hosts[0].cause, "the VM is deallocated");
  rig.cloud.machines.erase("b1");
  EXPECT_EQ(
      reap(true).hosts[0].cause,
      "the VM is absent; stado cloud host delete b1 --provider fake removes the entry"
  );
  EXPECT_TRUE(rig.find("b1")); // never automatically
}

TEST_F(
    cloud_host_reap,
    F44_A9_a_fleet_host_that_cannot_be_measured_keeps_its_record_and_the_pass_goes_on
) {
  idle_host();
  rig.edit_registry([](base::json& d) {
    set_egress(
        d,
        {{"build-host", {.address = "198.51.100.99", .read_at = "2026-11-29T11:59:58Z"}},
         {"removed", {.address = "198.51.100.98", .read_at = "2026-11-29T11:59:58Z"}}}
    );
  });
  rig.hosts.fail("build-host", failure(error_code::transient, "asleep"));
  const auto r = reap(true);
  EXPECT_FALSE(r.is_clean()); // exit 1
  ASSERT_EQ(r.egress_errors.size(), 1U);
  EXPECT_EQ(r.egress.at("build-host").address, "198.51.100.99");
  EXPECT_EQ(r.egress.size(), 1U); // A28: who left admit_from is dropped
  EXPECT_EQ(r.hosts[0].state, "reaped");
}

TEST_F(cloud_host_reap, DEL_07_a_run_area_that_vanished_is_no_proof_of_idleness) {
  idle_host();
  EXPECT_EQ(reap().hosts[0].state, "reapable"); // it had one
  std::filesystem::remove_all(rig.hosts.work("b1"));
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "unread");
  EXPECT_NE(r.hosts[0].cause.find("run area is gone"), std::string::npos);
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
}

TEST_F(cloud_host_reap, DEL_07_a_run_area_that_is_a_link_is_unread) {
  idle_host();
  std::filesystem::rename(rig.hosts.work("b1") / "runs", rig.hosts.work("b1") / "elsewhere");
  std::filesystem::create_directory_symlink(
      rig.hosts.work("b1") / "elsewhere", rig.hosts.work("b1") / "runs"
  );
  EXPECT_EQ(reap(true).hosts[0].state, "unread");
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
}

TEST_F(cloud_host_reap, F44_rules_that_cannot_be_written_do_not_keep_hosts_billing) {
  idle_host();
  rig.cloud.fail("admit_addresses", failure(error_code::forbidden, "policy"));
  const auto r = reap(true);
  EXPECT_FALSE(r.is_clean());
  EXPECT_EQ(r.admission_error->message, "policy");
  EXPECT_EQ(r.hosts[0].state, "reaped");
}

TEST_F(cloud_host_reap, F46_T8_R131_a_run_that_begins_behind_the_first_look_stops_the_deletion) {
  idle_host();
  // The marker is made by the second command on the host; the run's directory stood before it.
  int commands = 0;
  rig.hosts.before("b1", [&] {
    if (++commands == 2) {
      start_run("b1");
    }
  });
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "busy");
  EXPECT_FALSE(has_marker("b1"));
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
}

TEST_F(cloud_host_reap, T8_R131_the_marker_stands_before_the_second_look) {
  idle_host();
  int commands = 0;
  bool stood = false;
  rig.hosts.before("b1", [&] {
    if (++commands == 3) {
      stood = has_marker("b1"); // from here on a run would see it and leave
    }
  });
  EXPECT_EQ(reap(true).hosts[0].state, "reaped");
  EXPECT_TRUE(stood);
}

TEST_F(cloud_host_reap, R131_a_stop_behind_the_marker_takes_it_away_again) {
  idle_host();
  int commands = 0;
  rig.hosts.before("b1", [&] {
    if (++commands == 3) {
      rig.stop.request_stop();
    }
  });
  EXPECT_NE(reap(true).hosts[0].state, "reaped");
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
  EXPECT_FALSE(has_marker("b1"));
}

TEST_F(cloud_host_reap, R131_a_second_look_that_fails_deletes_nothing) {
  idle_host();
  int commands = 0;
  rig.hosts.before("b1", [&] {
    if (++commands == 3) {
      rig.hosts.fail("b1", failure(error_code::transient, "lost"), 1);
    }
  });
  EXPECT_EQ(reap(true).hosts[0].state, "unread");
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
  EXPECT_FALSE(has_marker("b1"));
}

TEST_F(
    cloud_host_reap, R131_a_young_marker_of_another_reaper_is_respected_and_an_old_one_taken_over
) {
  idle_host();
  std::filesystem::create_directories(rig.hosts.work("b1") / "returning");
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "reapable");
  EXPECT_NE(r.hosts[0].cause.find("another reaper holds it"), std::string::npos);
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
  std::filesystem::last_write_time(
      rig.hosts.work("b1") / "returning",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2)
  );
  EXPECT_EQ(reap(true).hosts[0].state, "reaped");
}

TEST_F(cloud_host_reap, F47_R57_R58_a_deletion_that_fails_keeps_entry_and_key_and_frees_the_host) {
  idle_host();
  idle_host("b2");
  rig.cloud.hold("b1", "virtual-machine", "locked");
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "reap_failed");
  EXPECT_NE(r.hosts[0].cause.find("locked"), std::string::npos);
  EXPECT_FALSE(r.is_clean());
  EXPECT_TRUE(rig.find("b1"));
  EXPECT_TRUE(rig.has_key("b1"));
  EXPECT_FALSE(has_marker("b1"));        // builds may run there again
  EXPECT_EQ(r.hosts[1].state, "reaped"); // R58: every host was handled
}

TEST_F(cloud_host_reap, A36_a_create_that_runs_is_busy_here_and_elsewhere) {
  rig.declare("b0");
  std::string here;
  fleet_rig other(&rig);
  other.local_hostname = "control-2";
  other.cloud.machines = rig.cloud.machines;
  rig.cloud.at("create_host", [&] {
    const auto r = cloud_host::reap(other.at(), true);
    ASSERT_TRUE(r) << r.error().message;
    ASSERT_EQ(r->hosts.size(), 2U);
    EXPECT_EQ(r->hosts[1].name, "b1");
    EXPECT_EQ(r->hosts[1].state, "busy");
    EXPECT_NE(r->hosts[1].cause.find("being created by control-1"), std::string::npos);
  });
  ASSERT_TRUE(rig.create());
}

TEST_F(cloud_host_reap, R63_a_pass_that_does_not_wait_names_who_holds_the_lock) {
  idle_host();
  const auto c = rig.at();
  const auto held = cloud_host::take_lock(c, "creating b9");
  ASSERT_TRUE(held);
  const auto r = cloud_host::reap(c, true, false);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, error_code::conflict);
  EXPECT_NE(r.error().message.find("creating b9"), std::string::npos) << r.error().message;
}

TEST_F(cloud_host_reap, stopped_between_hosts_it_leaves_the_others_alone) {
  idle_host();
  idle_host("b2");
  rig.cloud.at("delete_host", [this] { rig.stop.request_stop(); });
  const auto r = reap(true);
  EXPECT_TRUE(r.was_cut_short);
  EXPECT_TRUE(rig.find("b2"));
  EXPECT_TRUE(rig.cloud.machines.contains("b2"));
}

TEST_F(cloud_host_reap, kept_runs_are_listed_with_what_their_host_costs) {
  idle_host("b1", minutes(60 * 3));
  const auto run = rig.hosts.work("b1") / "runs" / std::string(32, 'b');
  std::filesystem::create_directories(run);
  integration::write_file(
      (run / "run.json").string(),
      R"({"run":")" + std::string(32, 'b') + R"(","state":"kept","pid":1,"start_ticks":1,)" +
          R"("boot_id":"00","started_at":"2026-11-29T12:00:00Z","command":"make"})"
  );
  std::filesystem::last_write_time(
      rig.hosts.work("b1") / "runs",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2) - minutes(5)
  );
  const auto r = reap(true);
  EXPECT_EQ(r.hosts[0].state, "busy");
  EXPECT_NE(r.hosts[0].cause.find("kept"), std::string::npos) << r.hosts[0].cause;
  EXPECT_EQ(r.hosts[0].standing_hours, 2);
  ASSERT_TRUE(r.hosts[0].standing_usd);
  EXPECT_EQ(r.hosts[0].standing_usd->to_string(), "0.768");
}

// --- coordinator ------------------------------------------------------------------------------

TEST(cloud_host_coordinator, R62_says_what_it_reaped_failed_to_reap_and_could_not_read) {
  cloud_host::reap_report r;
  const auto add = [&](const char* name, const char* state, const char* cause) {
    cloud_host::reaped_host h;
    h.name = name;
    h.state = state;
    h.cause = cause;
    h.idle_seconds = 31 * 60 + 59;
    h.idle_minutes = 30;
    r.hosts.push_back(h);
  };
  add("b1", "reaped", "");
  add("b2", "reap_failed", "held");
  add("b3", "unread", "no route");
  add("b4", "busy", "1 run(s)");
  add("b5", "idle", "");
  r.egress_errors.push_back({"mac", failure(error_code::transient, "asleep")});
  r.admission_error = failure(error_code::forbidden, "policy");
  EXPECT_EQ(
      cloud_host::lines_of(r),
      (std::vector<std::string>{
          "cloud-host reaper: addresses: mac: asleep",
          "cloud-host reaper: addresses: policy",
          "cloud-host reaper: reaped b1 (idle 31 min, limit 30 min)",
          "cloud-host reaper: failed to reap b2: held",
          "cloud-host reaper: could not read b3: no route"})
  );
}

TEST(cloud_host_coordinator, its_entry_is_the_named_one_or_the_single_active_one) {
  const auto document = *base::json::parse(
      R"({"coordinators":[{"name":"a","interval_seconds":5},{"name":"b","active":false}]})"
  );
  const auto only = cloud_host::find_coordinator(document);
  ASSERT_TRUE(only);
  EXPECT_EQ(only->name, "a");
  EXPECT_EQ(only->interval, std::chrono::seconds(15)); // the minimum
  EXPECT_EQ(cloud_host::find_coordinator(document, "b")->interval, std::chrono::seconds(60));
  EXPECT_FALSE(cloud_host::find_coordinator(document, "c"));
  const auto endless =
      *base::json::parse(R"({"coordinators":[{"name":"a","interval_seconds":9223372036854775807}]})"
      );
  EXPECT_EQ(cloud_host::find_coordinator(endless)->interval, std::chrono::hours(24));
  EXPECT_FALSE(cloud_host::find_coordinator(*base::json::parse("{}")));
}

TEST(cloud_host_coordinator, F54_R63_a_tick_with_everything_failing_only_says_so) {
  fleet_rig rig;
  rig.declare("b1");
  std::vector<std::string> lines;
  const auto log = [&](const std::string& line) { lines.push_back(line); };
  auto c = rig.at();
  cloud_host::tick(c, log); // no plugin of that name
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("cloud-host reaper: fake: ")) << lines[0];
  integration::write_file(rig.store->file("registry.json"), "{");
  cloud_host::tick(c, log);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[1].starts_with("cloud-host reaper: "));
}

TEST(cloud_host_coordinator, R61_a_provider_that_is_not_enabled_here_is_left_to_others) {
  fleet_rig rig;
  rig.declare("b1");
  rig.set("providers", "[]");
  std::vector<std::string> lines;
  auto c = rig.at();
  cloud_host::tick(c, [&](const std::string& line) { lines.push_back(line); });
  EXPECT_TRUE(lines.empty());
}

} // namespace

} // namespace siteagent::fleet::test
