// SPDX-License-Identifier: MIT
// Every shape in which Azure starts, reports and ends an operation.
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"

namespace siteagent::azure::test {

namespace {

const std::string monitor_path = "/operations/x";
const std::string monitor_url = std::string(base_url) + monitor_path;

std::string with_state(const std::string& state) {
  return R"({"id":"/n","properties":{"provisioningState":")" + state + R"("}})";
}

std::string status_of(const std::string& status) {
  return R"({"status":")" + status + R"("})";
}

scripted
monitored(int status, std::string body = "", int times = 1, net::header_list headers = {}) {
  return {"GET", monitor_path, times, 0, false, status, std::move(body), std::move(headers)};
}

scripted resource(int status, std::string body, int times = 1) {
  return {"GET", "networkInterfaces/n", times, 0, false, status, std::move(body), {}};
}

scripted gone() {
  return resource(404, fake_arm::error_text("ResourceNotFound"));
}

constexpr bool async = true;
constexpr bool location = true;

struct shape_row {
  const char* name;
  const char* verb;
  int status;
  bool has_async;
  bool has_location;
  std::string body;
  std::vector<scripted> answers;
  reason expected = reason::none; // none: success
  std::size_t monitor_reads = 0;
  std::size_t resource_reads = 0;
};

class azure_operation_shapes : public azure_arm, public testing::WithParamInterface<shape_row> {
protected:
  arm::response start() const {
    const shape_row& row = GetParam();
    net::header_list headers{{"azure-asyncnotification", "Enabled"}};
    if (row.has_async) {
      headers.emplace_back("azure-asyncoperation", monitor_url);
    }
    if (row.has_location) {
      headers.emplace_back("location", monitor_url);
    }
    arm::response r = started(row.status, std::move(headers));
    if (const auto parsed = base::json::parse(row.body)) {
      r.body = *parsed;
    }
    return r;
  }
};

TEST_P(azure_operation_shapes, end_as_they_should) {
  const shape_row& row = GetParam();
  for (const scripted& s : row.answers) {
    arm.script(s);
  }
  const auto r = arm::follow(*pipe_, scope_, start(), followed_object(row.verb));
  if (row.expected == reason::none) {
    EXPECT_TRUE(r) << r.error().message;
  } else {
    ASSERT_FALSE(r);
    EXPECT_EQ(reason_of(r.error()), row.expected) << r.error().message;
  }
  EXPECT_EQ(arm.count_requests("GET", monitor_path), row.monitor_reads);
  EXPECT_EQ(arm.count_requests("GET", "networkInterfaces/n"), row.resource_reads);
  EXPECT_TRUE(arm.writes().empty());
}

const std::string done = with_state("Succeeded");

INSTANTIATE_TEST_SUITE_P(
    starts,
    azure_operation_shapes,
    testing::Values(
        shape_row{"group_put_at_once", "put", 201, false, false, done, {}},
        shape_row{"put_without_state", "put", 200, false, false, R"({"properties":{}})", {}},
        shape_row{"put_without_properties", "put", 200, false, false, R"({"id":"/x"})", {}},
        shape_row{"interface_put_at_once", "put", 201, false, false, with_state("succeeded"), {}},
        shape_row{
            "put_with_state_in_body",
            "put",
            200,
            false,
            false,
            with_state("Updating"),
            {resource(200, with_state("Updating")), resource(200, done)},
            reason::none,
            0,
            2},
        shape_row{
            "put_201_creating_in_body",
            "put",
            201,
            false,
            false,
            with_state("Creating"),
            {resource(200, with_state("Accepted")), resource(200, done)},
            reason::none,
            0,
            2},
        shape_row{
            "network_put",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("InProgress")),
             monitored(200, status_of("Succeeded")),
             resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "machine_put_update",
            "put",
            200,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "application_group_put_done_in_body",
            "put",
            201,
            async,
            false,
            done,
            {monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "disk_put_202",
            "put",
            202,
            async,
            location,
            with_state("Updating"),
            {monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "put_202_empty",
            "put",
            202,
            async,
            location,
            "",
            {monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "put_202_without_headers",
            "put",
            202,
            false,
            false,
            "",
            {resource(200, with_state("Updating")), resource(200, done)},
            reason::none,
            0,
            2},
        shape_row{
            "put_200_empty_body",
            "put",
            200,
            false,
            false,
            "",
            {resource(200, done)},
            reason::none,
            0,
            1},
        shape_row{
            "put_with_location_only",
            "put",
            202,
            false,
            location,
            "",
            {monitored(202), monitored(200, done), resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "action_202",
            "post",
            202,
            async,
            location,
            "",
            {monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "action_202_location",
            "post",
            202,
            false,
            location,
            "",
            {monitored(202), monitored(200), resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "action_202_without_headers",
            "post",
            202,
            false,
            false,
            "",
            {resource(200, with_state("Updating")), resource(200, done)},
            reason::none,
            0,
            2},
        shape_row{
            "action_200", "post", 200, false, false, "", {resource(200, done)}, reason::none, 0, 1},
        shape_row{
            "group_delete",
            "delete",
            202,
            false,
            location,
            "",
            {monitored(202), monitored(200), gone()},
            reason::none,
            2,
            1},
        shape_row{
            "network_delete",
            "delete",
            202,
            async,
            location,
            "",
            {monitored(200, status_of("Succeeded")), gone()},
            reason::none,
            1,
            1},
        shape_row{
            "interface_delete_200_with_headers",
            "delete",
            200,
            async,
            location,
            "",
            {monitored(200, status_of("InProgress")),
             monitored(200, status_of("Succeeded")),
             gone()},
            reason::none,
            2,
            1},
        shape_row{
            "delete_204_with_stale_headers",
            "delete",
            204,
            async,
            location,
            "",
            {gone()},
            reason::none,
            0,
            1},
        shape_row{
            "delete_seen_for_a_while",
            "delete",
            202,
            async,
            false,
            "",
            {monitored(200, status_of("Succeeded")),
             resource(200, with_state("Deleting"), 3),
             gone()},
            reason::none,
            1,
            4}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

INSTANTIATE_TEST_SUITE_P(
    reports,
    azure_operation_shapes,
    testing::Values(
        shape_row{
            "words_in_any_case",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("inprogress")),
             monitored(200, status_of("SUCCEEDED")),
             resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "unknown_words_are_progress",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("Accepted")),
             monitored(200, status_of("Migrating")),
             monitored(200, status_of("Succeeded")),
             resource(200, done)},
            reason::none,
            3,
            1},
        shape_row{
            "a_resource_inside_is_not_the_status",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(
                 200, R"({"status":"InProgress","properties":{"provisioningState":"Succeeded"}})"
             ),
             monitored(200, status_of("Succeeded")),
             resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "no_status_202_goes_on",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(202), monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "no_status_200_lets_the_resource_tell",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, "{}"), resource(200, with_state("Updating")), resource(200, done)},
            reason::none,
            1,
            2},
        shape_row{
            "empty_200_lets_the_resource_tell",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "wrong_types_let_the_resource_tell",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, R"({"status":7})"), resource(200, done)},
            reason::none,
            1,
            1},
        shape_row{
            "truncated_json_is_read_again",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, R"({"status":"Suc)"),
             monitored(200, status_of("Succeeded")),
             resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "failed_with_200",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(
                200,
                R"({"status":"Failed","error":{"code":"AllocationFailed","message":"no room"}})"
            )},
            reason::capacity,
            1,
            0},
        shape_row{
            "failed_action",
            "post",
            202,
            async,
            location,
            "",
            {monitored(
                200,
                R"({"status":"failed","error":{"code":"AllocationFailed","message":"no room"}})"
            )},
            reason::capacity,
            1,
            0},
        shape_row{
            "failed_delete",
            "delete",
            202,
            async,
            location,
            "",
            {monitored(
                200,
                R"({"status":"Failed","error":{"code":"InUseSubnetCannotBeDeleted","message":"in use"}})"
            )},
            reason::in_use,
            1,
            0},
        shape_row{
            "failed_without_a_reason",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("Failed"))},
            reason::half_made,
            1,
            0},
        shape_row{
            "canceled_and_superseded",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(
                200,
                R"({"status":"Canceled","error":{"code":"Canceled","message":"Operation was canceled.","details":[{"code":"CanceledAndSupersededDueToAnotherOperation","message":"superseded"}]}})"
            )},
            reason::superseded,
            1,
            0},
        shape_row{
            "cancelled_with_two_l",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("Cancelled"))},
            reason::superseded,
            1,
            0},
        shape_row{
            "canceled_for_a_reason_of_its_own",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(
                200, R"({"status":"Canceled","error":{"code":"SomethingNew","message":"x"}})"
            )},
            reason::superseded,
            1,
            0},
        shape_row{
            "location_ends_in_an_error",
            "delete",
            202,
            false,
            location,
            "",
            {monitored(409, fake_arm::error_text("ResourceGroupDeletionBlocked"))},
            reason::in_use,
            1,
            0}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

// A failed read of the monitor says nothing about the operation.
INSTANTIATE_TEST_SUITE_P(
    monitor_trouble,
    azure_operation_shapes,
    testing::Values(
        shape_row{
            "status_404_once",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(404, fake_arm::error_text("NotFound")),
             monitored(200, status_of("Succeeded")),
             resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "status_404_twice_and_the_resource_is_done",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(404, fake_arm::error_text("NotFound"), 2), resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "status_410_twice_and_the_resource_goes_on",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(410, "", 2), resource(200, with_state("Updating"), 2), resource(200, done)},
            reason::none,
            2,
            3},
        shape_row{
            "location_404_after_done",
            "delete",
            202,
            false,
            location,
            "",
            {monitored(202), monitored(404, "", 2), gone()},
            reason::none,
            3,
            1},
        shape_row{
            "a_503_in_between",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(503, "<html>"), monitored(200, status_of("Succeeded")), resource(200, done)},
            reason::none,
            2,
            1},
        shape_row{
            "a_500_for_ever_and_the_resource_is_done",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(500, "", -1), resource(200, done)},
            reason::none,
            15,
            1},
        shape_row{
            "a_403_for_ever_and_the_resource_is_done",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(403, fake_arm::error_text("AuthorizationFailed"), -1), resource(200, done)},
            reason::none,
            3,
            1},
        shape_row{
            "a_429_in_between",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(429, fake_arm::error_text("TooManyRequests"), 8, {{"retry-after", "60"}}),
             monitored(200, status_of("Succeeded")),
             resource(200, done)},
            reason::none,
            9,
            1},
        shape_row{
            "the_resource_is_read_behind_its_write",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("Succeeded")),
             resource(404, fake_arm::error_text("ResourceNotFound"), 2),
             resource(200, done)},
            reason::none,
            1,
            3},
        shape_row{
            "a_5xx_of_the_resource_at_the_end",
            "put",
            201,
            async,
            false,
            with_state("Updating"),
            {monitored(200, status_of("Succeeded")),
             resource(502, "<html>", 2),
             resource(200, done)},
            reason::none,
            1,
            3}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

class azure_opaque_urls : public azure_arm, public testing::WithParamInterface<std::string> {};

TEST_P(azure_opaque_urls, come_back_byte_for_byte) {
  const std::string target = GetParam();
  arm.script({"GET", "", 1, 0, false, 200, status_of("Succeeded"), {}});
  arm.script({"GET", "", 1, 0, false, 200, done, {}});
  ASSERT_TRUE(arm::follow(
      *pipe_,
      scope_,
      started(201, {{"azure-asyncoperation", std::string(base_url) + target}}),
      followed_object("put")
  ));
  std::vector<std::string> read;
  for (const logged& l : arm.log()) {
    if (l.method == "GET") {
      read.push_back(l.path + (l.query.empty() ? "" : "?" + l.query));
    }
  }
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0], target);
}

INSTANTIATE_TEST_SUITE_P(
    urls,
    azure_opaque_urls,
    testing::Values(
        "/subscriptions/s/operations/"
        "x?p=a&api-version=2016-01-01&t=63&c=MII%2Fd%2bE&s=x+y==&h=%C3%BC",
        "/subscriptions/s/operationresults/eyJqb2JJZCI6IlJFU09VUkNFR1JPVVAifQ==?api-version=1",
        "/a//b/%2e%2E/c;d=1,2?x=%2F%2f&&y=&=z?w",
        "/operations/x",
        "/operations/x?monitor=true&sig=" + std::string(4'096, 'A') + "%3D"
    )
);

// No URL may hold them; what Azure means by them comes percent-encoded, as above.
TEST_F(azure_arm, a_monitor_with_characters_outside_ascii_is_not_asked) {
  arm.script(resource(200, done));
  EXPECT_TRUE(arm::follow(
      *pipe_,
      scope_,
      started(201, {{"azure-asyncoperation", monitor_url + "\xc3\xbc"}}),
      followed_object("put")
  ));
  EXPECT_EQ(arm.count_requests("GET", monitor_path), 0U);
}

TEST_F(azure_arm, a_relative_location_is_ours) {
  arm.script(monitored(200));
  arm.script(gone());
  EXPECT_TRUE(arm::follow(
      *pipe_, scope_, started(202, {{"location", monitor_path}}), followed_object("delete")
  ));
}

TEST_F(azure_arm, retry_after_counts_on_answers_with_a_status_too) {
  arm.script(monitored(200, status_of("InProgress"), 1, {{"retry-after", "40"}}));
  arm.script(monitored(200, status_of("Succeeded")));
  arm.script(resource(200, done));
  const auto waited = during([&] {
    EXPECT_TRUE(arm::follow(
        *pipe_,
        scope_,
        started(201, {{"azure-asyncoperation", monitor_url}, {"retry-after", "7"}}),
        followed_object("put")
    ));
  });
  EXPECT_EQ(waited, seconds(47));
}

TEST_F(azure_arm, an_absurd_retry_after_of_a_poll_is_cut) {
  arm.script(monitored(200, status_of("Succeeded")));
  arm.script(resource(200, done));
  const auto waited = during([&] {
    EXPECT_TRUE(arm::follow(
        *pipe_,
        scope_,
        started(201, {{"azure-asyncoperation", monitor_url}, {"retry-after", "86400"}}),
        followed_object("put")
    ));
  });
  EXPECT_EQ(waited, seconds(60));
}

TEST_F(azure_arm, a_monitor_is_believed_two_minutes_before_a_state_that_stays_behind) {
  arm.script(monitored(200, status_of("Succeeded")));
  arm.script(resource(200, with_state("Updating"), -1));
  const auto waited = during([&] {
    const auto r = arm::follow(
        *pipe_,
        scope_,
        started(201, {{"azure-asyncoperation", monitor_url}}),
        followed_object("put")
    );
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(r->at({"properties", "provisioningState"}).string_or(""), "Succeeded");
  });
  EXPECT_GE(waited, seconds(120));
  EXPECT_LE(waited, seconds(130));
}

TEST_F(azure_arm, an_operation_has_a_limit_of_its_own_and_nothing_is_sent_again) {
  arm.script(monitored(200, status_of("InProgress"), -1));
  arm::followed f = followed_object("put");
  f.limit = std::chrono::minutes(5);
  const auto waited = during([&] {
    const auto r =
        arm::follow(*pipe_, scope_, started(201, {{"azure-asyncoperation", monitor_url}}), f);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::transient);
    EXPECT_EQ(reason_of(r.error()), reason::busy);
    EXPECT_FALSE(arm::is_stop(r.error()));
  });
  EXPECT_LE(waited, std::chrono::minutes(5));
  EXPECT_GE(waited, std::chrono::minutes(4));
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_arm, an_object_without_assigned_values_is_not_read_after_its_monitor) {
  arm.script(monitored(200, status_of("Succeeded")));
  arm::followed f = followed_object("put");
  f.read_back = false;
  arm::response start = started(201, {{"azure-asyncoperation", monitor_url}});
  start.body = *base::json::parse(with_state("Updating"));
  const auto r = arm::follow(*pipe_, scope_, start, f);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->at({"properties", "provisioningState"}).string_or(""), "Succeeded");
  EXPECT_EQ(arm.count_requests("GET", "networkInterfaces/n"), 0U);
  // 200: it was there already, whose it is must be read.
  arm.script(monitored(200, status_of("Succeeded")));
  arm.script(resource(200, done));
  start.status = 200;
  EXPECT_TRUE(arm::follow(*pipe_, scope_, start, f));
  EXPECT_EQ(arm.count_requests("GET", "networkInterfaces/n"), 1U);
}

} // namespace

} // namespace siteagent::azure::test
