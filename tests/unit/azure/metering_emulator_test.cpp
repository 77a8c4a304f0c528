// SPDX-License-Identifier: MIT
// Hours against the emulated Azure and its activity log: two sides that know nothing of each other.
#include "core/net/url.hpp"
#include "tests/unit/azure/emulated_azure.hpp"

#include <algorithm>
#include <optional>

namespace siteagent::azure::test {

namespace {

using base::json;
using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

// Azure as it is seen from far away: answers carry its date, and its log may show up late.
class distant_azure final : public net::transport {
public:
  explicit distant_azure(emulated_azure& inner) : inner_(inner) {}

  base::result<net::response> perform(const net::request& r) override {
    auto answer = inner_.perform(r);
    answer->headers.emplace_back("date", base::to_http_date(inner_.clock.wall()));
    if (hidden_from && r.url.find("eventtypes") != std::string::npos) {
      hide_late_events(*answer);
    }
    return answer;
  }

  std::optional<base::wall_time> hidden_from;

private:
  void hide_late_events(net::response& answer) const {
    auto page = *json::parse(answer.body);
    json kept = json::array();
    for (const json& e : page["value"].items()) {
      if (*base::parse_rfc3339(e["eventTimestamp"].string_or("")) < *hidden_from) {
        kept.push_back(e);
      }
    }
    page.set("value", kept);
    answer.body = page.dump();
  }

  emulated_azure& inner_;
};

class metered_hours : public azure_test {
protected:
  metered_hours() {
    host_data.secret = "emulator-secret";
    settings.set("tenant_id", "22222222-2222-2222-2222-222222222222");
    settings.set("client_id", "33333333-3333-3333-3333-333333333333");
    settings.set("default_image", "Canonical:ubuntu-24_04-lts:server:latest");
    settings.set("default_size", "Standard_D2s_v5");
    settings.set("polling", *json::parse(R"({"min_ms":1,"max_ms":2})"));
    settings.set(
        "cloud",
        json::object({{"resource_manager", emulated_azure::url}, {"authority", emulated_azure::url}}
        )
    );
    body.set(
        "components",
        *json::parse(
            R"({"cpu":{"metering":"hours"},"ram":{"metering":"hours","unit_factor":"1024"}})"
        )
    );
    body.set("timezone", "Europe/Tallinn");
    start_agent();
  }

  // With an empty memory, as after a restart.
  void start_agent() {
    fresh_ = std::make_unique<registry>();
    const std::string text = settings.dump();
    sagent_request request{};
    request.struct_size = sizeof request;
    request.body = sagent::borrow(text);
    azure = std::make_unique<backend>(
        host,
        sagent::request(request),
        dependencies{
            [this](const azure::settings&) { return std::make_unique<borrowed_transport>(far); },
            &clock,
            fresh_.get()}
    );
  }

  void advance(seconds by) {
    emulated.advance(by);
    clock.advance(by);
  }

  // To that time of Azure's clock.
  void at(const char* time) {
    advance(std::chrono::ceil<seconds>(*base::parse_rfc3339(time) - emulated.clock.wall()));
  }

  void create() {
    const fake_call made = run(&backend::create_resource);
    ASSERT_EQ(made.code, SAGENT_OK) << made.message;
    machine = made.emitted.front()["backend_id"].string_or("");
  }

  void power(method m) {
    const fake_call done = run(m, machine);
    ASSERT_EQ(done.code, SAGENT_OK) << done.message;
  }

  fake_call ask(int year, int month) {
    body.set("period", json::object({{"year", year}, {"month", month}}));
    body.set("resources", json::array({json::object({{"uuid", uuid}, {"backend_id", machine}})}));
    return run(&backend::report_usage);
  }

  // Hours of that component, to the second (three digits); "none": not measured.
  std::string booked(int year, int month, const char* component = "cpu") {
    const fake_call answer = ask(year, month);
    EXPECT_EQ(answer.code, SAGENT_OK) << answer.message;
    if (answer.emitted.size() != 1) {
      return "no row";
    }
    const json& row = answer.emitted.front();
    if (row["measured"] == json(false)) {
      return "none";
    }
    const auto amount =
        base::decimal::parse(row.at({"total", component}).number_text().value_or(""));
    return amount ? amount->to_fixed(2) : "no amount";
  }

  // A call of somebody else.
  int other(const std::string& verb, const std::string& path, const json& content) {
    net::request login;
    login.method = "POST";
    login.url = emulated_azure::url + "/22222222-2222-2222-2222-222222222222/oauth2/v2.0/token";
    login.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    login.body = "grant_type=client_credentials&client_id=33333333-3333-3333-3333-333333333333&"
                 "client_secret=emulator-secret&scope=" +
                 net::encode(emulated_azure::url + "/.default");
    const auto token = json::parse(emulated.perform(login)->body);
    net::request r;
    r.method = verb;
    r.url = emulated_azure::url + path + "?api-version=2024-07-01";
    r.headers = {
        {"Authorization", "Bearer " + (*token)["access_token"].string_or("")},
        {"Content-Type", "application/json"}};
    r.body = content.is_null() ? "" : content.dump();
    const int status = emulated.perform(r)->status;
    r.method = "GET"; // a look ends what runs
    r.body.clear();
    (void)emulated.perform(r);
    return status;
  }

  std::size_t log_reads() const { return emulated.count("GET", "eventtypes"); }

  emulated_azure emulated;
  distant_azure far{emulated};
  std::string machine;

private:
  std::unique_ptr<registry> fresh_; // outlives `azure` by the order of start_agent
};

TEST_F(metered_hours, are_those_of_the_cores_and_the_memory) {
  at("2026-10-05T00:00:00Z");
  create();
  advance(hours(10));
  EXPECT_EQ(booked(2026, 10), "20.00");
  EXPECT_EQ(booked(2026, 10, "ram"), "80.00");
}

TEST_F(metered_hours, case_use_03_are_exact_over_a_pause_and_a_restart_of_the_agent) {
  at("2026-10-05T00:00:00Z");
  create();
  advance(hours(10));
  power(&backend::pause);
  advance(hours(5));
  EXPECT_EQ(booked(2026, 10), "20.00") << "nothing runs on";
  power(&backend::restore);
  advance(hours(3));
  EXPECT_EQ(booked(2026, 10), "26.00");
  start_agent();
  EXPECT_EQ(booked(2026, 10), "26.00") << "nothing was kept in memory alone";
}

TEST_F(metered_hours, case_use_06_of_a_machine_deallocated_all_month_are_zero) {
  at("2026-09-20T00:00:00Z");
  create();
  power(&backend::pause);
  at("2026-10-15T00:00:00Z");
  EXPECT_EQ(booked(2026, 10), "0.00");
}

TEST_F(metered_hours, stop_at_the_end_of_the_month_of_the_zone) {
  at("2026-10-31T20:00:00Z"); // 22:00 in Tallinn
  create();
  at("2026-11-02T22:00:00Z"); // midnight of the 3rd
  EXPECT_EQ(booked(2026, 10), "4.00");
  EXPECT_EQ(booked(2026, 11), "96.00");
  body.set("timezone", "UTC");
  EXPECT_EQ(booked(2026, 10), "8.00");
  EXPECT_EQ(booked(2026, 11), "92.00") << "together the same";
}

TEST_F(metered_hours, case_time_02_of_months_with_a_change_of_the_clock_are_the_real_ones) {
  at("2026-09-15T00:00:00Z");
  create();
  at("2026-11-05T00:00:00Z");
  EXPECT_EQ(booked(2026, 10), "1490.00") << "745 hours of two cores";
  at("2027-01-05T00:00:00Z");
  EXPECT_EQ(booked(2026, 12), "1488.00");
  at("2027-04-01T00:00:00Z");
  EXPECT_EQ(booked(2027, 3), "1486.00") << "743 hours";
}

TEST_F(metered_hours, follow_the_size_of_the_machine) {
  at("2026-10-05T00:00:00Z");
  create();
  advance(hours(10));
  EXPECT_LT(
      other(
          "PATCH",
          machine,
          *json::parse(R"({"properties":{"hardwareProfile":{"vmSize":"Standard_D4s_v5"}}})")
      ),
      300
  );
  advance(hours(5));
  EXPECT_EQ(booked(2026, 10), "40.00");
}

TEST_F(metered_hours, are_not_told_for_months_beyond_the_log) {
  at("2026-01-05T00:00:00Z");
  create();
  at("2026-10-15T00:00:00Z");
  EXPECT_EQ(booked(2026, 6), "none");
  EXPECT_EQ(booked(2026, 8), "1488.00");
  EXPECT_EQ(booked(2025, 12), "none") << "it did not exist";
}

TEST_F(metered_hours, are_read_from_every_page_of_the_log) {
  at("2026-10-05T00:00:00Z");
  create();
  for (int i = 0; i < 70; ++i) { // each cycle leaves four events, a page holds 200
    advance(hours(1));
    power(&backend::pause);
    advance(hours(1));
    power(&backend::restore);
  }
  EXPECT_EQ(booked(2026, 10), "140.00");
  EXPECT_GT(log_reads(), 1U);
}

TEST_F(metered_hours, wait_for_events_that_are_late) {
  at("2026-10-05T00:00:00Z");
  create();
  advance(hours(10));
  far.hidden_from = emulated.clock.wall();
  power(&backend::pause);
  advance(std::chrono::minutes(20));
  EXPECT_EQ(booked(2026, 10), "none");
  advance(hours(1));
  EXPECT_EQ(booked(2026, 10), "20.00") << "by the machine's own account";
  power(&backend::restore);
  advance(hours(2));
  far.hidden_from = {};
  EXPECT_EQ(booked(2026, 10), "24.00");
}

TEST_F(metered_hours, read_only_what_is_new_of_the_log) {
  at("2026-10-05T00:00:00Z");
  create();
  const auto since = [&] {
    const auto& log = emulated.log();
    const auto last = std::find_if(log.rbegin(), log.rend(), [](const logged& l) {
      return l.path.find("eventtypes") != std::string::npos;
    });
    return net::decode(last->query);
  };
  EXPECT_EQ(booked(2026, 10), "0.00");
  EXPECT_THAT(since(), HasSubstr("ge '2026-07-08T"));
  advance(hours(12));
  EXPECT_EQ(booked(2026, 10), "24.00");
  EXPECT_THAT(since(), HasSubstr("ge '2026-10-04T18:")) << "and six hours more, for late ones";
  const auto reads = log_reads();
  EXPECT_EQ(booked(2026, 9), "none");
  EXPECT_EQ(log_reads(), reads) << "the calls of one report share a reading";
}

TEST_F(metered_hours, are_one_reading_of_the_log_for_all_machines) {
  at("2026-10-05T00:00:00Z");
  json resources = json::array();
  create();
  for (int i = 0; i < 40; ++i) {
    resources.push_back(json::object({{"uuid", uuid}, {"backend_id", machine}}));
  }
  body.set("resources", resources);
  body.set("period", *json::parse(R"({"year":2026,"month":10})"));
  const fake_call answer = run(&backend::report_usage);
  EXPECT_THAT(answer.emitted, SizeIs(40));
  EXPECT_EQ(log_reads(), 1U);
}

TEST_F(metered_hours, stand_beside_snapshots_of_the_current_month) {
  body.set(
      "components", *json::parse(R"({"cpu":{"metering":"hours"},"ram":{"unit_factor":"1024"}})")
  );
  at("2026-10-05T00:00:00Z");
  create();
  at("2026-11-05T00:00:00Z");
  EXPECT_EQ(booked(2026, 11, "ram"), "8.00");
  EXPECT_EQ(booked(2026, 10, "ram"), "no amount");
  EXPECT_EQ(booked(2026, 10), "1292.00") << "646 hours of October in Tallinn's time";
}

TEST_F(metered_hours, need_a_log_that_can_be_read) {
  at("2026-10-05T00:00:00Z");
  create();
  emulated.seed(*json::parse(
      R"({"applications":[{"client_id":"33333333-3333-3333-3333-333333333333","secret":"emulator-secret",
          "object_id":"o","permissions":[{"scope":"/","actions":["Microsoft.Compute/*"]}]}]})"
  ));
  start_agent();
  const fake_call answer = ask(2026, 10);
  EXPECT_NE(answer.code, SAGENT_OK);
  EXPECT_THAT(answer.emitted, SizeIs(0));
}

TEST_F(metered_hours, ask_for_the_right_to_read_the_log) {
  body = json::object({{"what", "role"}});
  EXPECT_THAT(run(&backend::describe).emitted.front().dump(), Not(HasSubstr("Microsoft.Insights")));
  body.set("components", *json::parse(R"({"cpu":{"metering":"hours"}})"));
  EXPECT_THAT(
      run(&backend::describe).emitted.front().dump(),
      HasSubstr("Microsoft.Insights/eventtypes/values/read")
  );
}

} // namespace

} // namespace siteagent::azure::test
