// SPDX-License-Identifier: MIT
// Which budget a call counts against, and what is done about it.
#include "plugins/azure/arm/throttle.hpp"

#include "plugins/azure/error_map.hpp"
#include "plugins/azure/services.hpp"
#include "tests/unit/azure/arm_fixture.hpp"

namespace siteagent::azure::test {

namespace {

using arm::call_class;
using arm::call_kind;
using arm::classify;
using arm::throttle;

const std::string sub = "/subscriptions/" + std::string(subscription);
const std::string compute = sub + "/providers/Microsoft.Compute/";
const std::string vm = sub + "/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm1";
const std::string nic = sub + "/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/n";

struct class_row {
  const char* name;
  const char* method;
  std::string url;
  call_kind kind;
  const char* provider;
  const char* policy;
  const char* region;
};

class azure_call_class : public testing::TestWithParam<class_row> {};

TEST_P(azure_call_class, is_read_off_method_and_url) {
  const class_row& row = GetParam();
  for (const std::string& url : {row.url, "https://management.azure.com" + row.url}) {
    const call_class c = classify(row.method, url + "?api-version=1&x=/providers/A");
    EXPECT_EQ(c.kind, row.kind);
    EXPECT_EQ(c.provider, row.provider);
    EXPECT_EQ(c.policy, row.policy);
    EXPECT_EQ(c.region, row.region);
  }
}

INSTANTIATE_TEST_SUITE_P(
    calls,
    azure_call_class,
    testing::Values(
        class_row{"put_machine", "PUT", vm, call_kind::write, "microsoft.compute", "PutVM", ""},
        class_row{
            "patch_machine", "PATCH", vm, call_kind::write, "microsoft.compute", "UpdateVM", ""},
        class_row{
            "start", "POST", vm + "/start", call_kind::write, "microsoft.compute", "UpdateVM", ""},
        class_row{
            "extension",
            "PUT",
            vm + "/extensions/e",
            call_kind::write,
            "microsoft.compute",
            "UpdateVM",
            ""},
        class_row{
            "deallocate",
            "POST",
            vm + "/deallocate",
            call_kind::write,
            "microsoft.compute",
            "DeleteVM",
            ""},
        class_row{
            "delete_machine", "DELETE", vm, call_kind::remove, "microsoft.compute", "DeleteVM", ""},
        class_row{
            "read_machine", "GET", vm, call_kind::read, "microsoft.compute", "LowCostGet", ""},
        class_row{
            "read_view",
            "GET",
            vm + "/instanceView",
            call_kind::read,
            "microsoft.compute",
            "LowCostGet",
            ""},
        class_row{
            "patches",
            "POST",
            vm + "/assessPatches",
            call_kind::write,
            "microsoft.compute",
            "GuestPatch",
            ""},
        class_row{
            "list_machines",
            "GET",
            compute + "virtualMachines",
            call_kind::read,
            "microsoft.compute",
            "HighCostGet",
            ""},
        class_row{
            "list_in_group",
            "GET",
            sub + "/resourceGroups/g/providers/Microsoft.Compute/virtualMachines",
            call_kind::read,
            "microsoft.compute",
            "HighCostGet",
            ""},
        class_row{
            "poll",
            "GET",
            compute + "locations/westeurope/operations/1",
            call_kind::read,
            "microsoft.compute",
            "GetOperation",
            "westeurope"},
        class_row{
            "poll_disk",
            "GET",
            compute + "locations/westeurope/DiskOperations/1",
            call_kind::read,
            "microsoft.compute",
            "GetOperation",
            "westeurope"},
        class_row{"disk", "GET", compute + "disks", call_kind::read, "microsoft.compute", "", ""},
        class_row{
            "quota",
            "GET",
            compute + "locations/eastus/usages",
            call_kind::read,
            "microsoft.compute",
            "",
            "eastus"},
        class_row{"interface", "PUT", nic, call_kind::write, "microsoft.network", "", ""},
        class_row{
            "group",
            "PUT",
            sub + "/resourcegroups/g",
            call_kind::write,
            "microsoft.resources",
            "",
            ""},
        class_row{
            "provider",
            "GET",
            sub + "/providers/Microsoft.Compute",
            call_kind::read,
            "microsoft.resources",
            "",
            ""},
        class_row{
            "register_provider",
            "POST",
            sub + "/providers/Microsoft.Compute/register",
            call_kind::write,
            "microsoft.resources",
            "",
            ""}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

TEST(azure_call_class, a_location_in_the_url_beats_the_callers) {
  EXPECT_EQ(classify("GET", compute + "locations/eastus/usages", "westeurope").region, "eastus");
  EXPECT_EQ(classify("PUT", vm, "westeurope").region, "westeurope");
}

TEST(azure_call_class, names_of_buckets_lose_their_minutes) {
  EXPECT_EQ(arm::policy_of_bucket("HighCostGet30Min"), "HighCostGet");
  EXPECT_EQ(arm::policy_of_bucket("putvm3min"), "PutVM");
  EXPECT_EQ(arm::policy_of_bucket("PutVM"), "PutVM");
  for (const char* other : {"", "Min", "30Min", "PutVMSS3Min", "vm1", "networkInterfaces"}) {
    EXPECT_EQ(arm::policy_of_bucket(other), "") << other;
  }
}

TEST(azure_token_bucket, hands_out_turns_in_the_order_of_asking) {
  base::steady_time now{};
  arm::token_bucket b({2, 10}, now);
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 5; ++i) {
    waits.push_back(b.wait(now).count());
    b.take(now);
  }
  EXPECT_THAT(waits, testing::ElementsAre(0, 0, 100, 200, 300));
  b.give_back(now);
  EXPECT_EQ(b.wait(now), milliseconds(300));
  now += seconds(60);
  EXPECT_TRUE(b.is_full(now));
  EXPECT_EQ(b.wait(now), milliseconds(0));
}

struct bucket_row {
  const char* name;
  const char* method;
  std::string url;
  int at_once;           // 80 % of Azure's bucket, or of the tightest one in the way
  std::int64_t pause_ms; // one call's refill at 80 % of Azure's rate
};

class azure_own_buckets : public testing::TestWithParam<bucket_row> {};

TEST_P(azure_own_buckets, hold_four_fifths_of_azures_and_bite_only_when_empty) {
  const bucket_row& row = GetParam();
  throttle t;
  const base::steady_time now{};
  const call_class c = classify(row.method, row.url, "westeurope");
  for (int i = 0; i < row.at_once; ++i) {
    ASSERT_EQ(t.take_turn(c, now, seconds(1), milliseconds::max()), milliseconds(0)) << i;
  }
  const auto wait = t.take_turn(c, now, seconds(1), milliseconds::max());
  ASSERT_TRUE(wait);
  EXPECT_GT(*wait, milliseconds(0));
  EXPECT_LE(*wait, milliseconds(row.pause_ms));
}

INSTANTIATE_TEST_SUITE_P(
    tables,
    azure_own_buckets,
    testing::Values(
        bucket_row{"reads_of_arm", "GET", sub + "/resources", 200, 50},
        bucket_row{"writes_of_arm", "PUT", sub + "/resourcegroups/g", 160, 125},
        bucket_row{"deletes_of_arm", "DELETE", sub + "/resourcegroups/g", 160, 125},
        bucket_row{"reads_of_a_tenant", "GET", "/tenants", 200, 50},
        bucket_row{"put_one_machine", "PUT", vm, 9, 18'750},
        bucket_row{"update_one_machine", "POST", vm + "/start", 9, 18'750},
        bucket_row{"delete_one_machine", "DELETE", vm, 9, 18'750},
        bucket_row{"read_one_machine", "GET", vm, 28, 6'250},
        bucket_row{
            "poll_one_operation", "GET", compute + "locations/westeurope/operations/1", 36, 5'000},
        bucket_row{"patch_one_guest", "POST", vm + "/installPatches", 4, 37'500}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

// With more than one subscription's front door lets through at once: time passes between the calls.
TEST(azure_own_buckets, count_a_region_of_the_compute_provider_together) {
  throttle t;
  base::steady_time now{};
  int lists = 0;
  const call_class c = classify("GET", compute + "virtualMachines", "westeurope");
  while (t.take_turn(c, now, seconds(1), milliseconds(0))) {
    ++lists;
    now += milliseconds(50); // the front door never bites at this pace
    ASSERT_LT(lists, 10'000);
  }
  // 720 at once and 4 a second on top.
  EXPECT_GE(lists, 720);
  EXPECT_LE(lists, 920);
  EXPECT_TRUE(t.take_turn(
      classify("GET", compute + "virtualMachines", "eastus"), now, seconds(1), milliseconds(0)
  ));
}

TEST(azure_own_buckets, count_the_writes_of_the_network_provider_together) {
  throttle t;
  base::steady_time now{};
  int writes = 0;
  while (t.take_turn(classify("PUT", nic), now, seconds(1), milliseconds(0))) {
    ++writes;
    now += milliseconds(125);
    ASSERT_LT(writes, 10'000);
  }
  EXPECT_GE(writes, 800);
  EXPECT_LE(writes, 1'300);
}

TEST(azure_own_buckets, take_nothing_when_the_turn_is_too_far_away) {
  throttle t;
  const base::steady_time now{};
  const call_class c = classify("PUT", sub + "/resourcegroups/g");
  for (int i = 0; i < 160; ++i) {
    t.take_turn(c, now, seconds(1), milliseconds(0));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(t.take_turn(c, now, seconds(1), milliseconds(10)));
  }
  EXPECT_EQ(t.take_turn(c, now + milliseconds(125), seconds(1), milliseconds(0)), milliseconds(0));
}

TEST(azure_own_buckets, have_shorter_seconds_where_rehearsals_have_shorter_pauses) {
  throttle t;
  const base::steady_time now{};
  const call_class c = classify("PUT", sub + "/resourcegroups/g");
  for (int i = 0; i < 160; ++i) {
    t.take_turn(c, now, milliseconds(10), milliseconds(0));
  }
  const auto wait = t.take_turn(c, now, milliseconds(10), seconds(1));
  ASSERT_TRUE(wait);
  EXPECT_LE(*wait, milliseconds(2));
}

TEST(azure_own_buckets, of_many_machines_are_forgotten_when_full) {
  throttle t;
  base::steady_time now{};
  for (int i = 0; i < 5'000; ++i) {
    const std::string url = vm + std::to_string(i);
    EXPECT_EQ(t.take_turn(classify("GET", url), now, seconds(1), seconds(1)), milliseconds(0)) << i;
    now += milliseconds(60);
  }
}

arm::error_body refusal(std::string_view code, std::string_view target = "") {
  arm::error_body body;
  body.status = 429;
  body.nodes.push_back({"OperationNotAllowed", "too many", ""});
  body.nodes.push_back({std::string(code), "too many", std::string(target)});
  return body;
}

TEST(azure_throttle, a_named_bucket_pauses_only_its_own_calls) {
  throttle t;
  const base::steady_time now{};
  const call_class list = classify("GET", compute + "virtualMachines");
  t.refused(list, refusal("TooManyRequests", "HighCostGet30Min"), now, seconds(1'200), seconds(1));
  EXPECT_EQ(t.pause_left(list, now), seconds(1'200));
  EXPECT_EQ(t.pause_left(classify("GET", vm), now), milliseconds(0));
  EXPECT_EQ(t.pause_left(classify("GET", compute + "disks"), now), milliseconds(0));
  EXPECT_EQ(t.pause_left(classify("PUT", vm), now), milliseconds(0));
}

TEST(azure_throttle, an_unnamed_refusal_pauses_kind_and_provider_in_its_region) {
  throttle t;
  const base::steady_time now{};
  t.refused(
      classify("PUT", nic, "westeurope"), refusal("TooManyRequests"), now, seconds(30), seconds(1)
  );
  EXPECT_EQ(t.pause_left(classify("PUT", nic + "2", "westeurope"), now), seconds(30));
  EXPECT_EQ(t.pause_left(classify("PUT", nic, "eastus"), now), milliseconds(0));
  EXPECT_EQ(t.pause_left(classify("PUT", nic), now), seconds(30)) << "unknown region: any";
  EXPECT_EQ(t.pause_left(classify("GET", nic, "westeurope"), now), milliseconds(0));
  EXPECT_EQ(t.pause_left(classify("DELETE", nic, "westeurope"), now), milliseconds(0));
  EXPECT_EQ(t.pause_left(classify("PUT", vm, "westeurope"), now), milliseconds(0));
}

TEST(azure_throttle, arms_own_refusal_pauses_the_kind_for_the_whole_subscription) {
  throttle t;
  const base::steady_time now{};
  t.refused(
      classify("GET", compute + "disks", "westeurope"),
      refusal("SubscriptionRequestsThrottled"),
      now,
      seconds(10),
      seconds(1)
  );
  for (const std::string& url : {sub + "/resources", nic, vm}) {
    EXPECT_EQ(t.pause_left(classify("GET", url, "eastus"), now), seconds(10)) << url;
    EXPECT_EQ(t.pause_left(classify("PUT", url, "eastus"), now), milliseconds(0)) << url;
  }
}

TEST(azure_throttle, pauses_double_without_advice_until_a_call_succeeds) {
  throttle t;
  base::steady_time now{};
  const call_class c = classify("GET", nic);
  std::vector<std::int64_t> pauses;
  for (int i = 0; i < 7; ++i) {
    const auto pause = t.refused(c, refusal("TooManyRequests"), now, milliseconds(0), seconds(1));
    pauses.push_back(pause.count() / 1'000);
    now += pause;
  }
  EXPECT_THAT(pauses, testing::ElementsAre(10, 20, 40, 80, 160, 300, 300));
  t.answered(c, {}, now, seconds(1));
  EXPECT_EQ(t.refused(c, refusal("TooManyRequests"), now, {}, seconds(1)), seconds(10));
}

struct advice_row {
  const char* name;
  net::header_list headers;
  std::int64_t least_ms;
  std::int64_t most_ms;
};

class azure_retry_after : public azure_arm, public testing::WithParamInterface<advice_row> {};

TEST_P(azure_retry_after, is_understood_in_every_form) {
  net::header_list headers = GetParam().headers;
  for (auto& [name, value] : headers) {
    if (value == "in 40 s") {
      value = base::to_http_date(clock.wall() + seconds(40));
    } else if (value == "a minute ago") {
      value = base::to_http_date(clock.wall() - seconds(60));
    }
  }
  arm.script(
      {"GET", "subscriptions", 1, 0, false, 429, fake_arm::error_text("TooManyRequests"), headers}
  );
  call_.deadline = clock.steady() + std::chrono::hours(24);
  const auto waited = during([&] { ASSERT_TRUE(read(some_path, arm::patience::lasting)); });
  EXPECT_GE(waited, milliseconds(GetParam().least_ms));
  EXPECT_LE(waited, milliseconds(GetParam().most_ms));
  EXPECT_EQ(arm.count_requests("GET", "subscriptions"), 2U);
}

// Up to a fifth more: those that wait together spread.
INSTANTIATE_TEST_SUITE_P(
    forms,
    azure_retry_after,
    testing::Values(
        advice_row{"seconds", {{"retry-after", "17"}}, 17'000, 20'400},
        advice_row{"fractions", {{"retry-after", "1.5"}}, 1'500, 1'800},
        advice_row{"milliseconds", {{"retry-after-ms", "2500"}}, 2'500, 3'000},
        advice_row{"azures_milliseconds", {{"x-ms-retry-after-ms", "2500"}}, 2'500, 3'000},
        advice_row{
            "milliseconds_win", {{"retry-after", "60"}, {"retry-after-ms", "2500"}}, 2'500, 3'000},
        advice_row{"a_date", {{"retry-after", "in 40 s"}}, 39'000, 48'000},
        advice_row{"a_past_date", {{"retry-after", "a minute ago"}}, 10'000, 12'000},
        advice_row{"none", {}, 10'000, 12'000},
        advice_row{"zero", {{"retry-after", "0"}}, 10'000, 12'000},
        advice_row{"negative", {{"retry-after", "-5"}}, 10'000, 12'000},
        advice_row{"words", {{"retry-after", "soon"}}, 10'000, 12'000},
        advice_row{"large", {{"retry-after", "1200"}}, 1'200'000, 1'440'000},
        advice_row{"absurd", {{"retry-after", "99999999999999999999"}}, 3'600'000, 4'320'000},
        advice_row{"too_short", {{"retry-after-ms", "1"}}, 1'000, 1'200}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

TEST_F(azure_arm, a_429_of_a_locked_reference_is_not_throttling) {
  for (const char* code : {"RetryableError", "RetryableErrorDueToAnotherOperation"}) {
    arm.script({"PUT", "", 1, 0, false, 429, fake_arm::error_text(code), {{"retry-after", "600"}}});
    const auto r = pipe_->write(
        scope_, {"PUT", group_id() + "?api-version=1", base::json::object(), false, true, "write"}
    );
    ASSERT_FALSE(r);
    EXPECT_EQ(reason_of(r.error()), reason::busy) << code;
    EXPECT_EQ(
        pipe_->options().throttling->pause_left(classify("PUT", group_id()), clock.steady()),
        milliseconds(0)
    );
  }
}

TEST_F(azure_arm, a_throttled_write_is_sent_again_after_the_pause) {
  arm.script(
      {"PUT",
       "",
       1,
       0,
       false,
       429,
       fake_arm::error_text("SubscriptionRequestsThrottled"),
       {{"retry-after", "10"}}}
  );
  const auto waited = during([&] {
    EXPECT_TRUE(pipe_->write(
        scope_, {"PUT", group_id() + "?api-version=1", base::json::object(), false, true, "write"}
    ));
  });
  EXPECT_GE(waited, seconds(10));
}

std::vector<base::json> waits_of(const fake_call& call) {
  std::vector<base::json> out;
  for (const base::json& c : call.checkpoints) {
    if (c["phase"].string_or("") == "wait") {
      out.push_back(c);
    }
  }
  return out;
}

TEST_F(azure_arm, a_wait_for_a_throttled_class_is_told_to_the_host_before_it_begins) {
  arm.script(
      {"PUT",
       "",
       1,
       0,
       false,
       429,
       fake_arm::error_text("TooManyRequests"),
       {{"retry-after", "10"}}}
  );
  arm.script({"PUT", "", 1, 0, false, 200, "{}", {}});
  std::vector<base::steady_time> told;
  call_.on_checkpoint = [&](const base::json&) -> sagent_code {
    told.push_back(clock.steady());
    return SAGENT_OK;
  };
  const base::steady_time before = clock.steady();
  ASSERT_TRUE(pipe_->write(
      scope_, {"PUT", vm + "?api-version=1", base::json::object(), false, true, "write"}
  ));
  const std::vector<base::json> waits = waits_of(call_);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(told.front(), before);
  EXPECT_EQ(waits[0]["reason"], base::json("throttled"));
  EXPECT_EQ(waits[0]["class"], base::json("write calls to microsoft.compute"));
  const milliseconds announced(waits[0]["for_ms"].integer().value_or(0));
  EXPECT_GE(announced, seconds(10));
  EXPECT_EQ(clock.steady() - before, announced);
}

TEST_F(azure_arm, a_host_that_says_stop_before_a_throttled_wait_is_obeyed) {
  arm.script(
      {"GET",
       "subscriptions",
       1,
       0,
       false,
       429,
       fake_arm::error_text("TooManyRequests"),
       {{"retry-after", "10"}}}
  );
  call_.on_checkpoint = [](const base::json&) -> sagent_code { return SAGENT_E_CANCELLED; };
  const auto waited = during([&] {
    const auto r = read();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, base::error_code::cancelled);
  });
  EXPECT_EQ(waited, milliseconds(0));
  EXPECT_EQ(arm.count_requests("GET", "subscriptions"), 1U);
}

TEST_F(azure_arm, a_long_wait_for_the_calls_own_turn_is_told_and_a_short_one_is_not) {
  const call_class c = classify("GET", some_path);
  while (pipe_->options().throttling->take_turn(c, clock.steady(), seconds(1), milliseconds(0))) {
  }
  ASSERT_TRUE(read());
  EXPECT_TRUE(waits_of(call_).empty());
  for (int i = 0; i < 40; ++i) { // two seconds of turns are taken by others
    ASSERT_TRUE(pipe_->options().throttling->take_turn(c, clock.steady(), seconds(1), seconds(60)));
  }
  ASSERT_TRUE(read());
  EXPECT_EQ(waits_of(call_).size(), 1U);
}

TEST_F(azure_arm, waits_for_a_turn_end_when_the_host_stops_the_call) {
  const call_class c = classify("GET", some_path);
  while (pipe_->options().throttling->take_turn(c, clock.steady(), seconds(1), milliseconds(0))) {
  }
  pipe_->options().throttling->take_turn(c, clock.steady(), seconds(1), seconds(60));
  call_.deadline = clock.steady() + milliseconds(20);
  const auto r = read();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::throttled) << "no turn before the deadline";
  EXPECT_EQ(arm.count_requests("GET", "subscriptions"), 0U);
}

TEST_F(azure_arm, an_exhausted_budget_delays_a_call_and_sends_it) {
  for (int i = 0; i < 220; ++i) {
    ASSERT_TRUE(read());
  }
  // Twenty more than the bucket holds, at twenty a second.
  EXPECT_GE(clock.steady().time_since_epoch(), milliseconds(900));
  EXPECT_LE(clock.steady().time_since_epoch(), milliseconds(1'100));
}

net::header_list left(const char* header, const char* value) {
  return {{header, value}};
}

TEST(azure_throttle, scarce_reads_are_left_to_the_others) {
  throttle t;
  const base::steady_time now{};
  const call_class c = classify("GET", compute + "virtualMachines");
  const char* header = "x-ms-ratelimit-remaining-subscription-reads";
  t.answered(c, left(header, "250"), now, seconds(1));
  EXPECT_EQ(t.courtesy(c, now), milliseconds(0));
  t.answered(c, left(header, "26"), now, seconds(1));
  EXPECT_EQ(t.courtesy(c, now), milliseconds(0));
  t.answered(c, left(header, "5"), now, seconds(1));
  EXPECT_GT(t.courtesy(c, now), milliseconds(0));
  EXPECT_EQ(t.courtesy(c, now + seconds(10)), milliseconds(0)) << "refilled meanwhile";
  t.answered(c, left(header, "200"), now, seconds(1));
  EXPECT_EQ(t.courtesy(c, now), milliseconds(0));
}

TEST(azure_throttle, buckets_of_the_compute_provider_are_watched_one_by_one) {
  throttle t;
  const base::steady_time now{};
  const call_class list = classify("GET", compute + "virtualMachines");
  const char* header = "x-ms-ratelimit-remaining-resource";
  t.answered(
      list,
      left(header, "Microsoft.Compute/HighCostGet3Min;140,Microsoft.Compute/HighCostGet30Min;900"),
      now,
      seconds(1)
  );
  EXPECT_EQ(t.courtesy(list, now), milliseconds(0));
  net::header_list twice{
      {header, "Microsoft.Compute/HighCostGet3Min;139"},
      {header, "Microsoft.Compute/HighCostGet30Min;20"}};
  t.answered(list, twice, now, seconds(1));
  EXPECT_GT(t.courtesy(list, now), seconds(5));
  EXPECT_EQ(t.courtesy(classify("GET", vm), now), milliseconds(0));
  for (const char* odd :
       {"", ";", "x", "Microsoft.Compute/;1", "Microsoft.Compute/HighCostGet3Min;-1", ",,,"}) {
    t.answered(list, left(header, odd), now, seconds(1));
  }
}

TEST_F(azure_arm, only_reads_that_can_wait_are_delayed_when_little_is_left) {
  const arm::scope patient(wrapped_, "", arm::urgency::can_wait);
  const char* header = "x-ms-ratelimit-remaining-subscription-reads";
  arm.script({"GET", "subscriptions", 1, 0, false, 200, "{}", {{header, "250"}}});
  arm.script({"GET", "subscriptions", 1, 0, false, 200, "{}", {{header, "2"}}});
  ASSERT_TRUE(read());
  ASSERT_TRUE(read());
  EXPECT_EQ(during([&] { ASSERT_TRUE(read()); }), milliseconds(0));
  arm.script({"GET", "subscriptions", 1, 0, false, 200, "{}", {{header, "2"}}});
  ASSERT_TRUE(read());
  EXPECT_GT(
      during([&] { ASSERT_TRUE(pipe_->read(patient, some_path, "list")); }), milliseconds(500)
  );
}

TEST(azure_throttle, is_shared_by_all_instances_of_a_subscription) {
  registry r;
  const auto one = r.subscription("https://arm", "AAAA");
  EXPECT_EQ(one, r.subscription("https://arm", "aaaa"));
  EXPECT_NE(one, r.subscription("https://arm", "bbbb"));
  EXPECT_NE(one, r.subscription("https://other", "aaaa"));
}

} // namespace

} // namespace siteagent::azure::test
