// SPDX-License-Identifier: MIT
// The null provider: what it says of itself, prices, credit, states and lists.
#include "hosts_fixture.hpp"

namespace {

using namespace null_test;

class null_reads : public null_cloud {
protected:
  json prices(const std::string& size, const std::vector<std::string>& locations) {
    return answer(
        operation::price_size, json::object({{"size", size}, {"locations", texts(locations)}})
    );
  }

  json place(const std::string& size, std::int64_t disk = 64) const {
    return json::object({{"name", "b1"}, {"location", "here"}, {"size", size}, {"disk_gb", disk}});
  }
};

TEST_F(null_reads, quotes_a_stock_list_without_one_of_its_own) {
  const json said = prices("medium", {"HERE", "there", "nowhere"});
  EXPECT_EQ(said["size"], json("Medium"));
  ASSERT_EQ(said["quotes"].size(), 2u);
  EXPECT_EQ(
      said["quotes"][0],
      parse(R"({"location":"here","hour":"0.384","currency":"USD","meter":"hours"})")
  );
  EXPECT_EQ(said["quotes"][1]["hour"], json("0.40")) << "money is text";
}

TEST_F(null_reads, quotes_what_the_list_says_also_nothing_several_and_in_another_currency) {
  change([](json& all) {
    all.set("prices", parse(R"({"here":{"A":["0.10",{"hour":"0.20","meter":"late"}]},
                               "there":{"A":{"hour":"0.3","currency":"EUR"}},"far":{"B":"1"}})"));
  });
  const json said = prices("a", {"here", "there", "far"});
  ASSERT_EQ(said["quotes"].size(), 3u);
  EXPECT_EQ(said["quotes"][1]["meter"], json("late"));
  EXPECT_EQ(said["quotes"][2]["currency"], json("EUR"));
  EXPECT_EQ(prices("none", {"here"})["quotes"].size(), 0u);
}

TEST_F(null_reads, F10_a_page_that_fails_fails_the_whole) {
  change([](json& all) {
    all.set("price_page_size", 1);
    all.set("script", parse(R"({"faults":[{"kind":"price-page","name":"2","http_status":500}]})"));
  });
  EXPECT_EQ(prices("Medium", {"here"})["quotes"].size(), 1u) << "one page";
  const error e = failure(
      operation::price_size,
      json::object({{"size", "Medium"}, {"locations", texts({"here", "there"})}})
  );
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("price page 2 cannot be read"), std::string::npos);
}

TEST_F(null_reads, tells_the_balance_as_the_file_has_it) {
  EXPECT_EQ(answer(operation::credit_balance, json::object())["current"], json("1000.00"));
  for (const char* credit :
       {R"({"current":"900.00","estimated":"880.10","currency":"USD"})",
        R"({"reported":false,"reason":"no credit here"})",
        R"({"current":"5","currency":"EUR"})",
        R"({})"}) {
    const json given = parse(credit);
    change([&](json& all) { all.set("credit", given); });
    const json said = answer(operation::credit_balance, json::object());
    for (const char* member : {"current", "estimated", "currency", "reason"}) {
      EXPECT_EQ(said[member], given[member]) << credit;
    }
    EXPECT_EQ(said["reported"], json(given["reported"].boolean().value_or(true)));
  }
  script(R"({"faults":[{"kind":"credit-balance","http_status":503}]})");
  EXPECT_EQ(failure(operation::credit_balance, json::object()).code, error_code::transient);
}

TEST_F(null_reads, validates_size_architecture_and_disk) {
  EXPECT_EQ(answer(operation::validate_host, place("LARGE"))["size"], json("Large"));
  EXPECT_EQ(answer(operation::validate_host, place("anything"))["size"], json("anything"));
  change([](json& all) {
    all.set("sizes", parse(R"({"Big":{"max_disk_gb":100},"Arm":{"architecture":"arm64"}})"));
  });
  EXPECT_EQ(answer(operation::validate_host, place("big"))["size"], json("Big"));
  for (const auto& [body, field] :
       {std::pair(place("other"), "size"),
        std::pair(place("arm"), "size"),
        std::pair(place("big", 101), "disk_gb")}) {
    const error e = failure(operation::validate_host, body);
    EXPECT_EQ(e.code, error_code::invalid);
    EXPECT_EQ(parse(e.detail)["field"], json(field));
  }
}

TEST_F(null_reads, R71_tells_the_power_state_a_test_set) {
  const json made = make("b1");
  const json body = known("b1", made["vm_id"]);
  EXPECT_EQ(answer(operation::host_state, body)["state"], json("running"));
  for (const auto& [member, value, seen] :
       {std::tuple("power", "deallocated", "deallocated"),
        std::tuple("power", "stopping", "stopping"),
        std::tuple("status", "creating", "creating"),
        std::tuple("vm_id", "another", "absent")}) {
    change([&](json& all) {
      all.member_ref("objects").member_ref("/null/virtual-machine/b1").set(member, value);
    });
    EXPECT_EQ(answer(operation::host_state, body)["state"], json(seen)) << member;
  }
  EXPECT_EQ(answer(operation::host_state, known("b2", "x"))["state"], json("absent"));
  script(R"({"faults":[{"kind":"virtual-machine","verb":"get","name":"b1","http_status":503}]})");
  EXPECT_EQ(failure(operation::host_state, body).code, error_code::transient);
}

TEST_F(null_reads, lists_everything_that_carries_the_tag_also_without_a_machine) {
  const json made = make("b1");
  make("b2");
  change([](json& all) {
    json& objects = all.member_ref("objects");
    objects.erase("/null/virtual-machine/b2");
    objects.set("/null/disk/foreign", parse(R"({"kind":"disk","tags":{"other":"b1"}})"));
  });
  const auto rows = call(operation::list_hosts, json::object({{"tag", "stado_cloud_host"}}));
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0]["name"], json("b1"));
  EXPECT_EQ((*rows)[0]["vm_id"], made["vm_id"]);
  EXPECT_EQ((*rows)[0]["state"], json("running"));
  EXPECT_EQ((*rows)[0]["objects"].size(), 5u);
  EXPECT_EQ((*rows)[0]["tags"]["stado_created"], json("now"));
  EXPECT_EQ((*rows)[1]["state"], json("absent"));
  EXPECT_TRUE((*rows)[1]["vm_id"].is_null());
  EXPECT_EQ((*rows)[1]["objects"].size(), 4u);
}

TEST_F(null_reads, R118_reads_a_stored_secret_afresh_and_never_writes_it_down) {
  script(R"({"requires_credentials":true})");
  EXPECT_EQ(failure(operation::credit_balance, json::object()).code, error_code::auth);
  EXPECT_TRUE(prices("Medium", {"here"})["quotes"].size() > 0) << "prices need none";
  json given = settings();
  given.set("credentials", parse(R"({"control":{"account":"a","secret":"sagent-secret:s"}})"));
  int reads = 0;
  open_ = open_with(given, {{"sagent-secret:s", [&reads] {
                               ++reads;
                               return base::result<base::secret>(base::secret("the-null-secret"));
                             }}});
  answer(operation::credit_balance, json::object());
  EXPECT_EQ(reads, 1);
  make("b1");
  EXPECT_EQ(text_of(file()).find("the-null-secret"), std::string::npos);
  EXPECT_EQ(text_of(file() + ".calls").find("the-null-secret"), std::string::npos);
  EXPECT_EQ(text_of(file() + ".calls").find("sagent-secret"), std::string::npos);
}

TEST_F(null_reads, checks_credentials_networks_and_billing) {
  change([](json& all) {
    all.set("locations", parse(R"({"here":{}})")).set("credit", parse(R"({"reported":false})"));
  });
  const auto lines =
      call(operation::check, json::object({{"locations", texts({"here", "there"})}}));
  ASSERT_TRUE(lines);
  std::vector<std::string> seen;
  for (const json& each : *lines) {
    seen.push_back(
        each["name"].string_or("") + (each["ok"].boolean() == true ? " ok" : " not") +
        (each["needed"].boolean() == true ? "" : " optional")
    );
  }
  EXPECT_EQ(
      seen,
      (std::vector<std::string>{
          "credentials ok", "network here ok", "network there not", "billing not optional"})
  );
}

TEST_F(null_reads, R22_every_call_is_logged_with_its_request_before_anything_else) {
  script(R"({"faults":[{"operation":"host_state","http_status":500}]})");
  make("b1");
  failure(operation::host_state, known("b1", json()));
  answer(operation::delete_host, known("b1", json()), true);
  EXPECT_EQ(
      calls(),
      (std::vector<std::string>{"admit_addresses", "create_host", "host_state", "delete_host"})
  );
  std::string last;
  std::ifstream in(file() + ".calls");
  for (std::string line; std::getline(in, line);) {
    last = line;
  }
  EXPECT_EQ(parse(last)["dry_run"], json(true));
  EXPECT_EQ(parse(last).at({"request", "name"}), json("b1"));
  EXPECT_TRUE(parse(last)["time"].is_string());
}

TEST_F(null_reads, a_file_that_is_no_state_is_told_by_name) {
  set_state("[]");
  const error e = failure(operation::credit_balance, json::object());
  EXPECT_EQ(e.code, error_code::not_ready);
  EXPECT_NE(e.message.find(file()), std::string::npos);
}

TEST_F(null_reads, latency_comes_before_the_operation_and_ends_at_its_deadline) {
  script(R"({"latency_ms":{"host_state":3600000}})");
  const auto opened = open_with(settings());
  host::call_options o;
  o.deadline = std::chrono::milliseconds(20);
  const auto ended = opened->call(
      operation::host_state,
      {.target = {}, .body = known("b1", json()), .idempotency_key = {}, .dry_run = false},
      o
  );
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, error_code::deadline);
  script(R"({"latency_ms":{}})");
  EXPECT_EQ(answer(operation::host_state, known("b1", json()))["state"], json("absent"));
}

} // namespace
