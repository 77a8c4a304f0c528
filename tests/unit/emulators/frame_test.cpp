// SPDX-License-Identifier: MIT
// The frame around an emulator: admin calls, faults, journal, clock, TLS.
#include "core/net/transport.hpp"
#include "tests/emulators/common/journal.hpp"
#include "tests/emulators/common/tls.hpp"
#include "tests/unit/emulators/api_client.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace siteagent::emulators {

namespace {

using base::json;
using test::api_client;
using test::quoted;
using test::temporary_directory;

// Counts what reaches it; the count is its whole state.
class counter final : public backend {
public:
  std::string name() const override { return "counter"; }

  void attach_clock(const base::clock& clock) override { clock_ = &clock; }

  base::result<void> reset(bool) override {
    count = 0;
    return {};
  }

  base::result<void> seed(const json& document) override {
    const auto n = document["count"].integer();
    if (!n) {
      return base::error{.code = base::error_code::invalid, .message = "seed: no count"};
    }
    count = static_cast<int>(*n);
    return {};
  }

  json inventory(const call&) override { return json::object({{"count", count}}); }

  void clock_advanced() override { ++advances; }

  std::vector<std::string> banner() const override { return {}; }

  bool takes_operation_faults() const override { return true; }

  net::server_response handle(const net::server_request& r, const call& c) override {
    if (r.path == "/throw") {
      throw std::runtime_error("bug");
    }
    ++count;
    auto answer = json_response(
        200,
        json::object(
            {{"count", count},
             {"base_url", c.base_url},
             {"now", base::to_rfc3339(c.now)},
             {"skew", c.skew.count()},
             {"operation", c.operation != nullptr ? json(c.operation->code) : json()}}
        )
    );
    if (r.path == "/later") {
      return waiting(3);
    }
    if (r.path == "/slow") {
      answer.delay = std::chrono::milliseconds(20);
    }
    return answer;
  }

  void finish(const net::server_request&, const call& c, net::server_response& response) override {
    response.headers.emplace_back("X-Request-Id", c.request_id);
  }

  std::optional<net::server_response>
  administrate(std::string_view name, const json& body, const call&) override {
    if (name != "own") {
      return std::nullopt;
    }
    return body.is_null() ? waiting(2) : json_response(200, body);
  }

  int count = 0;
  int advances = 0;
  int looks = 0; // at what an answer waits for

private:
  net::server_response waiting(int more) {
    net::server_response r;
    r.delay = std::chrono::milliseconds(1);
    r.resume = [this, more] {
      ++looks;
      return more > 1 ? waiting(more - 1) : json_response(202, json::object({{"late", true}}));
    };
    return r;
  }

  const base::clock* clock_ = nullptr;
};

class frame_around : public testing::Test {
protected:
  void start(frame_options options = {}) {
    options.journal_file = files.file("journal");
    auto started = frame::start(emulator, options);
    ASSERT_TRUE(started) << started.error().message;
    running = *std::move(started);
    client = std::make_unique<api_client>(running->port());
  }

  void faults(const std::string& rules) {
    const auto r = client->call("PUT", "/_emu/faults", quoted("{'rules':[" + rules + "]}").dump());
    ASSERT_EQ(r.status, 204) << r.text;
  }

  std::vector<json> journal_lines() const {
    const std::string text = files.read("journal");
    std::vector<json> lines;
    for (auto line : base::split(text, '\n')) {
      if (!line.empty()) {
        lines.push_back(*json::parse(line));
      }
    }
    return lines;
  }

  temporary_directory files;
  counter emulator;
  std::unique_ptr<frame> running;
  std::unique_ptr<api_client> client;
};

TEST_F(frame_around, journals_each_request_before_its_answer) {
  start();
  const auto a = client->call("POST", "/x/y?q=1&q=2", "body");
  EXPECT_EQ(a.status, 200);
  const auto lines = journal_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["seq"].integer(), 1);
  EXPECT_EQ(lines[0]["method"].string_or(""), "POST");
  EXPECT_EQ(lines[0]["path"].string_or(""), "/x/y");
  EXPECT_EQ(lines[0]["query"].string_or(""), "q=1&q=2");
  EXPECT_EQ(lines[0]["status"].integer(), 200);
  EXPECT_EQ(lines[0]["body_sha256"].string_or(""), sha256_hex("body"));
  EXPECT_EQ(lines[0]["request_id"].string_or(""), a.headers.at("x-request-id"));
  EXPECT_TRUE(lines[0]["fault"].is_null());
  EXPECT_TRUE(base::parse_rfc3339(lines[0]["time"].string_or("")));
}

TEST_F(frame_around, journals_a_late_answer_when_it_leaves) {
  start();
  EXPECT_EQ(client->get("/slow").status, 200);
  EXPECT_EQ(journal_lines().size(), 1U);
}

TEST_F(frame_around, answers_when_what_a_request_waits_for_is_there) {
  start();
  const auto r = client->get("/later");
  EXPECT_EQ(r.status, 202);
  EXPECT_EQ(r.body["late"].boolean(), true);
  EXPECT_TRUE(r.headers.contains("x-request-id"));
  EXPECT_EQ(emulator.looks, 3);
  const auto lines = journal_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["status"].integer(), 202);
}

TEST_F(frame_around, ends_a_waiting_answer_as_the_script_says) {
  start();
  faults("{'match':{'path':'/later','nth':1},'when':'after','do':{'status':503}},"
         "{'match':{'path':'/later','nth':2},'when':'after','do':'cut'},"
         "{'match':{'path':'/later','nth':3},'do':'truncate'},"
         "{'match':{'path':'/later','nth':4},'when':'after','do':{'delay_ms':2}}");
  EXPECT_EQ(client->get("/later").status, 503);
  EXPECT_EQ(client->get("/later").status, 0);
  EXPECT_LT(client->get("/later").text.size(), std::string_view(R"({"late":true})").size());
  EXPECT_EQ(client->get("/later").status, 202);
  const auto lines = journal_lines();
  ASSERT_EQ(lines.size(), 4U);
  const std::int64_t statuses[] = {503, 0, 202, 202};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["status"].integer(), statuses[i]) << i;
    EXPECT_FALSE(lines[i]["fault"].is_null()) << i;
  }
}

TEST_F(frame_around, passes_admin_calls_it_does_not_know_to_the_emulator) {
  start();
  EXPECT_EQ(client->post("/_emu/own", quoted("{'x':1}")).body["x"].integer(), 1);
  EXPECT_EQ(client->post("/_emu/own").status, 202);
  EXPECT_EQ(client->post("/_emu/other").status, 404);
  EXPECT_EQ(client->post("/_emu").status, 404);
  EXPECT_TRUE(journal_lines().empty());
}

TEST_F(frame_around, does_not_journal_admin_calls) {
  start();
  client->get("/_emu/inventory");
  client->get("/_emu");
  EXPECT_TRUE(journal_lines().empty());
}

TEST_F(frame_around, continues_a_journal) {
  start();
  client->get("/");
  running.reset();
  start();
  client->get("/");
  EXPECT_EQ(journal_lines().at(1)["seq"].integer(), 2);
}

TEST(emulator_journal, digests_with_sha256) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(frame_around, builds_urls_from_the_host_and_the_listening_port) {
  start();
  const std::string port = std::to_string(running->port());
  EXPECT_EQ(client->get("/").body["base_url"].string_or(""), "http://127.0.0.1:" + port);
  const auto url_for = [&](const std::string& host) {
    net::test::raw_client c(running->port());
    const auto a = c.send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").read();
    return json::parse(a.body)->operator[]("base_url").string_or("");
  };
  EXPECT_EQ(url_for("waldur.example"), "http://waldur.example:" + port);
  EXPECT_EQ(url_for("[::1]:99"), "http://[::1]:" + port);
  EXPECT_EQ(url_for("bad\"host"), "http://127.0.0.1:" + port);
}

TEST_F(frame_around, builds_urls_from_the_public_url) {
  frame_options o;
  o.public_url = "https://outside.example/";
  start(o);
  EXPECT_EQ(client->get("/").body["base_url"].string_or(""), "https://outside.example");
}

TEST_F(frame_around, shows_seeds_and_resets_objects) {
  frame_options o;
  o.seed_file = files.write("seed", R"({"count": 7})");
  start(o);
  EXPECT_EQ(client->get("/_emu/inventory").body["count"].integer(), 7);
  EXPECT_EQ(client->post("/_emu/seed", quoted("{'count':20}")).status, 204);
  EXPECT_EQ(client->get("/").body["count"].integer(), 21);
  EXPECT_EQ(client->post("/_emu/reset").status, 204);
  EXPECT_EQ(client->get("/_emu/inventory").body["count"].integer(), 7);
}

TEST_F(frame_around, answers_bad_admin_calls_with_the_reason) {
  start();
  EXPECT_EQ(client->post("/_emu/seed", quoted("{'x':1}")).status, 400);
  EXPECT_EQ(client->call("POST", "/_emu/seed", "{").status, 400);
  EXPECT_EQ(client->call("PUT", "/_emu/faults", "{}").status, 400);
  EXPECT_EQ(client->post("/_emu/clock", quoted("{'advance_s':-1}")).status, 400);
  EXPECT_EQ(client->post("/_emu/clock", quoted("{}")).status, 400);
  EXPECT_EQ(client->get("/_emu/nothing").status, 404);
  EXPECT_EQ(client->get("/_emu/reset").status, 404);
}

TEST_F(frame_around, moves_the_clock) {
  start();
  const auto before = base::parse_rfc3339(client->get("/").body["now"].string_or(""));
  EXPECT_EQ(client->post("/_emu/clock", quoted("{'advance_s':86400}")).status, 200);
  const auto after = base::parse_rfc3339(client->get("/").body["now"].string_or(""));
  EXPECT_GE(*after - *before, std::chrono::hours(24));
  EXPECT_EQ(emulator.advances, 1);
}

TEST_F(frame_around, replaces_answers_before_or_after_they_took_effect) {
  start();
  faults("{'match':{'method':'PUT'},'do':{'status':503,'body':'no'}},"
         "{'match':{'method':'DELETE'},'when':'after','do':{'status':503,'body':'no'}}");
  const auto before = client->call("PUT", "/");
  EXPECT_EQ(before.status, 503);
  EXPECT_EQ(before.text, "no");
  EXPECT_EQ(before.headers.count("x-request-id"), 1U);
  EXPECT_EQ(emulator.count, 0);
  EXPECT_EQ(client->call("DELETE", "/").status, 503);
  EXPECT_EQ(emulator.count, 1);
  EXPECT_EQ(journal_lines()[0]["fault"].string_or(""), "before status 503");
  EXPECT_EQ(journal_lines()[1]["fault"].string_or(""), "after status 503");
}

TEST_F(frame_around, cuts_and_truncates) {
  start();
  faults(
      "{'match':{'path':'cut'},'when':'after','do':'cut'},{'match':{'path':'half'},'do':'truncate'}"
  );
  EXPECT_EQ(client->get("/cut").status, 0);
  EXPECT_EQ(emulator.count, 1);
  EXPECT_EQ(journal_lines()[0]["status"].integer(), 0);
  EXPECT_EQ(journal_lines()[0]["fault"].string_or(""), "after cut");
  const auto half = client->get("/half");
  EXPECT_EQ(half.status, 200);
  EXPECT_EQ(
      half.text.size(), static_cast<std::size_t>(std::stoi(half.headers.at("content-length"))) / 2
  );
}

TEST_F(frame_around, shows_in_the_journal_that_a_request_hangs) {
  start();
  faults("{'when':'after','do':'hang'}");
  net::test::raw_client c(running->port());
  c.send("PUT /machine HTTP/1.1\r\nHost: h\r\n\r\n");
  while (journal_lines().empty()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(journal_lines()[0]["fault"].string_or(""), "after hang");
  EXPECT_EQ(journal_lines()[0]["status"].integer(), 0);
  EXPECT_EQ(emulator.count, 1);
  EXPECT_TRUE(c.is_quiet());
  running->stop();
  EXPECT_TRUE(c.is_closed());
}

TEST_F(frame_around, delays_requests_and_answers) {
  start();
  faults("{'match':{'path':'early'},'do':{'delay_ms':30}},"
         "{'match':{'path':'late'},'when':'after','do':{'delay_ms':30,'status':500}}");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client->get("/early").status, 200);
  EXPECT_EQ(client->get("/late").status, 500);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
  EXPECT_EQ(journal_lines().size(), 2U);
}

TEST_F(frame_around, lets_the_body_of_an_answer_drip) {
  start();
  faults(
      "{'match':{'path':'drip'},'do':{'slow_ms_per_chunk':5}},"
      "{'match':{'path':'refused'},'do':{'slow_ms_per_chunk':5,'status':500,'body':'0123456789'}},"
      "{'match':{'path':'half'},'when':'after','do':{'slow_ms_per_chunk':1,'delay_ms':5}}"
  );
  net::test::raw_client c(running->port());
  const auto begin = std::chrono::steady_clock::now();
  const auto whole = c.send("GET /drip HTTP/1.1\r\nHost: h\r\n\r\n").read();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(40));
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.is_complete);
  EXPECT_EQ(json::parse(whole.body).value_or(json())["count"].integer(), 1);
  const auto next = c.send("GET /refused HTTP/1.1\r\nHost: h\r\n\r\n").read();
  EXPECT_EQ(next.status, 500) << "the connection goes on";
  EXPECT_EQ(next.body, "0123456789");
  EXPECT_TRUE(client->get("/half").body["count"].integer().has_value());
  EXPECT_EQ(journal_lines()[0]["fault"].string_or(""), "before slow 5 ms");
}

TEST_F(frame_around, is_off_by_a_skew_for_one_request) {
  start();
  faults("{'match':{'path':'back'},'do':{'skew_s':-300}},{'match':{'path':'forth'},'do':{'skew_s':"
         "300}}");
  const auto seen = [&](const std::string& path) {
    const auto answer = client->get(path);
    const auto now = base::parse_rfc3339(answer.body["now"].string_or(""));
    const auto date = base::parse_http_date(answer.headers.at("date"));
    EXPECT_TRUE(now && date);
    const auto off = std::chrono::duration_cast<std::chrono::seconds>(*date - *now).count();
    return std::pair(off, answer.body["skew"].integer().value_or(1));
  };
  const auto back = seen("/back");
  EXPECT_NEAR(static_cast<double>(back.first), -300, 30);
  EXPECT_EQ(back.second, -300);
  const auto forth = seen("/forth");
  EXPECT_NEAR(static_cast<double>(forth.first), 300, 30);
  EXPECT_EQ(forth.second, 300);
  const auto right = seen("/");
  EXPECT_NEAR(static_cast<double>(right.first), 0, 30);
  EXPECT_EQ(right.second, 0);
}

TEST_F(frame_around, hands_operation_faults_to_the_emulator) {
  start();
  faults("{'match':{'method':'PUT'},'do':{'operation':'Failed','code':'QuotaExceeded'}}");
  EXPECT_EQ(client->call("PUT", "/").body["operation"].string_or(""), "QuotaExceeded");
  EXPECT_TRUE(client->call("PUT", "/").body["operation"].is_null());
}

TEST_F(frame_around, restores_the_fault_script_of_the_command_line_on_reset) {
  frame_options o;
  o.faults_file = files.write("faults", R"({"rules":[{"do":{"status":500}}]})");
  start(o);
  EXPECT_EQ(client->get("/").status, 500);
  EXPECT_EQ(client->get("/").status, 200);
  client->post("/_emu/reset");
  EXPECT_EQ(client->get("/").status, 500);
}

TEST_F(frame_around, survives_a_bug_in_the_emulator) {
  start();
  testing::internal::CaptureStderr();
  EXPECT_EQ(client->get("/throw").status, 500);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "counter: GET /throw: bug\n");
  EXPECT_EQ(journal_lines()[0]["status"].integer(), 500);
}

TEST_F(frame_around, writes_the_port_and_a_newline) {
  frame_options o;
  o.port_file = files.file("port");
  start(o);
  EXPECT_EQ(files.read("port"), std::to_string(running->port()) + "\n");
}

TEST_F(frame_around, serves_tls_that_clients_can_verify_and_keeps_its_certificate) {
  frame_options o;
  o.tls_auto_directory = files.file("tls");
  start(o);
  EXPECT_TRUE(running->url().starts_with("https://"));
  net::transport_options to;
  to.ca_file = files.file("tls/ca.pem");
  auto transport = net::make_transport(to);
  ASSERT_TRUE(transport);
  const std::string port = std::to_string(running->port());
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    net::request r;
    r.url = "https://" + host + ":" + port + "/";
    const auto answer = (*transport)->perform(r);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(
        json::parse(answer->body)->operator[]("base_url").string_or(""),
        "https://" + host + ":" + port
    );
  }
  const std::string authority = files.read("tls/ca.pem");
  running.reset();
  start(o);
  EXPECT_EQ(files.read("tls/ca.pem"), authority);
}

TEST_F(frame_around, names_the_option_that_keeps_it_from_starting) {
  const std::string bad = files.write("bad", "{");
  const std::string empty = files.write("empty", "{}");

  struct {
    frame_options options;
    std::string word;
  } cases[8];

  cases[0].options.seed_file = files.file("absent");
  cases[0].word = "--seed";
  cases[1].options.seed_file = bad;
  cases[1].word = "--seed";
  cases[2].options.seed_file = empty;
  cases[2].word = "no count";
  cases[3].options.faults_file = empty;
  cases[3].word = "--faults";
  cases[4].options.journal_file = files.file("no/such/directory");
  cases[4].word = "--journal";
  cases[5].options.public_url = "outside";
  cases[5].word = "--public-url";
  cases[6].options.port_file = files.file("no/such/port");
  cases[6].word = "--port-file";
  cases[7].options.tls_auto_directory = bad + "/tls";
  cases[7].word = "--tls-auto";
  for (const auto& c : cases) {
    const auto started = frame::start(emulator, c.options);
    ASSERT_FALSE(started) << c.word;
    EXPECT_NE(started.error().message.find(c.word), std::string::npos) << started.error().message;
  }
}

} // namespace

} // namespace siteagent::emulators
