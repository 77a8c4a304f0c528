// SPDX-License-Identifier: MIT
// Known mishaps of other clients, as far as the ARM layer is concerned; each suite is one case.
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/clients/compute.hpp"
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"
#include "tests/unit/azure/create_fixture.hpp"

namespace siteagent::azure::test {

namespace {

const std::string monitor = std::string(base_url) + "/operations/x";

std::string too_many() {
  return fake_arm::error_text("TooManyRequests");
}

scripted answers(
    std::string path, int status, std::string body, int times = 1, net::header_list headers = {}
) {
  return {"GET", std::move(path), times, 0, false, status, std::move(body), std::move(headers)};
}

class case_thr_01 : public azure_arm {};

TEST_F(case_thr_01, retry_after_seconds_are_seconds) {
  arm.script(answers("subscriptions", 429, too_many(), 1, {{"retry-after", "3"}}));
  const auto waited = during([&] { ASSERT_TRUE(read()); });
  EXPECT_GE(waited, seconds(3));
  EXPECT_LE(waited, milliseconds(4'500));
}

class case_thr_02 : public azure_arm {
protected:
  milliseconds waited_for(const std::string& advice, std::chrono::minutes skew) {
    const auto server = clock.wall() + skew;
    const std::string value = advice == "+4"   ? base::to_http_date(server + seconds(4))
                              : advice == "-4" ? base::to_http_date(server - seconds(4))
                                               : advice;
    arm.script(answers(
        "subscriptions", 503, "", 1, {{"date", base::to_http_date(server)}, {"retry-after", value}}
    ));
    return during([&] { ASSERT_TRUE(read()); });
  }
};

TEST_F(case_thr_02, a_date_counts_from_the_servers_clock_and_garbage_is_backed_off) {
  for (const int skew : {-10, 0, 10}) {
    const auto dated = waited_for("+4", std::chrono::minutes(skew));
    EXPECT_GE(dated, seconds(3));
    EXPECT_LE(dated, seconds(6));
    EXPECT_LE(waited_for("-4", std::chrono::minutes(skew)), seconds(2));
    const auto guessed = waited_for("soon", std::chrono::minutes(skew));
    EXPECT_GE(guessed, milliseconds(400));
    EXPECT_LE(guessed, seconds(2));
  }
}

class case_thr_03 : public azure_arm {};

TEST_F(case_thr_03, polls_have_a_floor_that_grows_and_wait_before_the_first) {
  arm.script(answers("/operations/x", 200, R"({"status":"InProgress"})", -1, {{"retry-after", "0"}})
  );
  call_.deadline = clock.steady() + seconds(20);
  EXPECT_FALSE(arm::follow(
      *pipe_,
      scope_,
      started(202, {{"azure-asyncoperation", monitor}, {"retry-after", "0"}}),
      followed_object("put")
  ));
  EXPECT_LE(arm.count_requests("GET", "/operations/x"), 8U);
  EXPECT_GE(arm.count_requests("GET", "/operations/x"), 3U);
}

TEST_F(case_thr_03, a_429_with_zero_backs_off_exponentially) {
  arm.script(answers("subscriptions", 429, too_many(), 3, {{"retry-after", "0"}}));
  const auto waited = during([&] { ASSERT_TRUE(read(some_path, arm::patience::lasting)); });
  EXPECT_GE(waited, seconds(10 + 20 + 40));
}

class case_thr_04 : public azure_create {};

TEST_F(case_thr_04, forty_machines_are_one_list_with_states_and_no_single_read) {
  arm.put(group_id("g"), tagged());
  base::json resources = base::json::array();
  for (int i = 0; i < 40; ++i) {
    const std::string id =
        object_id("Microsoft.Compute/virtualMachines", "vm" + std::to_string(i), "g");
    base::json vm = tagged();
    vm.member_ref("properties")
        .set("hardwareProfile", base::json::object({{"vmSize", "Standard_B1s"}}));
    arm.put(id, vm);
    resources.push_back(base::json::object({{"uuid", std::to_string(i)}, {"backend_id", id}}));
  }
  body.set("resources", resources);
  arm.page_size = 15;
  const fake_call call = run(&backend::pull_resources);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(call.emitted.size(), 40U);
  EXPECT_EQ(arm.count_requests("GET", "/virtualMachines/vm"), 0U);
  EXPECT_EQ(arm.count_requests("GET", "/virtualMachines"), 6U);
  EXPECT_EQ(arm.count_requests("GET", "instanceView"), 0U);
}

class case_thr_05 : public azure_arm {};

TEST_F(case_thr_05, pauses_grow_with_jitter_to_a_ceiling_and_recover) {
  arm.script(answers("subscriptions", 503, "", 12));
  call_.deadline = clock.steady() + std::chrono::hours(2);
  const auto waited = during([&] { ASSERT_TRUE(read(some_path, arm::patience::lasting)); });
  // 1, 2, 4, ... 60 s, each between half and whole.
  EXPECT_GE(waited, seconds(180));
  EXPECT_LE(waited, seconds(63 + 6 * 60));
  EXPECT_EQ(during([&] { ASSERT_TRUE(read()); }), milliseconds(0));
}

class case_hang_01 : public azure_arm, public testing::WithParamInterface<const char*> {};

TEST_P(case_hang_01, an_operation_that_never_ends_meets_the_deadline_and_says_what_it_left) {
  call_.deadline = clock.steady() + std::chrono::minutes(45);
  arm.script(answers("/operations/x", 200, R"({"status":"InProgress"})", -1));
  arm.script(answers(
      "networkInterfaces/n", 200, R"({"id":"/n","properties":{"provisioningState":"Updating"}})", -1
  ));
  arm::followed f = followed_object(GetParam());
  f.limit = std::chrono::hours(2);
  for (const net::header_list& headers :
       {net::header_list{{"azure-asyncoperation", monitor}}, {}}) {
    const auto r = arm::follow(*pipe_, scope_, started(202, headers), f);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::deadline);
    EXPECT_TRUE(arm::is_stop(r.error()));
    EXPECT_THAT(r.error().message, testing::HasSubstr("carries the resource's tag"));
    call_.deadline = clock.steady() + std::chrono::minutes(45);
  }
}

INSTANTIATE_TEST_SUITE_P(verbs, case_hang_01, testing::Values("put", "post", "delete"));

class case_hang_02 : public azure_arm {
protected:
  const std::string here = "/subscriptions/" + std::string(subscription);

  base::result<std::vector<base::json>> list() {
    return arm::read_all(*pipe_, scope_, here + "/x?p=1", "list");
  }

  void page(const char* query, const std::string& items, const std::string& next) {
    arm.script(answers(query, 200, R"({"value":[)" + items + R"(],"nextLink":")" + next + "\"}", -1)
    );
  }
};

TEST_F(case_hang_02, empty_pages_go_on_and_an_empty_link_ends) {
  page("p=1", "", std::string(base_url) + here + "/x?p=2");
  page("p=2", R"({"id":"/a"})", "");
  const auto all = list();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 1U);
}

TEST_F(case_hang_02, a_relative_link_is_followed) {
  page("p=1", R"({"id":"/a"})", here + "/x?p=2");
  page("p=2", R"({"id":"/b"})", "");
  const auto all = list();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 2U);
}

TEST_F(case_hang_02, a_link_to_itself_is_an_incomplete_list) {
  page("p=1", R"({"id":"/a"})", std::string(base_url) + here + "/x?p=1");
  const auto all = list();
  // Once as a path and once as a URL.
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, base::error_code::transient);
  EXPECT_THAT(all.error().message, testing::HasSubstr("incomplete"));
  EXPECT_LE(arm.count_requests("GET", "p=1"), 2U);
}

TEST_F(case_hang_02, a_page_that_fails_makes_the_list_an_error) {
  page("p=1", R"({"id":"/a"})", std::string(base_url) + here + "/x?p=2");
  arm.script(answers("p=2", 500, "", -1));
  EXPECT_FALSE(list());
}

class case_hang_03 : public azure_arm {};

TEST_F(case_hang_03, a_read_on_a_dead_connection_is_repeated_and_a_write_is_looked_up) {
  ASSERT_TRUE(read());
  arm.script({"GET", "subscriptions", 1, 0, false, std::nullopt, "", {}});
  EXPECT_TRUE(read());
  arm.script({"PUT", "", 1, 0, false, std::nullopt, "", {}});
  const auto r = pipe_->write(
      scope_, {"PUT", group_id() + "?api-version=1", base::json::object(), false, true, "write"}
  );
  ASSERT_FALSE(r);
  EXPECT_EQ(reason_of(r.error()), reason::ambiguous);
}

struct body_row {
  const char* name;
  int status;
  std::string body;
};

class case_crash_01 : public azure_arm, public testing::WithParamInterface<body_row> {};

TEST_P(case_crash_01, an_answer_that_is_no_json_is_an_error_and_never_an_empty_result) {
  const body_row& row = GetParam();
  arm.script(answers("subscriptions", row.status, row.body, -1));
  const auto r = read();
  const auto all = arm::read_all(*pipe_, scope_, some_path, "list");
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, base::error_code::transient) << all.error().message;
  if (!row.body.empty() || row.status >= 300) {
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::transient);
  }
  arm.clear_scripts();
  EXPECT_TRUE(read());
}

INSTANTIATE_TEST_SUITE_P(
    bodies,
    case_crash_01,
    testing::Values(
        body_row{"html_502", 502, "<html><body>Bad gateway</body></html>"},
        body_row{"html_200", 200, "<!DOCTYPE html><html></html>"},
        body_row{"nothing_200", 200, ""},
        body_row{"truncated", 200, R"({"value":[{"id":"/a")"},
        body_row{"gzip_without_a_header", 200, std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8)},
        body_row{"two_documents", 200, "{}{}"},
        body_row{"null", 404, "null"}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

class case_crash_02 : public azure_create {};

TEST_F(case_crash_02, numbers_of_any_kind_are_read_or_refused_and_never_abort) {
  for (const char* figures :
       {R"({"currentValue":4.0,"limit":2147483648,"name":{"value":"cores"}})",
        R"({"currentValue":null,"limit":null,"name":{"value":"cores"}})",
        R"({"currentValue":"4","limit":"10","name":{"value":"cores"}})",
        R"({"currentValue":1e400,"limit":-1,"name":{"value":"cores"}})",
        R"({"currentValue":[],"limit":{},"name":7})"}) {
    arm.script(answers(
        "Microsoft.Compute/locations/westeurope/usages",
        200,
        R"({"value":[)" + std::string(figures) + "]}",
        2
    ));
    attribute("name", "web");
    body.member_ref("resource").set("name", "web");
    const fake_call call = create();
    EXPECT_TRUE(call.code == SAGENT_OK || call.code == SAGENT_E_QUOTA) << call.message;
    ASSERT_EQ(run(&backend::delete_resource).code, SAGENT_OK);
    arm.clear_scripts();
    clock.advance(std::chrono::hours(25));
  }
}

TEST_F(case_crash_02, a_disk_without_a_size_is_not_measured) {
  settings.set("disk_source", "actual");
  ASSERT_EQ(create().code, SAGENT_OK);
  base::json vm = arm.get(machine_id());
  vm.member_ref("properties")
      .member_ref("storageProfile")
      .member_ref("osDisk")
      .set("diskSizeGB", base::json());
  arm.put(machine_id(), vm);
  body.set(
      "resources",
      base::json::array({base::json::object({{"uuid", "1"}, {"backend_id", machine_id()}})})
  );
  EXPECT_EQ(run(&backend::report_usage).code, SAGENT_OK);
}

// SIGPIPE is the host's to ignore; a plugin must not change process-wide signals, and does not.
class case_crash_03 : public azure_arm {};

TEST_F(case_crash_03, a_connection_reset_is_an_error_value_in_every_thread_of_calls) {
  for (int i = 0; i < 4; ++i) {
    arm.script({"GET", "subscriptions", 1, 0, false, std::nullopt, "", {}});
    EXPECT_TRUE(read());
  }
}

TEST(case_crash_04, statuses_are_looked_up_by_prefix_and_absence_is_unknown) {
  const auto power = [](const char* text) { return power_of(*base::json::parse(text)); };
  EXPECT_EQ(power("[]"), std::nullopt);
  EXPECT_EQ(power("null"), std::nullopt);
  EXPECT_EQ(power(R"([{"code":"ProvisioningState/succeeded"}])"), std::nullopt);
  EXPECT_EQ(power(R"([{"code":"PowerState/running"}])"), "running");
  EXPECT_EQ(
      power(
          R"([{"code":"OSUpdates/x"},{"code":"ProvisioningState/succeeded"},{"code":"powerstate/Deallocated"}])"
      ),
      "deallocated"
  );
  EXPECT_EQ(power(R"([{"code":7},{},null,{"code":"PowerState/stopped"}])"), "stopped");
}

struct delete_row {
  const char* name;
  int status;
  bool async;
  bool location;
  std::vector<scripted> monitored;
};

class case_del_01 : public azure_arm, public testing::WithParamInterface<delete_row> {};

TEST_P(case_del_01, every_ending_means_gone_after_a_404_of_the_object) {
  net::header_list headers;
  if (GetParam().async) {
    headers.emplace_back("azure-asyncoperation", monitor);
  }
  if (GetParam().location) {
    headers.emplace_back("location", monitor);
  }
  for (const scripted& s : GetParam().monitored) {
    arm.script(s);
  }
  // The object outlives the report.
  arm.script(answers(
      "networkInterfaces/n", 200, R"({"id":"/n","properties":{"provisioningState":"Deleting"}})"
  ));
  arm.script(answers("networkInterfaces/n", 404, fake_arm::error_text("ResourceNotFound")));
  const auto r =
      arm::follow(*pipe_, scope_, started(GetParam().status, headers), followed_object("delete"));
  EXPECT_TRUE(r) << r.error().message;
  EXPECT_EQ(arm.count_requests("GET", "networkInterfaces/n"), 2U);
}

INSTANTIATE_TEST_SUITE_P(
    endings,
    case_del_01,
    testing::Values(
        delete_row{
            "location_202_then_404",
            202,
            false,
            true,
            {answers("/operations/x", 202, ""), answers("/operations/x", 404, "", -1)}},
        delete_row{"async_204_empty", 202, true, false, {answers("/operations/x", 204, "")}},
        delete_row{"at_once_200", 200, false, false, {}},
        delete_row{"at_once_204", 204, false, false, {}},
        delete_row{"accepted_without_headers", 202, false, false, {}},
        delete_row{
            "status_succeeded",
            202,
            true,
            true,
            {answers("/operations/x", 200, R"({"status":"Succeeded"})")}},
        delete_row{"monitor_unreadable", 202, true, false, {answers("/operations/x", 403, "", -1)}},
        delete_row{
            "status_url_404_while_the_object_is_there",
            202,
            true,
            false,
            {answers("/operations/x", 404, "", -1)}}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

class case_del_02 : public azure_arm {};

TEST_F(case_del_02, a_202_without_headers_is_followed_by_the_object_itself) {
  arm.script(answers(
      "networkInterfaces/n", 200, R"({"id":"/n","properties":{"provisioningState":"Deleting"}})", 3
  ));
  arm.script(answers("networkInterfaces/n", 404, fake_arm::error_text("ResourceNotFound")));
  EXPECT_TRUE(arm::follow(*pipe_, scope_, started(202), followed_object("delete")));
  EXPECT_EQ(arm.count_requests("GET", "networkInterfaces/n"), 4U);
}

TEST_F(case_del_02, the_newest_status_url_counts) {
  for (int i = 0; i < 3; ++i) {
    const std::string here = "/operations/" + std::string(1, static_cast<char>('a' + i));
    const std::string next =
        std::string(base_url) + "/operations/" + std::string(1, static_cast<char>('b' + i));
    arm.script(answers(here, 202, "", 1, {{"location", next}}));
    arm.script(answers(here, 404, "", -1));
  }
  arm.script(answers("/operations/d", 200, ""));
  arm.script(answers("networkInterfaces/n", 404, fake_arm::error_text("ResourceNotFound")));
  EXPECT_TRUE(arm::follow(
      *pipe_,
      scope_,
      started(202, {{"location", std::string(base_url) + "/operations/a"}}),
      followed_object("delete")
  ));
  EXPECT_EQ(arm.count_requests("GET", "/operations/"), 4U);
}

class case_conc_02 : public azure_create {};

TEST_F(case_conc_02, a_write_that_timed_out_is_looked_up_before_it_is_repeated) {
  arm.script({"PUT", "/virtualMachines/", 1, 0, true, std::nullopt, "", {}});
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
}

TEST_F(case_conc_02, a_create_that_landed_late_is_found_by_the_next_try) {
  // Every answer about the machine is lost: the call gives up in doubt.
  arm.script({"PUT", "/virtualMachines/", 1, 0, true, std::nullopt, "", {}});
  arm.script({"GET", "/virtualMachines/", -1, 0, false, 503, "", {}});
  const fake_call doubtful = create();
  EXPECT_EQ(base::class_of(doubtful.code), base::error_class::transient) << doubtful.message;
  arm.clear_scripts();
  const fake_call again = create();
  ASSERT_EQ(again.code, SAGENT_OK) << again.message;
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
}

struct nested_row {
  const char* name;
  int status;
  const char* body;
};

class case_cred_05 : public testing::TestWithParam<nested_row> {};

TEST_P(case_cred_05, the_inner_reason_is_shown_and_is_final) {
  const base::error e =
      map_error(arm::parse_error(GetParam().status, std::string_view(GetParam().body)), "create x");
  EXPECT_EQ(reason_of(e), reason::policy);
  EXPECT_EQ(base::class_of(e.code), base::error_class::permanent);
  EXPECT_THAT(e.message, testing::HasSubstr("Allowed sizes"));
  EXPECT_EQ(e.public_message.find("Allowed sizes"), std::string::npos);
  EXPECT_LE(e.message.size(), 1'400U);
}

INSTANTIATE_TEST_SUITE_P(
    shapes,
    case_cred_05,
    testing::Values(
        nested_row{
            "additional_info",
            403,
            R"({"error":{"code":"RequestDisallowedByPolicy","message":"no","additionalInfo":[{"type":"PolicyViolation","info":{"policyAssignmentDisplayName":"Allowed sizes","evaluationDetails":{"evaluatedExpressions":[{"path":"tags.x","operator":"Exists","targetValue":"true"}]}}}]}})"},
        nested_row{
            "deployment",
            400,
            R"({"error":{"code":"InvalidTemplateDeployment","message":"see details","details":[{"code":"RequestDisallowedByPolicy","message":"by policy 'Allowed sizes'"}]}})"},
        nested_row{
            "json_in_a_message",
            400,
            R"({"error":{"code":"DeploymentFailed","message":"{\r\n  \"error\": {\"code\":\"RequestDisallowedByPolicy\",\"message\":\"by policy 'Allowed sizes'\"}}"}})"}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

} // namespace

} // namespace siteagent::azure::test
