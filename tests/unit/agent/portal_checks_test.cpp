// SPDX-License-Identifier: MIT
// The Waldur side of diagnose: what is judged how, and what the operator is told to do.
#include "core/app/portal_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::app {

namespace {

using base::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* offering_hex = "e2ef0000000000000000000000000201";
constexpr const char* customer_hex = "e2ef0000000000000000000000000101";

json parse(const std::string& text) {
  auto j = json::parse(text);
  EXPECT_TRUE(j) << text;
  return j ? *j : json();
}

class portal_checks : public ::testing::Test {
protected:
  portal_checks() {
    offering.name = "VM";
    offering.uuid = *base::uuid::parse(offering_hex);
    offering.membership_sync_backend = "some";
    config::component cpu;
    cpu.type = "cpu";
    cpu.accounting_type = "limit";
    offering.components.push_back(cpu);
    seen.name = "Virtual machines";
    seen.type = "Marketplace.Slurm";
    seen.state = "Active";
    seen.customer = *base::uuid::parse(customer_hex);
    waldur::offering_component c;
    c.type = "cpu";
    c.billing_type = "limit";
    seen.components.push_back(c);
  }

  template <class Work>
  std::string printed(const Work& work) {
    check_report report(false);
    ::testing::internal::CaptureStdout();
    work(report);
    fine = report.finish(true);
    return ::testing::internal::GetCapturedStdout();
  }

  std::string offering_lines() {
    return printed([&](check_report& r) { check_offering(offering, seen, r); });
  }

  std::string role_line(const std::string& user, bool is_offering_read = true) {
    const base::wall_time now = *base::parse_rfc3339("2026-11-29T12:00:00Z");
    return printed([&](check_report& r) {
      check_role(offering, parse(user), is_offering_read ? &seen : nullptr, now, r);
    });
  }

  std::string form_lines(const std::string& form, const std::string& options) {
    return printed([&](check_report& r) {
      check_order_form(parse(form), parse(options).items(), r);
    });
  }

  config::offering offering;
  waldur::offering seen;
  bool fine = true;
};

TEST_F(portal_checks, are_content_with_an_active_offering_whose_components_agree) {
  const std::string text = offering_lines();
  EXPECT_TRUE(fine) << text;
  EXPECT_THAT(text, HasSubstr("ok      component cpu: billed limit"));
  EXPECT_THAT(text, HasSubstr("Virtual machines, type Marketplace.Slurm, state Active"));
  EXPECT_THAT(text, HasSubstr("supports_pausing: not set"));
}

TEST_F(portal_checks, refuse_an_offering_whose_orders_no_agent_can_complete) {
  seen.type = "Marketplace.Basic";
  EXPECT_THAT(offering_lines(), HasSubstr("FAILED  offering in Waldur"));
  EXPECT_FALSE(fine);
}

TEST_F(portal_checks, tell_paused_from_not_orderable) {
  seen.state = "Paused";
  EXPECT_THAT(offering_lines(), HasSubstr("takes no new orders"));
  EXPECT_TRUE(fine);
  seen.state = "Draft";
  EXPECT_THAT(offering_lines(), HasSubstr("activate it in Waldur"));
  EXPECT_FALSE(fine);
}

TEST_F(portal_checks, want_components_known_and_billed_as_configured) {
  seen.components[0].billing_type = "fixed";
  EXPECT_THAT(offering_lines(), HasSubstr("billed fixed in Waldur, accounting_type limit"));
  EXPECT_FALSE(fine);
  seen.components.clear();
  EXPECT_THAT(offering_lines(), HasSubstr("FAILED  component cpu: not in Waldur"));
}

TEST_F(portal_checks, want_a_plugin_behind_pausing_that_is_offered) {
  seen.plugin_options = parse(R"({"supports_pausing": true})");
  EXPECT_THAT(offering_lines(), HasSubstr("ok      supports_pausing: set: staff can pause"));
  offering.membership_sync_backend.clear();
  EXPECT_THAT(offering_lines(), HasSubstr("FAILED  supports_pausing"));
  EXPECT_FALSE(fine);
}

struct role_case {
  const char* name;
  const char* user;
  bool is_offering_read;
  bool fine;
  const char* says;
};

class role_of : public portal_checks, public ::testing::WithParamInterface<role_case> {};

TEST_P(role_of, decides_whether_orders_can_be_carried_out) {
  const std::string text = role_line(GetParam().user, GetParam().is_offering_read);
  EXPECT_EQ(fine, GetParam().fine) << text;
  EXPECT_THAT(text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    users,
    role_of,
    ::testing::Values(
        role_case{"staff", R"({"is_staff": true})", false, true, "staff"},
        role_case{
            "manager",
            R"({"permissions": [{"role_name": "OFFERING.MANAGER",
                "scope_uuid": "e2ef0000-0000-0000-0000-000000000201"}]})",
            true,
            true,
            "OFFERING.MANAGER"},
        role_case{
            "owner",
            R"({"permissions": [{"role_name": "CUSTOMER.OWNER",
                "scope_uuid": "e2ef0000000000000000000000000101"}]})",
            true,
            true,
            "CUSTOMER.OWNER"},
        role_case{
            "manager_of_another",
            R"({"username": "agent", "permissions": [{"role_name": "OFFERING.MANAGER",
                "scope_uuid": "e2ef0000000000000000000000000202"}]})",
            true,
            false,
            "give user agent the role OFFERING.MANAGER"},
        role_case{
            "expired",
            R"({"permissions": [{"role_name": "OFFERING.MANAGER",
                "scope_uuid": "e2ef0000000000000000000000000201",
                "expiration_time": "2026-11-29T11:59:00Z"}]})",
            true,
            false,
            "ended at 2026-11-29T11:59:00Z"},
        role_case{
            "until",
            R"({"permissions": [{"role_name": "OFFERING.MANAGER",
                "scope_uuid": "e2ef0000000000000000000000000201",
                "expiration_time": "2027-01-01T00:00:00Z"}]})",
            true,
            true,
            "until 2027-01-01"},
        role_case{"hidden", R"({"permissions": []})", true, true, "roles are not shown"},
        role_case{"trimmed", R"({"permissions": [{"role_name": "x"}]})", true, true, "not shown"},
        role_case{"nothing", R"({"permissions": []})", false, false, "no role on the offering"}
    ),
    [](const auto& c) { return c.param.name; }
);

constexpr const char* plugin_options = R"([
  {"name": "size", "type": "select_string", "required": false, "default": "small",
   "left_out": [{"choice": "huge", "reason": "no quota"}]},
  {"name": "key", "type": "text", "required": true, "instead": ["key_id"]},
  {"name": "extra", "type": "text", "required": false}])";

TEST_F(portal_checks, name_the_choices_of_the_form_that_cannot_be_ordered) {
  const std::string text = form_lines(
      R"({"options": {"size": {"type": "select_string", "choices": ["small", "huge"]},
                      "key": {"type": "text"}}})",
      plugin_options
  );
  EXPECT_THAT(text, HasSubstr("FAILED  order option size: 1 of 2 choices"));
  EXPECT_THAT(text, HasSubstr("huge (no quota)"));
  EXPECT_THAT(text, HasSubstr("ok      order option key"));
  EXPECT_THAT(text, Not(HasSubstr("extra"))) << "nobody needs it";
  EXPECT_FALSE(fine);
}

TEST_F(portal_checks, miss_only_options_without_which_orders_are_refused) {
  const std::string text = form_lines("{}", plugin_options);
  EXPECT_THAT(
      text, HasSubstr("ok      order option size: not in the order form; orders get small")
  );
  EXPECT_THAT(text, HasSubstr("FAILED  order option key: not in the order form"));
  EXPECT_THAT(text, HasSubstr("offering-options"));
}

TEST_F(portal_checks, take_another_option_that_serves_as_well) {
  const std::string text =
      form_lines(R"({"options": {"key_id": {"type": "string"}}})", plugin_options);
  EXPECT_THAT(text, HasSubstr("ok      order option key: another option"));
  EXPECT_TRUE(fine);
}

TEST_F(portal_checks, miss_the_choices_of_a_select_option_without_any) {
  form_lines(R"({"options": {"size": {"type": "select_string", "choices": []}}})", "[]");
  EXPECT_TRUE(fine);
  const std::string text = form_lines(
      R"({"options": {"size": {"type": "select_string", "choices": []}, "key_id": {}}})",
      plugin_options
  );
  EXPECT_THAT(text, HasSubstr("FAILED  order option size: has no choices"));
}

TEST(choices_of_form, are_those_of_its_select_options) {
  EXPECT_EQ(
      choices_of_form(parse(R"({"order": ["size"], "options": {
          "size": {"type": "select_string", "choices": ["a", "b"]}, "key": {"type": "text"}}})")),
      parse(R"({"size": ["a", "b"]})")
  );
}

TEST(check_report, is_one_document_when_programs_read_it) {
  config::offering offering;
  offering.name = "VM";
  offering.uuid = *base::uuid::parse(offering_hex);
  check_report report(true);
  ::testing::internal::CaptureStdout();
  report.begin(offering);
  report.ok("one", "fine");
  report.failed("two", "not fine");
  report.begin(offering);
  report.ok("three", "");
  EXPECT_FALSE(report.finish(true));
  const json printed = parse(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(printed["ok"], json(false));
  EXPECT_EQ(printed["offerings"][0]["ok"], json(false));
  EXPECT_EQ(printed["offerings"][0]["checks"][1]["detail"], json("not fine"));
  EXPECT_EQ(printed["offerings"][1]["ok"], json(true));
}

} // namespace

} // namespace siteagent::app
