// SPDX-License-Identifier: MIT
// The last usage of a machine, measured while it still can be.
#include "order_fixture.hpp"

#include "core/agent/usage_report.hpp"

#include <gmock/gmock.h>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class final_usage : public order_fixture {
protected:
  final_usage() {
    w.settings.reporting_periods = 1;
    renew();
    w.cloud->on(operation::report_usage, [this](const host::call_request& r, const auto& options) {
      deadline = options.deadline;
      std::vector<json> rows;
      for (const json& asked : r.body["resources"].items()) {
        json row =
            json::object({{"uuid", asked["uuid"]}, {"measured", w.cloud->has_machine(resource)}});
        row.set("total", json::object({{"cpu", "7.5"}}));
        rows.push_back(std::move(row));
      }
      return fake_cloud::emitted(rows);
    });
  }

  void renew(config::offering c = make_offering()) {
    w.renew_offering(std::move(c));
    inputs.info = *w.offering->info(w.waldur);
    restart();
  }

  void terminating(const char* backend_id = "/vm/1") {
    given("Terminate", "executing").backend_id = backend_id;
    w.cloud->put_machine(resource);
  }

  std::vector<std::string> booked() { return w.waldur.writes("set_usage"); }

  std::chrono::milliseconds deadline{0};
};

TEST_F(final_usage, is_booked_before_the_machine_is_deleted) {
  terminating();
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_FALSE(w.cloud->has_machine(resource));
  EXPECT_THAT(booked(), ElementsAre(HasSubstr(resource_hex())));
  EXPECT_THAT(booked(), ElementsAre(HasSubstr("cpu=7.50")));
  const auto calls = w.cloud->calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].op, operation::report_usage);
  EXPECT_EQ(calls[1].op, operation::delete_resource);
  EXPECT_LE(deadline, final_measurement) << "a deletion does not wait long";
}

TEST_F(final_usage, never_holds_the_deletion) {
  terminating();
  w.cloud->fail(operation::report_usage, failure(error_code::transient));
  w.waldur.always_fail("set_usage", http_failure(500));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
  EXPECT_THAT(booked(), IsEmpty());
}

TEST_F(final_usage, that_waldur_refuses_does_not_either) {
  terminating();
  w.waldur.always_fail("set_usage", http_failure(400));
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(w.waldur.state_of(order), "done");
}

TEST_F(final_usage, is_asked_for_once_however_often_the_deletion_is_tried) {
  terminating();
  w.cloud->fail(operation::delete_resource, failure(error_code::transient), 2);
  (void)look();
  (void)look();
  (void)look();
  EXPECT_EQ(called(operation::report_usage), 1U);
  EXPECT_EQ(called(operation::delete_resource), 3U);
}

TEST_F(final_usage, is_not_asked_for_without_a_machine) {
  terminating(" ");
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::report_usage), 0U);
}

TEST_F(final_usage, is_not_asked_for_without_a_reporting_backend) {
  terminating();
  config::offering c = make_offering();
  c.reporting_backend.clear();
  renew(c);
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::report_usage), 0U);
}

TEST_F(final_usage, closes_the_past_month_too) {
  w.settings.reporting_periods = 2;
  renew();
  terminating();
  EXPECT_EQ(look(), order_step::finished);
  EXPECT_EQ(called(operation::report_usage), 2U);
  EXPECT_EQ(booked().size(), 2U);
}

} // namespace

} // namespace siteagent::agent::test
