// SPDX-License-Identifier: MIT
#include "plugins/azure/error_map.hpp"

#include <gtest/gtest.h>

namespace siteagent::azure {

namespace {

using base::error_code;

base::error mapped(int status, std::string_view body) {
  return map_error(arm::parse_error(status, body), "do something");
}

std::string envelope(std::string_view code, std::string_view message = "text") {
  return base::json::object({{"error", base::json::object({{"code", code}, {"message", message}})}}
  ).dump();
}

TEST(azure_error_body, a_404_without_a_code_proves_nothing) {
  for (const char* body : {"", "<html>not found</html>", "{}", R"({"message":"no"})"}) {
    EXPECT_EQ(mapped(404, body).code, error_code::transient) << body;
  }
}

TEST(azure_error_body, finds_the_throttled_bucket_of_a_bare_compute_answer) {
  const base::error e = mapped(
      429,
      R"({"code":"OperationNotAllowed","message":"too many","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{\"operationGroup\":\"x\"}"}]})"
  );
  EXPECT_EQ(e.code, error_code::throttled);
  EXPECT_EQ(e.provider_code, "TooManyRequests");
}

TEST(azure_error_body, unwraps_json_inside_a_message) {
  const arm::error_body body = arm::parse_error(
      400,
      std::string_view(
          R"({"error":{"code":"InvalidTemplateDeployment","message":"see","details":[{"code":"Conflict","message":"{\r\n \"error\":{\"code\":\"SkuNotAvailable\",\"message\":\"not here\"}}"}]}})"
      )
  );
  EXPECT_EQ(body.root().code, "SkuNotAvailable");
  EXPECT_EQ(map_error(body, "x").code, error_code::no_capacity);
}

TEST(azure_error_body, names_the_policy_and_what_it_wants) {
  const base::error e = mapped(
      403,
      R"({"error":{"code":"RequestDisallowedByPolicy","message":"no","additionalInfo":[{"type":"PolicyViolation","info":{"policyAssignmentDisplayName":"Allowed sizes","evaluationDetails":{"evaluatedExpressions":[{"path":"location","operator":"In","targetValue":["westeurope"]}]}}}]}})"
  );
  EXPECT_EQ(e.code, error_code::forbidden);
  EXPECT_NE(e.message.find("Allowed sizes"), std::string::npos);
  EXPECT_NE(e.message.find("westeurope"), std::string::npos);
  EXPECT_EQ(e.public_message.find("Allowed sizes"), std::string::npos);
  EXPECT_EQ((*base::json::parse(e.detail))["assignment"].string_or(""), "Allowed sizes");
}

TEST(azure_error_body, survives_bottomless_nesting) {
  std::string text = R"({"code":"X","message":"deep"})";
  for (int i = 0; i < 30; ++i) {
    text = R"({"code":"C)" + std::to_string(i) + R"(","message":"m","details":[)" + text + "]}";
  }
  EXPECT_FALSE(arm::parse_error(400, std::string_view(text)).nodes.empty());
}

TEST(azure_error_map, lack_of_room_is_a_refusal_at_create) {
  EXPECT_EQ(as_refusal(mapped(409, envelope("SkuNotAvailable"))).code, error_code::refused);
  EXPECT_EQ(as_refusal(mapped(404, envelope("NotFound"))).code, error_code::not_found);
}

TEST(azure_error_map, every_reason_has_its_own_name) {
  for (int i = 0; i <= static_cast<int>(reason::invalid); ++i) {
    const auto r = static_cast<reason>(i);
    EXPECT_EQ(reason_of(make_error(r, error_code::permanent, "x")), r);
  }
}

} // namespace

} // namespace siteagent::azure
