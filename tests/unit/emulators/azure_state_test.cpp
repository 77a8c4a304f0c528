// SPDX-License-Identifier: MIT
// A state on disk: kept through restarts, resumed by deadline.
#include "azure_fixture.hpp"
#include "tests/unit/emulators/api_client.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

namespace siteagent::azure_emulator {
namespace {

// Emulators that live one after the other on one directory and one clock.
class azure_state : public ::testing::Test {
public:
  azure_state() { EXPECT_TRUE(begin().has_value()); }

  base::result<void> begin() {
    one_.reset();
    one_ = std::make_unique<service>();
    for (const auto& o : one_->options()) {
      if (o.name == "--state") {
        EXPECT_TRUE(o.apply(files_.file("state")).has_value());
      }
    }
    one_->attach_clock(clock_);
    one_->set_timing(timing::fast());
    return one_->reset(true);
  }

  answer
  ask(const std::string& method,
      const std::string& path,
      const std::string& body = "",
      const net::header_list& more = {}) {
    net::server_request r;
    r.method = method;
    const auto mark = path.find('?');
    r.path = path.substr(0, mark);
    r.query = mark == std::string::npos ? "api-version=2024-07-01" : path.substr(mark + 1);
    r.target = r.path + "?" + r.query;
    for (const auto part : base::split(r.path, '/')) {
      if (!part.empty()) {
        r.segments.emplace_back(part);
      }
    }
    r.parameters = net::parse_query(r.query);
    r.headers = more;
    r.headers.emplace_back("content-length", "1");
    if (!token_.empty()) {
      r.headers.emplace_back("authorization", "Bearer " + token_);
    }
    r.body = body;
    emulators::call call;
    call.base_url = "http://h:1";
    call.request_id = "r";
    call.now = clock_.wall();
    auto response = one_->handle(r, call);
    one_->finish(r, call, response);
    answer a;
    a.status = response.status;
    a.headers = response.headers;
    if (auto parsed = base::json::parse(response.body)) {
      a.body = *parsed;
    }
    return a;
  }

  void login() {
    token_ =
        ask("POST",
            "/" + tenant_1 + "/oauth2/v2.0/token",
            "grant_type=client_credentials&client_id=33333333-3333-3333-3333-333333333333&"
            "client_secret=emulator-secret&scope=https%3A%2F%2Fmanagement.azure.com%2F.default")
            .body["access_token"]
            .string_or("");
  }

  base::json inventory() {
    emulators::call call;
    call.now = clock_.wall();
    return one_->inventory(call);
  }

  base::json last_line() const {
    std::ifstream in(files_.file("state/state.jsonl"));
    std::string last;
    for (std::string line; std::getline(in, line);) {
      last = line;
    }
    return base::json::parse(last).value_or(base::json());
  }

  static inline const std::string group = subscription_1 + "/resourceGroups/rg";
  static inline const std::string address =
      group + "/providers/Microsoft.Network/publicIPAddresses/ip";
  static inline const std::string address_body =
      R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})";

protected:
  emulators::test::temporary_directory files_;
  base::manual_clock clock_;
  std::unique_ptr<service> one_;
  std::string token_;
};

TEST_F(azure_state, comes_back_as_it_was) {
  ASSERT_TRUE(
      one_
          ->seed(*base::json::parse(
              R"({"machines":3,"page_size":2,"providers":{"Microsoft.Compute":"Registered","Microsoft.Network":"Registered"}})"
          ))
          .has_value()
  );
  login();
  EXPECT_EQ(ask("PUT", group, R"({"location":"westeurope","tags":{"a":"b"}})").status, 201);
  EXPECT_EQ(
      ask("PUT",
          group + "/providers/Microsoft.Authorization/locks/l",
          R"({"properties":{"level":"ReadOnly"}})")
          .status,
      201
  );
  const auto before = inventory();
  ASSERT_TRUE(begin().has_value());
  EXPECT_TRUE(one_->has_loaded_state());
  EXPECT_EQ(inventory(), before);
  EXPECT_EQ(ask("GET", group).status, 200) << "tokens are good after a restart, too";
  EXPECT_EQ(ask("DELETE", group).code(), "ScopeLocked");
  const auto page = ask("GET", subscription_1 + "/providers/Microsoft.Compute/virtualMachines");
  EXPECT_EQ(page.body["value"].size(), 2U) << "settings, too";
}

TEST_F(azure_state, operations_go_on_by_their_deadline) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  const auto started = ask("PUT", address, address_body);
  ASSERT_EQ(started.status, 201);
  const std::string monitor =
      started.header("Azure-AsyncOperation").substr(std::string("http://h:1").size());
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", monitor).body["status"].string_or(""), "InProgress");
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", monitor).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(ask("GET", address).state(), "Succeeded");
  EXPECT_EQ(ask("DELETE", address).status, 202);
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", address).status, 404);
}

TEST_F(azure_state, what_ended_while_nobody_was_there_ends_once) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  ask("PUT", address, address_body);
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(begin().has_value());
  const auto before = ask("GET", address).body;
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", address).body, before) << "its etag, too";
}

TEST_F(azure_state, a_first_line_that_was_never_finished_leaves_nothing_behind) {
  one_.reset();
  std::ofstream(files_.file("state/state.jsonl")) << R"({"put":{"rest)";
  ASSERT_TRUE(begin().has_value());
  EXPECT_FALSE(one_->has_loaded_state());
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  ask("PUT", group + "2", R"({"location":"westeurope"})");
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", group).status, 200);
}

TEST_F(azure_state, a_half_written_line_is_as_if_it_had_not_been) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  const auto before = inventory();
  one_.reset();
  {
    std::ofstream out(files_.file("state/state.jsonl"), std::ios::app);
    out << R"({"put":{"group:/subscriptions/x":{"name)";
  }
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(inventory(), before);
}

TEST_F(azure_state, damage_in_the_middle_is_an_error) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  one_.reset();
  {
    std::ofstream out(files_.file("state/state.jsonl"), std::ios::app);
    out << "nonsense\n{\"put\":{}}\n";
  }
  const auto done = begin();
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("damaged"), std::string::npos);
}

TEST_F(azure_state, belongs_to_one_emulator) {
  service other;
  for (const auto& o : other.options()) {
    if (o.name == "--state") {
      EXPECT_TRUE(o.apply(files_.file("state")).has_value());
    }
  }
  other.attach_clock(clock_);
  const auto done = other.reset(true);
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("in use"), std::string::npos);
}

TEST_F(azure_state, is_dropped_by_a_reset) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  ASSERT_TRUE(one_->reset(false).has_value());
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", group).status, 404);
}

TEST_F(azure_state, a_write_keeps_what_it_touched_and_nothing_else) {
  login();
  for (int i = 0; i < 40; ++i) {
    ask("PUT", group + std::to_string(i), R"({"location":"westeurope"})");
  }
  ask("PUT", group, R"({"location":"westeurope"})");
  ask("PUT", address, address_body);
  clock_.advance(std::chrono::seconds(30));
  ask("GET", address);
  ask("PUT", group + "7", R"({"location":"westeurope","tags":{"a":"b"}})");
  const auto written = last_line();
  std::vector<std::string> kinds;
  for (const auto& [key, record] : written["put"].members()) {
    kinds.push_back(key.substr(0, key.find(':')));
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"group", "event"})) << written.dump();
  ask("DELETE", group + "7");
  clock_.advance(std::chrono::seconds(30));
  ask("GET", group + "8");
  EXPECT_EQ(last_line()["drop"].size(), 1U) << last_line().dump();
}

TEST_F(azure_state, a_large_world_is_written_piece_by_piece) {
  ASSERT_TRUE(one_->seed(*base::json::parse(R"({"machines":80})")).has_value());
  const auto before = inventory();
  std::ifstream in(files_.file("state/state.jsonl"));
  std::size_t longest = 0;
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    longest = std::max(longest, line.size());
  }
  EXPECT_GT(lines, 240U);
  EXPECT_LT(longest, 20'000U);
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(inventory(), before);
}

TEST_F(azure_state, the_log_does_not_outgrow_what_it_holds) {
  login();
  std::string tags;
  for (int i = 0; i < 50; ++i) {
    tags += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + "\":\"" + std::string(250, 'v') + '"';
  }
  std::uintmax_t largest = 0;
  for (int i = 0; i < 120; ++i) {
    ask("PUT",
        group,
        R"({"location":"westeurope","tags":{"n":")" + std::to_string(i) + "\"," +
            tags.substr(tags.find(',') + 1) + "}}");
    largest = std::max(largest, std::filesystem::file_size(files_.file("state/state.jsonl")));
  }
  EXPECT_GT(largest, std::uintmax_t{1} << 19U);
  EXPECT_LT(std::filesystem::file_size(files_.file("state/state.jsonl")), std::uintmax_t{1} << 20U);
  const auto before = inventory();
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(inventory(), before);
  EXPECT_EQ(ask("GET", group).body.at({"tags", "n"}).string_or(""), "119");
}

TEST_F(azure_state, the_activity_log_comes_back_in_its_order) {
  login();
  for (int i = 0; i < 12; ++i) { // of one moment, so only their order tells them apart
    ask("PUT", group + std::to_string(i), R"({"location":"westeurope"})");
  }
  const std::string log =
      subscription_1 +
      "/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&"
      "$filter=eventTimestamp%20ge%20%271970-01-01T00%3A00%3A00Z%27";
  const auto before = ask("GET", log).body;
  EXPECT_EQ(before["value"].size(), 12U);
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", log).body, before);
}

} // namespace
} // namespace siteagent::azure_emulator
