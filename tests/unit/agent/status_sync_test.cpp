// SPDX-License-Identifier: MIT
// Pausing, restoring, metadata, erred and OK again.
#include "world.hpp"

#include "core/agent/status_sync.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class status_sync_test : public ::testing::Test {
protected:
  status_sync_test() {
    make(1);
    row = json::object(
        {{"uuid", uuid_of(1).hex()}, {"presence", "present"}, {"state", "ok"}, {"power", "running"}}
    );
    row.set("metadata", json::object({{"size", "small"}}));
    w.cloud->on(operation::pull_resources, [this](const auto&, const auto&) {
      return fake_cloud::emitted(std::vector{row});
    });
  }

  waldur::resource& make(unsigned n, const std::string& state = "OK") {
    waldur::resource& r = w.waldur.add_resource(n, state);
    r.backend_id = "/vm/" + std::to_string(n);
    r.backend_metadata = json::object({{"size", "small"}});
    return r;
  }

  bool marked() {
    return w.waldur.resource_of(1).backend_metadata[stopped_marker].boolean().value_or(false);
  }

  unsigned called(operation op) { return static_cast<unsigned>(w.cloud->calls(op).size()); }

  unsigned power_calls() {
    return called(operation::pause) + called(operation::downscale) + called(operation::restore);
  }

  world w;
  json row;
  status_sync sync{*w.offering, w.waldur, w.env};
};

TEST_F(status_sync_test, a_machine_in_step_costs_one_bulk_read_and_shows_its_last_sync) {
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.cloud->calls().size(), 1U);
  EXPECT_EQ(w.waldur.calls("get_resource"), 0U);
  EXPECT_THAT(w.waldur.writes(), ElementsAre("refresh_last_sync " + uuid_of(1).hex()));
}

TEST_F(status_sync_test, row_10_last_sync_is_refreshed_only_when_older_than_50_minutes) {
  struct {
    std::chrono::minutes age;
    unsigned writes;
  } const cases[] = {
      {std::chrono::minutes(0), 0},
      {std::chrono::minutes(49), 0},
      {std::chrono::minutes(50), 1},
      {std::chrono::minutes(600), 1},
  };

  for (const auto& c : cases) {
    w.clock.advance(std::chrono::hours(2));
    make(1).raw = json::object({{"last_sync", base::to_rfc3339(w.clock.wall() - c.age)}});
    status_sync fresh(*w.offering, w.waldur, w.env);
    const std::size_t before = w.waldur.writes().size();
    EXPECT_TRUE(fresh.run());
    EXPECT_EQ(w.waldur.writes().size() - before, c.writes) << c.age.count();
  }
}

TEST_F(status_sync_test, row_10_a_wrong_clock_neither_silences_nor_repeats_it) {
  make(1).raw = json::object({{"last_sync", "2000-01-01T00:00:00Z"}}); // and it stays so
  for (int minute = 0; minute < 120; minute += 5) {
    EXPECT_TRUE(sync.run());
    w.clock.advance(std::chrono::minutes(5));
  }
  EXPECT_EQ(w.waldur.writes("refresh_last_sync").size(), 3U);
  make(1).raw = json::object({{"last_sync", "2999-01-01T00:00:00Z"}});
  for (int minute = 0; minute < 120; minute += 5) {
    EXPECT_TRUE(sync.run());
    w.clock.advance(std::chrono::minutes(5));
  }
  EXPECT_EQ(w.waldur.writes("refresh_last_sync").size(), 5U);
}

TEST_F(status_sync_test, nothing_to_do_on_many_machines_is_one_list_per_side_and_no_write) {
  for (unsigned n = 1; n <= 300; ++n) {
    make(n).raw = json::object({{"last_sync", base::to_rfc3339(w.clock.wall())}});
  }
  w.cloud->on(operation::pull_resources, [](const host::call_request& request, const auto&) {
    std::vector<json> rows;
    for (const json& r : request.body["resources"].items()) {
      rows.push_back(json::object(
          {{"uuid", r["uuid"]}, {"presence", "present"}, {"state", "ok"}, {"power", "running"}}
      ));
    }
    return fake_cloud::emitted(rows);
  });
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.waldur.calls("list_resources"), 1U);
  EXPECT_EQ(w.waldur.calls("get_resource"), 0U);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_EQ(w.cloud->calls().size(), 1U);
}

TEST_F(status_sync_test, five_hundred_machines_cost_one_bulk_read) {
  for (unsigned n = 2; n <= 500; ++n) {
    make(n);
  }
  w.cloud->on(operation::pull_resources, [](const host::call_request& request, const auto&) {
    std::vector<json> rows;
    for (const json& r : request.body["resources"].items()) {
      rows.push_back(json::object(
          {{"uuid", r["uuid"]}, {"presence", "present"}, {"state", "ok"}, {"power", "running"}}
      ));
    }
    return fake_cloud::emitted(rows);
  });
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.cloud->calls().size(), 1U);
  EXPECT_EQ(w.waldur.writes("refresh_last_sync").size(), 500U);
}

TEST_F(status_sync_test, pausing_stops_the_machine_and_remembers_that_we_did) {
  make(1).paused = true;
  w.cloud->on(operation::pause, [this](const host::call_request& request, const auto&) {
    EXPECT_EQ(request.target, "/vm/1");
    EXPECT_TRUE(marked()) << "a crash behind the stop must not leave it standing for ever";
    return fake_cloud::emitted(std::vector{json::object({{"power", "deallocated"}})});
  });
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(called(operation::pause), 1U);
  EXPECT_TRUE(marked());
}

TEST_F(status_sync_test, downscaling_stops_and_pause_wins_over_it) {
  make(1).downscaled = true;
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(called(operation::downscale), 1U);
  waldur::resource& r = make(1);
  r.downscaled = true;
  r.paused = true;
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(called(operation::downscale), 1U);
  EXPECT_EQ(called(operation::pause), 1U);
}

TEST_F(status_sync_test, a_paused_machine_that_stands_is_not_stopped_again_but_marked) {
  make(1).paused = true;
  row.set("power", "deallocated");
  EXPECT_TRUE(sync.run());
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(power_calls(), 0U);
  EXPECT_TRUE(marked());
  EXPECT_EQ(w.waldur.writes("set_backend_metadata").size(), 1U);
}

TEST_F(status_sync_test, a_machine_we_stopped_is_started_when_nothing_holds_it) {
  make(1).backend_metadata.set(stopped_marker, true);
  row.set("power", "deallocated");
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(called(operation::restore), 1U);
  EXPECT_FALSE(marked());
}

TEST_F(status_sync_test, a_machine_its_user_stopped_is_left_alone) {
  row.set("power", "deallocated");
  EXPECT_TRUE(sync.run());
  row.set("power", "stopped");
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(power_calls(), 0U);
}

TEST_F(status_sync_test, the_marker_goes_when_somebody_else_started_the_machine) {
  make(1).backend_metadata.set(stopped_marker, true);
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(power_calls(), 0U);
  EXPECT_FALSE(marked());
}

TEST_F(status_sync_test, flags_waldur_did_not_send_move_no_machine) {
  waldur::resource& r = make(1);
  r.backend_metadata.set(stopped_marker, true);
  r.power_flags_known = false;
  for (const char* power : {"deallocated", "running"}) {
    row.set("power", power);
    EXPECT_TRUE(sync.run());
    EXPECT_EQ(power_calls(), 0U);
    EXPECT_TRUE(marked());
  }
}

TEST_F(status_sync_test, a_cloud_without_room_is_asked_with_growing_pauses) {
  make(1).backend_metadata.set(stopped_marker, true);
  row.set("power", "deallocated");
  w.cloud->fail(operation::restore, failure(error_code::no_capacity), 100);
  for (int minute = 0; minute < 240; minute += 5) {
    EXPECT_TRUE(sync.run());
    w.clock.advance(std::chrono::minutes(5));
  }
  EXPECT_GE(called(operation::restore), 4U);
  EXPECT_LE(called(operation::restore), 14U);
  EXPECT_TRUE(marked());
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
}

TEST_F(status_sync_test, metadata_is_posted_only_when_it_differs) {
  row.set("metadata", json::object({{"size", "large"}}));
  EXPECT_TRUE(sync.run());
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.waldur.writes("set_backend_metadata").size(), 1U);
}

TEST_F(status_sync_test, limits_are_posted_when_the_plugin_gives_them_and_they_differ) {
  row.set("limits", json::object({{"cpu", 2}}));
  EXPECT_TRUE(sync.run());
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.waldur.writes("set_limits").size(), 1U);
}

TEST_F(status_sync_test, a_healthy_machine_is_set_ok_again) {
  make(1, "Erred");
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.waldur.resource_of(1).state, "OK");
}

TEST_F(status_sync_test, a_failed_machine_is_erred_on_the_second_pass_and_once) {
  row.set("state", "failed");
  row.set("error", "provisioning failed in subscription 1234");
  EXPECT_TRUE(sync.run());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(sync.run());
  }
  EXPECT_THAT(
      w.waldur.writes(),
      ElementsAre(
          "set_resource_erred " + uuid_of(1).hex() +
          " the provider's system reports this machine as failed"
      )
  );
}

TEST_F(status_sync_test, a_machine_whose_start_failed_is_started_again_and_not_erred) {
  make(1).backend_metadata.set(stopped_marker, true);
  row.set("state", "failed");
  row.set("power", "deallocated");
  w.cloud->on(operation::restore, [](const auto&, const auto&) {
    return base::error{.code = base::error_code::no_capacity, .message = "no room"};
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(sync.run());
    w.clock.advance(std::chrono::hours(2));
  }
  EXPECT_EQ(called(operation::restore), 3U);
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
}

TEST_F(status_sync_test, a_missing_machine_is_erred_after_two_passes_that_agree) {
  row.set("presence", "absent");
  EXPECT_TRUE(sync.run());
  row.set("presence", "unknown");
  EXPECT_TRUE(sync.run());
  row.set("presence", "absent");
  EXPECT_TRUE(sync.run());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_TRUE(sync.run());
  EXPECT_THAT(
      w.waldur.writes(),
      ElementsAre("set_resource_erred " + uuid_of(1).hex() + " missing on backend")
  );
  EXPECT_EQ(power_calls(), 0U);
}

TEST_F(status_sync_test, unknown_changes_nothing) {
  make(1, "Erred").paused = true;
  for (const char* presence : {"unknown", "odd"}) {
    row.set("presence", presence);
    EXPECT_TRUE(sync.run());
  }
  row = json::object({{"uuid", "not a uuid"}});
  EXPECT_TRUE(sync.run());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_EQ(power_calls(), 0U);
}

TEST_F(status_sync_test, a_machine_on_its_way_is_left_alone) {
  make(1).paused = true;
  for (const char* state : {"creating", "deleting"}) {
    row.set("state", state);
    EXPECT_TRUE(sync.run());
  }
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_EQ(power_calls(), 0U);
}

TEST_F(status_sync_test, an_unreadable_cloud_ends_the_pass_without_a_word) {
  w.cloud->fail(operation::pull_resources, failure(error_code::throttled));
  EXPECT_FALSE(sync.run());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(status_sync_test, refused_credentials_open_the_circuit) {
  w.cloud->fail(operation::pull_resources, failure(error_code::auth));
  EXPECT_FALSE(sync.run());
  EXPECT_TRUE(w.offering->breaker().is_open());
}

TEST_F(status_sync_test, a_resource_an_order_works_on_is_left_to_the_order) {
  make(1).paused = true;
  const auto lock = w.locks.try_lock(uuid_of(1));
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(power_calls(), 0U);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(status_sync_test, what_changed_since_the_list_is_seen_before_anything_is_done) {
  make(1).paused = true;
  w.waldur.before("get_resource", [this] { make(1, "Terminating"); });
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(power_calls(), 0U);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(status_sync_test, a_failed_stop_errs_nothing) {
  make(1).paused = true;
  w.cloud->fail(operation::pause, failure(error_code::transient));
  EXPECT_TRUE(sync.run());
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
  EXPECT_THAT(w.waldur.writes("refresh_last_sync"), IsEmpty());
}

TEST_F(status_sync_test, a_missing_permission_is_said_once) {
  std::vector<std::string> lines;
  w.waldur.always_fail("set_resource_ok", http_failure(403));
  make(1, "Erred");
  observe::capture_logs_for_test(&lines);
  EXPECT_TRUE(sync.run());
  EXPECT_TRUE(sync.run());
  observe::capture_logs_for_test(nullptr);
  std::erase_if(lines, [](const std::string& l) { return l.find("not recorded") == l.npos; });
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(status_sync_test, f21_what_waldur_forbids_is_not_tried_every_pass) {
  row.set("presence", "absent");
  w.waldur.always_fail("set_resource_erred", http_failure(403));
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(sync.run());
    w.clock.advance(std::chrono::minutes(5));
  }
  EXPECT_EQ(w.waldur.writes("set_resource_erred").size(), 1U);
  w.waldur.heal("set_resource_erred");
  w.clock.advance(std::chrono::hours(1));
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.waldur.resource_of(1).state, "Erred");
}

TEST_F(status_sync_test, policy_waldurs_own_failures_err_nothing) {
  row.set("metadata", json::object({{"size", "large"}}));
  row.set("limits", json::object({{"cpu", 2}}));
  for (const int status : {400, 403, 404, 409, 429, 500, 503}) {
    for (const char* call : {"set_backend_metadata", "set_limits", "refresh_last_sync"}) {
      w.waldur.always_fail(call, http_failure(status));
    }
    EXPECT_TRUE(sync.run());
  }
  EXPECT_THAT(w.waldur.writes("set_resource_erred"), IsEmpty());
}

TEST_F(status_sync_test, one_bad_resource_does_not_stop_the_others) {
  make(2).backend_metadata = json::object();
  w.cloud->on(operation::pull_resources, [this](const auto&, const auto&) {
    json other = row;
    other.set("uuid", uuid_of(2).hex());
    return fake_cloud::emitted(std::vector{row, other});
  });
  row.set("metadata", json::object({{"size", "large"}}));
  w.waldur.fail("get_resource", http_failure(503));
  EXPECT_TRUE(sync.run());
  EXPECT_EQ(w.waldur.writes("set_backend_metadata").size(), 1U);
}

TEST_F(status_sync_test, without_machines_the_cloud_is_not_asked) {
  w.waldur.add_resource(1, "OK").backend_id = "  ";
  EXPECT_TRUE(sync.run());
  EXPECT_THAT(w.cloud->calls(), IsEmpty());
}

} // namespace

} // namespace siteagent::agent::test
