// SPDX-License-Identifier: MIT
// Allocated time out of events and the present: pure, no Azure.
#include "plugins/azure/activity_log.hpp"
#include "plugins/azure/allocation_time.hpp"
#include "plugins/azure/metering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace siteagent::azure {

namespace {

using base::json;
using kind = machine_event::kind;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;

base::wall_time at(const char* text) {
  return *base::parse_rfc3339(text);
}

// November 2026 in UTC, looked at on its 21st.
struct november {
  machine_life life{at("2026-11-01T12:00:00Z"), true, "b1s", {}, {}};
  time_window window{at("2026-11-01T00:00:00Z"), at("2026-12-01T00:00:00Z")};
  observation seen{at("2026-08-24T00:00:00Z"), at("2026-11-21T00:00:00Z")};

  void event(const char* time, kind what, const char* size = "") {
    life.events.push_back({at(time), what, size});
  }

  base::result<time_by_size> time() const { return allocated_time(life, window, seen); }

  long hours_of(const std::string& size = "b1s") const {
    const auto all = time();
    EXPECT_TRUE(all) << (all ? "" : all.error().message);
    const auto it = all ? all->find(size) : time_by_size::const_iterator();
    return all && it != all->end() ? std::chrono::duration_cast<hours>(it->second).count() : 0;
  }

  std::string refusal() const {
    const auto all = time();
    return all ? "measured" : all.error().message;
  }
};

TEST(allocated_time, runs_from_the_creation_until_now) {
  const november n;
  EXPECT_EQ(n.hours_of(), 19 * 24 + 12);
}

TEST(allocated_time, leaves_out_the_time_between_deallocation_and_start) {
  november n;
  n.event("2026-11-10T18:00:00Z", kind::allocated);
  n.event("2026-11-10T06:00:00Z", kind::released);
  EXPECT_EQ(n.hours_of(), 19 * 24) << "whatever the order of the log";
}

TEST(allocated_time, is_none_for_a_machine_deallocated_all_month) {
  november n;
  n.life.created = at("2026-09-01T00:00:00Z");
  n.life.allocated = false;
  n.event("2026-10-31T23:59:59Z", kind::released);
  ASSERT_TRUE(n.time());
  EXPECT_TRUE(n.time()->empty());
}

TEST(allocated_time, ends_with_the_month) {
  november n;
  n.seen.now = at("2026-12-20T00:00:00Z");
  EXPECT_EQ(n.hours_of(), 29 * 24 + 12);
  n.window = {at("2026-12-01T00:00:00Z"), at("2027-01-01T00:00:00Z")};
  EXPECT_EQ(n.hours_of(), 19 * 24);
}

TEST(allocated_time, takes_each_size_for_its_own_time) {
  november n;
  n.life.size = "b2s";
  n.event("2026-11-01T12:00:00Z", kind::written, "b1s");
  n.event("2026-11-11T12:00:00Z", kind::written, "b2s");
  n.event("2026-11-12T12:00:00Z", kind::written, ""); // tags: the size is not told
  EXPECT_EQ(n.hours_of("b1s"), 240);
  EXPECT_EQ(n.hours_of("b2s"), 9 * 24 + 12);
}

TEST(allocated_time, of_a_machine_older_than_the_log_follows_from_its_first_event) {
  november n;
  n.life.created = at("2025-01-01T00:00:00Z");
  EXPECT_EQ(n.hours_of(), 20 * 24) << "no event: as it is now";
  n.event("2026-11-11T00:00:00Z", kind::allocated);
  EXPECT_EQ(n.hours_of(), 10 * 24) << "it was off before it was started";
  n.life.events = {{at("2026-11-11T00:00:00Z"), kind::released}};
  n.life.allocated = false;
  EXPECT_EQ(n.hours_of(), 10 * 24) << "it was on before it was released";
}

TEST(allocated_time, counts_a_repeated_start_or_deallocation_once) {
  november n;
  n.event("2026-11-02T12:00:00Z", kind::released);
  n.event("2026-11-03T12:00:00Z", kind::released);
  n.event("2026-11-04T12:00:00Z", kind::allocated);
  n.event("2026-11-05T12:00:00Z", kind::allocated);
  EXPECT_EQ(n.hours_of(), 24 + 16 * 24 + 12);
}

TEST(allocated_time, ignores_an_older_machine_of_the_same_name) {
  november n;
  n.event("2026-11-01T01:00:00Z", kind::written, "f16s");
  n.event("2026-11-01T02:00:00Z", kind::released);
  EXPECT_EQ(n.hours_of(), 19 * 24 + 12);
}

TEST(allocated_time, knows_the_write_that_made_the_machine_though_it_is_logged_a_little_early) {
  november n;
  n.life.size = "b2s";
  n.event("2026-11-01T11:59:30Z", kind::written, "b1s");
  n.event("2026-11-11T12:00:00Z", kind::written, "b2s");
  EXPECT_EQ(n.hours_of("b1s"), 240);
}

TEST(allocated_time, takes_an_event_of_a_clock_that_is_a_little_ahead) {
  november n;
  n.life.allocated = false;
  n.event("2026-11-21T00:00:03Z", kind::released);
  EXPECT_EQ(n.hours_of(), 19 * 24 + 12);
  n.life.events.clear();
  n.life.allocated = true;
  n.event("2026-11-21T00:00:30Z", kind::released); // after the look at the machine
  EXPECT_EQ(n.hours_of(), 19 * 24 + 12);
}

TEST(allocated_time, is_not_told_beyond_the_log) {
  november n;
  n.life.created = at("2026-01-01T00:00:00Z");
  n.window = {at("2026-08-01T00:00:00Z"), at("2026-09-01T00:00:00Z")};
  EXPECT_THAT(n.refusal(), HasSubstr("goes back to 2026-08-24"));
  n.life.created = at("2026-08-30T00:00:00Z");
  EXPECT_EQ(n.hours_of(), 48) << "all that happened to it is in the log";
  n.life.created = at("2026-09-02T00:00:00Z");
  EXPECT_THAT(n.refusal(), HasSubstr("did not exist"));
}

TEST(allocated_time, waits_for_an_event_that_is_late) {
  november n;
  n.life.allocated = false;
  n.life.changed = at("2026-11-20T23:30:00Z");
  EXPECT_THAT(n.refusal(), HasSubstr("does not show yet"));
  n.seen.now = at("2026-11-21T01:00:00Z");
  EXPECT_EQ(n.hours_of(), 19 * 24 + 11) << "an hour later the machine's own word is taken";
  n.event("2026-11-20T22:30:00Z", kind::released);
  EXPECT_EQ(n.hours_of(), 19 * 24 + 10) << "the log's word is better";
}

TEST(allocated_time, never_counts_what_neither_log_nor_machine_explain) {
  november n;
  n.life.allocated = false;
  EXPECT_THAT(n.refusal(), HasSubstr("does not show yet"));
  n.event("2026-11-10T00:00:00Z", kind::released);
  n.event("2026-11-11T00:00:00Z", kind::allocated);
  n.life.changed = at("2026-11-10T00:00:00Z"); // older than what the log tells
  EXPECT_THAT(n.refusal(), HasSubstr("does not show yet"));
  n.life.allocated = std::nullopt; // on its way between two states
  EXPECT_EQ(n.hours_of(), 18 * 24 + 12);
}

TEST(allocated_time, of_a_size_the_log_does_not_know_waits_too) {
  november n;
  n.event("2026-11-01T12:00:00Z", kind::written, "b1s");
  n.life.size = "b2s";
  EXPECT_THAT(n.refusal(), HasSubstr("does not show yet"));
  n.life.changed = at("2026-11-20T12:00:00Z");
  EXPECT_EQ(n.hours_of("b2s"), 12);
}

// What happened to a machine, at random; events of all kinds, also redundant ones.
machine_life random_life(std::mt19937& random, const november& n) {
  machine_life life = n.life;
  const auto span = (n.seen.now - *life.created) / milliseconds(1);
  std::uniform_int_distribution<long> when(0, span);
  std::uniform_int_distribution<int> which(0, 3);
  for (int i = which(random) * 4; i > 0; --i) {
    const auto t = *life.created + milliseconds(when(random));
    const int w = which(random);
    life.events.push_back(
        {t,
         w == 0   ? kind::released
         : w == 1 ? kind::allocated
                  : kind::written,
         w == 2   ? "b1s"
         : w == 3 ? "b2s"
                  : ""}
    );
  }
  std::sort(life.events.begin(), life.events.end(), [](const auto& a, const auto& b) {
    return a.at < b.at;
  });
  for (const machine_event& e : life.events) { // so that the present agrees
    life.allocated = e.what == kind::written ? life.allocated : e.what == kind::allocated;
    life.size = e.size.empty() ? life.size : e.size;
  }
  return life;
}

TEST(allocated_time, of_the_parts_of_a_period_sum_up_to_the_whole) {
  std::mt19937 random(20261121); // the same cases in every run
  for (int round = 0; round < 300; ++round) {
    november n;
    n.life = random_life(random, n);
    const auto whole = n.time();
    ASSERT_TRUE(whole) << whole.error().message;
    std::vector<base::wall_time> cuts{n.window.from, n.window.to};
    std::uniform_int_distribution<long> when(0, (n.window.to - n.window.from) / milliseconds(1));
    for (int i = round % 7; i > 0; --i) {
      cuts.push_back(n.window.from + milliseconds(when(random)));
    }
    std::sort(cuts.begin(), cuts.end());
    time_by_size sum;
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      n.window = {cuts[i - 1], cuts[i]};
      if (cuts[i] <= *n.life.created) {
        continue; // it did not exist yet
      }
      const auto part = n.time();
      ASSERT_TRUE(part) << part.error().message;
      for (const auto& [size, time] : *part) {
        sum[size] += time;
      }
    }
    EXPECT_EQ(sum, *whole) << "round " << round;
  }
}

TEST(allocated_time, never_shrinks_as_time_goes_on) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    november n;
    n.life = random_life(random, n);
    n.life.allocated = std::nullopt; // of moments that have passed nobody tells
    milliseconds before{0};
    const auto now = n.seen.now;
    const std::string size = n.life.size;
    for (auto t = *n.life.created; t <= now; t += hours(7)) {
      n.seen.now = t;
      n.life.size = "";
      const auto all = n.time();
      ASSERT_TRUE(all);
      milliseconds sum{0};
      for (const auto& [s, time] : *all) {
        sum += time;
      }
      EXPECT_GE(sum, before);
      before = sum;
    }
  }
}

json event(const char* action, const char* status, const char* operation = "1") {
  return json::object(
      {{"eventDataId", std::string(action) + status + operation},
       {"eventTimestamp", "2026-11-10T06:00:00.2533112Z"},
       {"operationId", operation},
       {"operationName",
        json::object({{"value", std::string("Microsoft.Compute/virtualMachines/") + action}})},
       {"status", json::object({{"value", status}})},
       {"resourceId", "/SUBSCRIPTIONS/s/resourceGroups/G/providers/x/virtualMachines/VM"}}
  );
}

struct record_case {
  const char* action;
  std::vector<const char*> statuses;
  std::size_t events;
};

TEST(activity_log, counts_what_ended_well_once) {
  const std::vector<record_case> cases{
      {"start/action", {"Started", "Accepted", "Succeeded"}, 1},
      {"START/action", {"succeeded", "Succeeded"}, 2},
      {"deallocate/action", {"Started", "Accepted"}, 0},
      {"deallocate/action", {"Accepted", "Failed"}, 0},
      {"deallocate/action", {"Accepted", "Canceled"}, 0},
      {"delete", {"Accepted", "Succeeded"}, 1},
      {"evictSpotVM/action", {"Succeeded"}, 1},
      {"powerOff/action", {"Succeeded"}, 0},
      {"restart/action", {"Succeeded"}, 0},
      {"extensions/write", {"Succeeded"}, 0},
      {"write", {"Accepted", "Succeeded"}, 0},
  };
  for (const record_case& c : cases) {
    activity_log log;
    for (const char* status : c.statuses) {
      log.add(event(c.action, status));
      log.add(event(c.action, status)); // read again
    }
    const auto events =
        log.events("/subscriptions/s/resourcegroups/g/providers/x/virtualmachines/vm");
    EXPECT_EQ(events.size(), c.events) << c.action << ' ' << c.statuses.back();
  }
}

TEST(activity_log, takes_sizes_of_writes_that_did_not_fail) {
  json good = event("write", "Accepted", "1");
  good.set(
      "properties",
      json::object(
          {{"responseBody", R"({"properties":{"hardwareProfile":{"vmSize":"Standard_B2s"}}})"}}
      )
  );
  json bad = good;
  bad.set("operationId", "2").set("eventDataId", "other");
  activity_log log;
  log.add(good);
  log.add(bad);
  log.add(event("write", "Failed", "2"));
  log.add(json::object({{"operationName", "no object"}}));
  const auto events =
      log.events("/subscriptions/s/resourcegroups/g/providers/x/virtualmachines/vm");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].size, "standard_b2s");
  log.forget_before(at("2026-11-11T00:00:00Z"));
  EXPECT_TRUE(log.events("/subscriptions/s/resourcegroups/g/providers/x/virtualmachines/vm").empty()
  );
}

TEST(azure_metering, hours_are_amounts_times_time_in_the_components_units) {
  const std::vector<held> times{
      {{2, 4096, 30 * 1024}, hours(10)}, {{4, 8192, 30 * 1024}, std::chrono::minutes(30)}};
  const auto totals = [&](const char* components) {
    const auto out = hours_of(times, *json::parse(components));
    return out ? out->dump() : "unknown";
  };
  EXPECT_EQ(
      totals(R"({"cpu":{"metering":"hours"},"gpu":{"metering":"hours"}})"), R"({"cpu":"22"})"
  );
  EXPECT_EQ(
      totals(R"({"ram":{"metering":"hours","unit_factor":1024},"cpu":{"metering":"snapshot"}})"),
      R"({"ram":"44"})"
  );
  EXPECT_EQ(
      totals(R"({"ram":{"metering":"hours","unit_factor":1,"unit_factor_reporting":"4096"}})"),
      R"({"ram":"11"})"
  );
  EXPECT_EQ(
      totals(R"({"cpu":{"metering":"hours","unit_factor":3}})"), R"({"cpu":"7.333333333333"})"
  );
  EXPECT_EQ(
      hours_of({}, *json::parse(R"({"cpu":{"metering":"hours"}})"))->dump(), R"({"cpu":"0"})"
  );
  EXPECT_FALSE(hours_of({{{1, 1, {}}, hours(1)}}, *json::parse(R"({"disk":{"metering":"hours"}})"))
  );
}

} // namespace

} // namespace siteagent::azure
