// SPDX-License-Identifier: MIT
// Busy, idle, reapable: the decision alone.
#include "core/fleet/cloud_host/reap.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace siteagent::fleet::test {

namespace {

using cloud_host::judge;

constexpr std::int64_t here = 1'800'000'000; // this machine's clock
constexpr std::int64_t minute = 60;

base::wall_time at(std::int64_t epoch) {
  return base::wall_time{std::chrono::seconds(epoch)};
}

struct row {
  const char* what;
  std::vector<const char*> runs = {}; // states
  int cargo = 0;
  int rustc = 0;
  std::optional<std::int64_t> changed_ago = {}; // by the host's clock; nullopt: no run area
  std::int64_t created_ago = 0;                 // by this machine's
  std::int64_t skew = 0;                        // host's clock minus this machine's
  const char* state = "";
  std::optional<std::int64_t> idle = {};
};

TEST(judge_host, T7_R51_R53_R55_R56_A12_A14_the_table_of_decisions) {
  const row rows[] = {
      // an idle limit of 30 minutes
      {.what = "no run ever came", .created_ago = 31 * minute, .state = "reapable", .idle = 1860},
      {.what = "exactly at the limit", .created_ago = 30 * minute, .state = "idle", .idle = 1800},
      {.what = "a second past it", .created_ago = 1801, .state = "reapable", .idle = 1801},
      {.what = "just created", .created_ago = 0, .state = "idle", .idle = 0},
      {.what = "created in the future", .created_ago = -50, .state = "idle", .idle = 0},
      {.what = "the area changed lately",
       .changed_ago = 5 * minute,
       .created_ago = 90 * minute,
       .state = "idle",
       .idle = 300},
      {.what = "the area changed long ago",
       .changed_ago = 45 * minute,
       .created_ago = 90 * minute,
       .state = "reapable",
       .idle = 2700},
      {.what = "clocks an hour apart cancel while runs tell",
       .changed_ago = 5 * minute,
       .created_ago = 90 * minute,
       .skew = 3 * 3600,
       .state = "idle",
       .idle = 300},
      {.what = "host behind, area younger than the host by its clock",
       .changed_ago = 45 * minute,
       .created_ago = 50 * minute,
       .skew = -3 * 3600,
       .state = "reapable",
       .idle = 2700},
      {.what = "changed in the host's future",
       .changed_ago = -90,
       .created_ago = 90 * minute,
       .state = "idle",
       .idle = 0},
      {.what = "an area baked into the image: since creation",
       .changed_ago = 86'400 * 30,
       .created_ago = 10 * minute,
       .state = "idle",
       .idle = 600},
      {.what = "no run and clocks too far apart",
       .created_ago = 90 * minute,
       .skew = 3601,
       .state = "unread"},
      {.what = "no run and clocks far apart the other way",
       .created_ago = 90 * minute,
       .skew = -3601,
       .state = "unread"},
      {.what = "no run and clocks an hour apart",
       .created_ago = 90 * minute,
       .skew = 3600,
       .state = "reapable",
       .idle = 5400},
      {.what = "a live run",
       .runs = {"live"},
       .changed_ago = 90 * minute,
       .created_ago = 99 * minute,
       .state = "busy"},
      {.what = "an unknown directory",
       .runs = {"unknown"},
       .changed_ago = 90 * minute,
       .state = "busy"},
      {.what = "a kept run", .runs = {"kept"}, .changed_ago = 90 * minute, .state = "busy"},
      {.what = "only dead runs",
       .runs = {"dead", "dead"},
       .changed_ago = 45 * minute,
       .created_ago = 90 * minute,
       .state = "reapable",
       .idle = 2700},
      {.what = "cargo runs", .cargo = 1, .created_ago = 90 * minute, .state = "busy"},
      {.what = "rustc runs", .rustc = 3, .created_ago = 90 * minute, .state = "busy"},
      {.what = "busy wins over clocks",
       .rustc = 1,
       .created_ago = 90 * minute,
       .skew = 7200,
       .state = "busy"},
  };
  for (const row& r : rows) {
    cloud_declaration cloud;
    cloud.idle_minutes = 30;
    cloud.created_at = base::to_rfc3339(at(here - r.created_ago));
    host_reading reading;
    reading.now = here + r.skew;
    if (r.changed_ago) {
      reading.changed = reading.now - *r.changed_ago;
    }
    for (const char* state : r.runs) {
      reading.runs.push_back({.name = "x", .state = state});
    }
    reading.cargo = r.cargo;
    reading.rustc = r.rustc;
    const auto j = judge(cloud, reading, at(here));
    EXPECT_EQ(j.state, r.state) << r.what;
    EXPECT_EQ(j.idle_seconds, r.idle) << r.what;
    EXPECT_EQ(j.cause.empty(), j.state == "idle" || j.state == "reapable") << r.what;
  }
}

TEST(judge_host, A36_a_first_boot_is_work_for_as_long_as_one_may_take) {
  cloud_declaration cloud;
  cloud.idle_minutes = 1;
  cloud.created_at = base::to_rfc3339(at(here - 20 * minute));
  host_reading reading;
  reading.now = here;
  reading.is_booting = true;
  EXPECT_EQ(judge(cloud, reading, at(here)).state, "busy");
  EXPECT_EQ(judge(cloud, reading, at(here), std::chrono::minutes(19)).state, "reapable");
}

TEST(judge_host, R53_a_time_of_creation_that_is_none_is_never_guessed) {
  cloud_declaration cloud;
  cloud.idle_minutes = 1;
  host_reading reading;
  reading.now = here;
  EXPECT_EQ(judge(cloud, reading, at(here)).state, "unread");
}

// Somebody's slip in the registry must not cost a host.
TEST(judge_host, R56_a_limit_that_is_none_is_never_past) {
  struct limit {
    std::int64_t minutes;
    const char* state;
  };

  cloud_declaration cloud;
  cloud.created_at = base::to_rfc3339(at(here - 90 * minute));
  host_reading reading;
  reading.now = here;
  for (const limit& l : {
           limit{0, "unread"},
           limit{-1, "unread"},
           limit{std::numeric_limits<std::int64_t>::min(), "unread"},
           limit{std::numeric_limits<std::int64_t>::max(), "idle"},
           limit{std::numeric_limits<std::int64_t>::max() / 59, "idle"},
           limit{90, "idle"},
           limit{89, "reapable"},
       }) {
    cloud.idle_minutes = l.minutes;
    EXPECT_EQ(judge(cloud, reading, at(here)).state, l.state) << l.minutes;
  }
}

} // namespace

} // namespace siteagent::fleet::test
