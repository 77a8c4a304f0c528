// SPDX-License-Identifier: MIT
// Usage on whole sites: hours out of the activity log, the last usage of a machine, past months.
#include "core/base/clock.hpp"
#include "core/base/decimal.hpp"
#include "tests/integration/seed.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace siteagent::integration {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

double as_hours(base::wall_time::duration time) {
  return std::chrono::duration<double, std::ratio<3600>>(time).count();
}

base::month next_of(base::month m) {
  return m.number == 12 ? base::month{m.year + 1, 1} : base::month{m.year, m.number + 1};
}

// One machine of one core whose cpu is metered in hours. Azure's clock is moved; the agent's own
// is today's, and so is the month that is reported.
struct metered_site {
  metered_site() : m(), started(azure_now()) {
    std::string yaml = m.s.default_offering_yaml("Azure VM", offering_uuid);
    const std::string cpu = "cpu: {measured_unit: Cores, unit_factor: 1, accounting_type: limit,";
    yaml.replace(
        yaml.find(cpu),
        cpu.size(),
        "cpu: {measured_unit: core-hours, accounting_type: usage, metering: hours,"
    );
    yaml.replace(yaml.find("      ram: {"), std::string::npos, "");
    m.s.write_config(yaml);
  }

  base::wall_time azure_now() const { return std::chrono::system_clock::now() + moved; }

  void advance(hours by) {
    m.s.azure().advance_clock(static_cast<int>(seconds(by).count()));
    moved += by;
  }

  // From then until now the machine was allocated: what of it lies in this month counts.
  void was_allocated_since(base::wall_time from) {
    const base::time_zone utc;
    const base::month month = utc.month_of(std::chrono::system_clock::now());
    const auto begin = std::max(from, utc.start_of(month));
    const auto end = std::min(azure_now(), utc.start_of(next_of(month)));
    expected += std::max(end - begin, base::wall_time::duration(0));
  }

  void expect_booked() const {
    const auto usage = usage_of(m.s, m.order);
    const auto it = usage.find("cpu");
    const double booked = it == usage.end() ? -1 : std::strtod(it->second.c_str(), nullptr);
    // The steps of the test take their own, real time.
    EXPECT_NEAR(booked, as_hours(expected), 0.03);
  }

  std::string report() const {
    const agent_run run = m.s.run_agent("report");
    EXPECT_EQ(run.exit_code, 0) << run.log;
    return run.log;
  }

  one_machine m;
  seconds moved{0};
  base::wall_time started;
  base::wall_time::duration expected{0};
};

TEST(usage_hours, are_exact_over_a_pause_by_every_new_agent) {
  metered_site t;
  t.advance(hours(10));
  t.m.s.set_paused(t.m.s.resource_of(t.m.order), true);
  t.m.s.run_agent("membership_sync");
  t.was_allocated_since(t.started);
  t.advance(hours(5));
  t.report();
  t.expect_booked();
  t.m.s.set_paused(t.m.s.resource_of(t.m.order), false);
  t.m.s.run_agent("membership_sync");
  const auto restored = t.azure_now();
  t.advance(hours(3));
  t.report();
  t.was_allocated_since(restored);
  t.expect_booked();
}

TEST(usage_hours, end_with_the_month) {
  metered_site t;
  t.advance(hours(24 * 40));
  t.was_allocated_since(t.started);
  t.report();
  t.expect_booked();
}

TEST(usage_hours, that_did_not_change_are_not_booked_again) {
  metered_site t;
  t.advance(hours(24 * 40)); // past the month's end nothing grows
  t.report();
  const auto before = t.m.s.waldur().writes().size();
  const auto sent = [&] {
    std::size_t n = 0;
    for (const journal_line& l : t.m.s.waldur().writes()) {
      n += l.path.find("set_usage") != std::string::npos ? 1 : 0;
    }
    return n;
  };
  const std::size_t once = sent();
  t.report();
  EXPECT_EQ(sent(), once);
  EXPECT_GE(t.m.s.waldur().writes().size(), before);
}

TEST(usage_hours, that_are_lower_than_booked_are_an_anomaly_and_not_booked) {
  metered_site t;
  const http_answer booked = call(
      "POST",
      t.m.s.waldur().url() + "/api/marketplace-component-usages/set_usage/",
      json::object(
          {{"resource", t.m.s.resource_of(t.m.order)},
           {"usages", json::array({json::object({{"type", "cpu"}, {"amount", "310.00"}})})}}
      ),
      staff_token
  );
  ASSERT_EQ(booked.status, 201);
  const std::string log = t.report();
  EXPECT_EQ(usage_of(t.m.s, t.m.order).at("cpu"), "310.00");
  EXPECT_THAT(log, AllOf(HasSubstr("\"error\""), HasSubstr("lower than what is booked")));
}

TEST(final_usage, is_booked_before_the_machine_is_deleted) {
  metered_site t;
  t.advance(hours(2));
  t.was_allocated_since(t.started);
  const std::string end = t.m.s.terminate(t.m.s.resource_of(t.m.order));
  const agent_run run = t.m.s.run_agent();
  EXPECT_EQ(t.m.s.order_state(end), "done") << run.log;
  EXPECT_EQ(t.m.s.machine_count(), 0U);
  t.expect_booked();
}

TEST(final_usage, that_cannot_be_measured_does_not_hold_the_deletion) {
  metered_site t;
  t.m.s.azure().set_faults(
      json::parse(
          R"({"r":[{"match":{"method":"GET","path":"eventtypes","times":0},"do":{"status":403,"body":{"error":{"code":"AuthorizationFailed","message":"no"}}}}]})"
      )
          ->at({"r"})
  );
  const std::string end = t.m.s.terminate(t.m.s.resource_of(t.m.order));
  const agent_run run = t.m.s.run_agent();
  EXPECT_EQ(t.m.s.order_state(end), "done") << run.log;
  EXPECT_EQ(t.m.s.machine_count(), 0U);
  EXPECT_THAT(usage_of(t.m.s, t.m.order), IsEmpty());
  EXPECT_THAT(run.log, HasSubstr("final usage"));
}

// This month, as days for the command.
std::vector<std::string> this_month(std::vector<std::string> more) {
  const std::string month = base::to_rfc3339(std::chrono::system_clock::now()).substr(0, 8);
  std::vector<std::string> words{"load-historical-usage", "-o", std::string(offering_uuid)};
  words.insert(words.end(), {"-s", month + "01", "-e", month + "02"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(usage_history, is_told_first_and_booked_then) {
  const one_machine m;
  const std::string staff(staff_token);
  const agent_run dry = m.s.run_command(this_month({"-t", staff, "--dry-run"}));
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(
      dry.log,
      AllOf(
          HasSubstr("would be booked"),
          HasSubstr("cpu: - -> 1.00"),
          HasSubstr("nothing was written")
      )
  );
  EXPECT_THAT(usage_of(m.s, m.order), IsEmpty());
  const agent_run real = m.s.run_command(this_month({"-t", staff}));
  EXPECT_EQ(real.exit_code, 0) << real.errors;
  EXPECT_EQ(usage_of(m.s, m.order).at("cpu"), "1.00");
  EXPECT_THAT(real.log + real.errors, Not(HasSubstr(staff)));
  EXPECT_THAT(m.s.run_command(this_month({"-t", staff})).log, HasSubstr("1 unchanged"));
}

TEST(usage_history, needs_somebody_of_staff) {
  const one_machine m;
  const std::string agent(agent_token);
  const agent_run refused = m.s.run_command(this_month({"-t", agent}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("not of staff"));
  EXPECT_THAT(usage_of(m.s, m.order), IsEmpty());
  const agent_run tried = m.s.run_command(this_month({"-t", agent, "--no-staff-check"}));
  EXPECT_EQ(tried.exit_code, 0) << tried.errors;
  EXPECT_EQ(usage_of(m.s, m.order).at("cpu"), "1.00");
}

TEST(usage_history, says_what_is_wrong_with_its_arguments) {
  const one_machine m;
  const std::string staff(staff_token);
  const std::string resource = m.s.resource(m.s.resource_of(m.order))["backend_id"].string_or("");
  EXPECT_EQ(
      m.s.run_command(this_month({"-t", staff, "--resource-backend-id", resource})).exit_code, 0
  );
  const agent_run unknown =
      m.s.run_command(this_month({"-t", staff, "--resource-backend-id", "/vm/other"}));
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("/vm/other"));
  const std::string offering(offering_uuid);
  const auto days = [&](const char* first, const char* last) {
    return m.s.run_command(
        {"load-historical-usage", "-o", offering, "-t", staff, "-s", first, "-e", last}
    );
  };
  EXPECT_EQ(days("2026-09", "2026-10-01").exit_code, 2);
  EXPECT_EQ(days("2026-10-01", "2026-09-01").exit_code, 1);
  EXPECT_EQ(m.s.run_command({"load-historical-usage", "-o", offering, "-t", staff}).exit_code, 2);
  write_file(m.s.dir().file("token"), staff + "\n");
  EXPECT_EQ(
      m.s.run_command(this_month({"-t", "file:" + m.s.dir().file("token"), "--dry-run"})).exit_code,
      0
  );
  EXPECT_EQ(m.s.run_command(this_month({"-t", "file:/no/such/token"})).exit_code, 1);
}

} // namespace
} // namespace siteagent::integration
