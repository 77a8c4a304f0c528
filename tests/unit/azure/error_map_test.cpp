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

struct map_row {
  int status;
  const char* code;
  const char* message;
  error_code expected;
  reason why;
};

class azure_error_map : public testing::TestWithParam<map_row> {};

TEST_P(azure_error_map, knows_the_code) {
  const map_row& row = GetParam();
  const base::error e = mapped(row.status, envelope(row.code, row.message));
  EXPECT_EQ(e.code, row.expected) << row.code;
  EXPECT_EQ(reason_of(e), row.why) << row.code;
  EXPECT_EQ(e.provider_code, row.code);
  EXPECT_EQ(e.http_status, row.status);
}

INSTANTIATE_TEST_SUITE_P(
    codes,
    azure_error_map,
    testing::Values(
        map_row{404, "ResourceNotFound", "", error_code::not_found, reason::absent},
        map_row{404, "resourcenotfound", "", error_code::not_found, reason::absent},
        map_row{404, "NotFound", "", error_code::not_found, reason::absent},
        map_row{404, "ResourceGroupNotFound", "", error_code::not_found, reason::group_missing},
        map_row{404, "SubscriptionNotFound", "", error_code::not_ready, reason::configuration},
        map_row{404, "InvalidResourceNamespace", "", error_code::transient, reason::ambiguous},
        map_row{403, "AuthorizationFailed", "", error_code::forbidden, reason::permission},
        map_row{403, "RequestDisallowedByPolicy", "", error_code::forbidden, reason::policy},
        map_row{
            409, "ReadOnlyDisabledSubscription", "", error_code::not_ready, reason::configuration},
        map_row{
            409,
            "MissingSubscriptionRegistration",
            "",
            error_code::not_ready,
            reason::configuration},
        map_row{409, "ScopeLocked", "", error_code::conflict, reason::locked},
        map_row{409, "SkuNotAvailable", "", error_code::no_capacity, reason::capacity},
        map_row{200, "AllocationFailed", "", error_code::no_capacity, reason::capacity},
        map_row{
            409,
            "OperationNotAllowed",
            "in exceeding approved Total Regional Cores quota",
            error_code::quota,
            reason::quota},
        map_row{
            409,
            "OperationNotAllowed",
            "Disk d is attached to VM x",
            error_code::transient,
            reason::in_use},
        map_row{
            409,
            "OperationNotAllowed",
            "VM 'v' is marked for deletion",
            error_code::transient,
            reason::busy},
        map_row{
            409,
            "OperationNotAllowed",
            "The specified disk size 10 GB is smaller",
            error_code::permanent,
            reason::invalid},
        map_row{
            429,
            "OperationNotAllowed",
            "too many requests",
            error_code::throttled,
            reason::throttled},
        map_row{429, "SubscriptionRequestsThrottled", "", error_code::throttled, reason::throttled},
        map_row{429, "RetryableError", "", error_code::transient, reason::busy},
        map_row{400, "PublicIPCountLimitReached", "", error_code::quota, reason::quota},
        map_row{400, "IPv4BasicSkuPublicIpCountLimitReached", "", error_code::quota, reason::quota},
        map_row{400, "NicReservedForAnotherVm", "", error_code::transient, reason::nic_reserved},
        map_row{400, "NicInUse", "", error_code::transient, reason::in_use},
        map_row{400, "InUseSubnetCannotBeDeleted", "", error_code::transient, reason::in_use},
        map_row{400, "PublicIPAddressCannotBeDeleted", "", error_code::transient, reason::in_use},
        map_row{404, "PlatformImageNotFound", "", error_code::permanent, reason::image},
        map_row{
            400,
            "BadRequest",
            "cannot boot Hypervisor Generation '1'",
            error_code::permanent,
            reason::invalid},
        map_row{200, "OSProvisioningTimedOut", "", error_code::permanent, reason::os_timeout},
        map_row{409, "AnotherOperationInProgress", "", error_code::transient, reason::busy},
        map_row{412, "PreconditionFailed", "", error_code::conflict, reason::precondition},
        map_row{500, "SomethingNew", "", error_code::transient, reason::ambiguous},
        map_row{400, "SomethingNew", "", error_code::permanent, reason::invalid}
    )
);

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
