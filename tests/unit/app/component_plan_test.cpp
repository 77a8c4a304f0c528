// SPDX-License-Identifier: MIT
// load-components: which calls the file's components make.
#include "core/app/component_plan.hpp"

#include <gmock/gmock.h>

namespace siteagent::app {
namespace {

using action = component_change::action;
using base::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<config::component> components(const std::string& lines) {
  const auto config = config::parse(
      "offerings:\n"
      "  - name: Machines\n"
      "    waldur_api_url: https://waldur.example.com/api/\n"
      "    waldur_api_token: token-of-the-agent\n"
      "    waldur_offering_uuid: e2ef0000000000000000000000000201\n"
      "    backend_type: cloud\n"
      "    backend_components:\n" +
          lines,
      "agent.yaml"
  );
  EXPECT_TRUE(config && config->offerings.size() == 1) << lines;
  return config && config->offerings.size() == 1 ? config->offerings[0].components
                                                 : std::vector<config::component>{};
}

const std::string cpu =
    "      cpu: {measured_unit: Cores, accounting_type: limit, label: CPU, unit_factor: 1000";

json body_of(const std::string& more) {
  const auto local = components(cpu + more + "}\n");
  const auto body = local.empty() ? base::result<json>(json()) : component_for_waldur(local[0]);
  EXPECT_TRUE(body);
  return body ? *body : json();
}

json parse(const char* text) {
  return *json::parse(text);
}

TEST(component_for_waldur, has_the_five_fields_and_never_the_factor) {
  EXPECT_EQ(
      body_of(""),
      parse(R"({"billing_type":"limit","type":"cpu","name":"CPU","measured_unit":"Cores",
                "limit_amount":null})")
  );
}

TEST(component_for_waldur, passes_on_every_optional_field_in_its_type) {
  const json body = body_of(
      ", limit: 8.0, description: 0123, min_value: 1, max_value: 64, max_available_limit: 128, "
      "default_limit: 2, limit_period: annual, article_code: 007, is_boolean: no, is_prepaid: "
      "true, "
      "min_prepaid_duration: 1, max_prepaid_duration: 12, prepaid_duration_step: 1, "
      "min_renewal_duration: 2, max_renewal_duration: 24, renewal_duration_step: 2, "
      "backend_name: cores"
  );
  EXPECT_EQ(
      body, parse(R"({"billing_type":"limit","type":"cpu","name":"CPU","measured_unit":"Cores",
        "limit_amount":8,"description":"0123","limit_period":"annual","article_code":"007",
        "min_value":1,"max_value":64,"max_available_limit":128,"default_limit":2,
        "min_prepaid_duration":1,"max_prepaid_duration":12,"prepaid_duration_step":1,
        "min_renewal_duration":2,"max_renewal_duration":24,"renewal_duration_step":2,
        "is_boolean":false,"is_prepaid":true})")
  ) << body.dump();
}

TEST(component_for_waldur, is_prepaid_when_billed_once_unless_the_file_says_otherwise) {
  const auto body = [](const std::string& more) {
    return *component_for_waldur(components(
        "      cpu: {measured_unit: Cores, accounting_type: one, label: CPU" + more + "}\n"
    )[0]);
  };
  EXPECT_EQ(body("")["is_prepaid"], json(true));
  EXPECT_EQ(body(", is_prepaid: false")["is_prepaid"], json(false));
  EXPECT_EQ(body_of("").find("is_prepaid"), nullptr);
}

TEST(component_plan, creates_what_waldur_does_not_have) {
  const auto changes = plan_components(components(cpu + "}\n"), {});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, action::create);
  EXPECT_EQ(changes[0].body.find("uuid"), nullptr);
}

TEST(component_plan, leaves_equal_ones_alone_whatever_else_waldur_shows) {
  const auto changes = plan_components(
      components(cpu + ", limit: 8, is_boolean: false}\n"),
      {parse(
          R"({"uuid":"aa","type":"cpu","name":"CPU","billing_type":"limit","measured_unit":"Cores",
                 "limit_amount":"8.00","limit_period":"month","is_boolean":null,"factor":1})"
      )}
  );
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, action::keep) << testing::PrintToString(changes[0].differences);
}

TEST(component_plan, updates_by_uuid_says_what_differs_and_keeps_the_period) {
  const auto changes = plan_components(
      components(cpu + ", limit: 8}\n"),
      {parse(
          R"({"uuid":"aa","type":"cpu","name":"Cpu","billing_type":"limit","measured_unit":"Cores",
                 "limit_amount":null,"limit_period":"month"})"
      )}
  );
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, action::update);
  EXPECT_THAT(
      changes[0].differences, ElementsAre(R"(name "Cpu" -> "CPU")", "limit_amount null -> 8")
  );
  EXPECT_EQ(changes[0].body["uuid"], json("aa"));
  EXPECT_EQ(changes[0].body["limit_period"], json("month"));
}

TEST(component_plan, takes_a_limit_away_that_the_file_no_longer_has) {
  const auto changes = plan_components(
      components(cpu + "}\n"),
      {parse(
          R"({"uuid":"aa","type":"cpu","name":"CPU","billing_type":"limit","measured_unit":"Cores",
                 "limit_amount":8})"
      )}
  );
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0].differences, ElementsAre("limit_amount 8 -> null"));
}

TEST(component_plan, names_what_only_waldur_has_and_touches_it_not) {
  const auto changes = plan_components({}, {parse(R"({"uuid":"aa","type":"gpu"})")});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, action::foreign);
  EXPECT_THAT(changes[0].body.members(), IsEmpty());
}

TEST(component_plan, refuses_a_limit_that_is_no_whole_number) {
  const auto changes = plan_components(components(cpu + ", limit: 0.5}\n"), {});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, action::refused);
  EXPECT_EQ(changes[0].why, "limit 0.5 is no whole number, and Waldur takes no other; round it");
}

} // namespace
} // namespace siteagent::app
