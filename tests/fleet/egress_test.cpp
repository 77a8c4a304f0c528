// SPDX-License-Identifier: MIT
#include "core/fleet/egress.hpp"
#include "tests/fleet/control.hpp"
#include "tests/fleet/scripted_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>

namespace siteagent::fleet {
namespace {

using base::error_code;
using base::json;
using test::control;
using test::machine;
using test::scripted_channel;
using testing::HasSubstr;

TEST(api_url, R93_is_an_https_origin) {
  struct row {
    const char* text;
    const char* origin; // "" = refused
  };

  for (const row& r : {
           row{"https://stado.example.org", "https://stado.example.org"},
           row{"https://stado.example.org///", "https://stado.example.org"},
           row{"https://stado.example.org:8443", "https://stado.example.org:8443"},
           row{"http://127.0.0.1:8080", "http://127.0.0.1:8080"},
           row{"http://localhost:8080/", "http://localhost:8080"},
           row{"http://stado.example.org", ""},
           row{"", ""},
           row{"/", ""},
           row{"stado.example.org", ""},
           row{"ftp://stado.example.org", ""},
           row{"https://user:password@stado.example.org", ""},
           row{"https://stado.example.org/path", ""},
           row{"https://stado.example.org?q=1", ""},
           row{"https://stado.example.org#f", ""},
           row{"https://stado.example.org/'; touch x; '", ""},
       }) {
    const auto checked = check_api_url(r.text);
    ASSERT_EQ(checked.has_value(), *r.origin != '\0') << r.text;
    if (checked) {
      EXPECT_EQ(*checked, r.origin);
    } else {
      EXPECT_EQ(checked.error().code, error_code::invalid);
      EXPECT_THAT(checked.error().message, HasSubstr("api.url"));
      EXPECT_THAT(checked.error().message, testing::Not(HasSubstr(":password@")));
    }
  }
}

TEST(egress_answer, R124_F17_NET_02_is_one_public_ipv4_address) {
  struct row {
    std::string body;
    std::string address; // "" = refused
  };

  const std::vector<row> rows{
      {"8.8.4.4", "8.8.4.4"},
      {" 8.8.4.4 \r\n", "8.8.4.4"},
      {R"({"address":"8.8.4.4","seen":1})", "8.8.4.4"},
      {"255.0.0.1", ""},
      {"", ""},
      {"\n", ""},
      {"2001:db8::1", ""},
      {"::ffff:8.8.4.4", ""},
      {"8.8.4.4\n8.8.8.8\n", ""},
      {"8.8.4.4:443", ""},
      {"8.8.4.4/32", ""},
      {"8.8.4", ""},
      {"8.8.4.4.", ""},
      {"010.8.4.4", ""},
      {"8.8.4.04", ""},
      {"8.8.4.256", ""},
      {"8.8.4.4444", ""},
      {"8.8.4.+4", ""},
      {"134744072", ""},
      {"example.org", ""},
      {"<html>Log in to the hotel's network</html>", ""},
      {R"({"address":8})", ""},
      {R"({"ip":"8.8.4.4"})", ""},
      {R"({"address":"8.8.4.4"} x)", ""},
      {R"(["8.8.4.4"])", ""},
      {"8.8.4.4" + std::string(5000, ' '), ""}};
  for (const row& r : rows) {
    const auto parsed = parse_egress_answer(r.body, false);
    ASSERT_EQ(parsed.has_value(), !r.address.empty()) << r.body;
    if (parsed) {
      EXPECT_EQ(*parsed, r.address);
    } else {
      EXPECT_EQ(parsed.error().code, error_code::refused);
    }
  }
  const auto long_one = parse_egress_answer(std::string(1000, 'x') + "\x1b[2J", false);
  EXPECT_THAT(long_one.error().message, HasSubstr("\"" + std::string(80, 'x') + "\""));
}

TEST(egress_answer, R124_only_globally_routable_ones_unless_the_provider_admits_private) {
  for (const char* text :
       {"0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.254",
        "127.0.0.1",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.255.1",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.1",
        "198.51.100.4",
        "203.0.113.7",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255"}) {
    EXPECT_FALSE(parse_egress_answer(text, false)) << text;
    EXPECT_TRUE(parse_egress_answer(text, true)) << text;
  }
  for (const char* text :
       {"1.0.0.1",
        "9.255.255.255",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "192.167.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255"}) {
    EXPECT_TRUE(parse_egress_answer(text, false)) << text;
  }
}

json registry_of(const std::vector<std::string>& names) {
  json targets = json::array();
  for (const std::string& name : names) {
    targets.push_back(json::object({{"name", name}, {"kind", "local"}, {"ssh", "u@" + name}}));
  }
  return json::object({{"targets", targets}});
}

TEST(measure_egress, R31_R33_F16_F17_asks_every_host_and_names_every_failure) {
  scripted_channel c([](const std::string& host, const std::string&) {
    if (host == "down") {
      return scripted_channel::failed(error_code::transient, "down (u@down): no connection");
    }
    if (host == "no-curl") {
      return scripted_channel::said("", 127, "curl: command not found\n");
    }
    if (host == "refused") {
      return scripted_channel::said("", 22, "curl: (22) The requested URL returned error: 503\n");
    }
    if (host == "cut-off") {
      return scripted_channel::said("", 28, "curl: (28) Connection timed out\n");
    }
    return scripted_channel::said(host == "private" ? "10.0.0.4" : "8.8.4.4");
  });
  egress_question q;
  q.api_url = "https://stado.example.org";
  q.hosts = {"down", "a", "no-curl", "refused", "private", "cut-off", "unknown"};
  base::manual_clock clock(*base::parse_rfc3339("2026-11-29T12:00:00Z"));
  const auto m = measure_egress(
      c, registry_of({"a", "down", "no-curl", "refused", "private", "cut-off"}), q, clock
  );
  ASSERT_EQ(m.records.size(), 1U);
  EXPECT_EQ(m.records.at("a").address, "8.8.4.4");
  EXPECT_EQ(m.records.at("a").read_at, "2026-11-29T12:00:00Z");

  struct row {
    const char* host;
    error_code code;
    const char* message;
  };

  const std::vector<row> rows{
      {"down", error_code::transient, "no connection"},
      {"no-curl", error_code::refused, "there is no curl"},
      {"refused", error_code::refused, "returned error: 503"},
      {"private", error_code::refused, "10.0.0.4, which is not a public address"},
      {"cut-off", error_code::transient, "status 28"},
      {"unknown", error_code::not_found, "no target unknown"}};
  ASSERT_EQ(m.failures.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(m.failures[i].host, rows[i].host);
    EXPECT_EQ(m.failures[i].cause.code, rows[i].code) << rows[i].host;
    EXPECT_THAT(m.failures[i].cause.message, HasSubstr(rows[i].message));
  }
  EXPECT_EQ(c.calls.size(), 6U);
  EXPECT_THAT(
      c.calls,
      testing::Contains("a: curl -4 -fsS --max-time 20 --proto =https,http -- "
                        "https://stado.example.org/api/egress")
  );
}

TEST(measure_egress, asks_eight_at_a_time) {
  std::mutex mutex;
  std::condition_variable changed;
  int now = 0;
  int most = 0;
  scripted_channel c([&](const std::string&, const std::string&) {
    std::unique_lock lock(mutex);
    most = std::max(most, ++now);
    changed.notify_all();
    // Until eight are here: a ninth would be counted.
    changed.wait_for(lock, std::chrono::seconds(10), [&] { return most >= 8; });
    --now;
    return scripted_channel::said("8.8.4.4");
  });
  egress_question q;
  q.api_url = "https://stado.example.org";
  for (int i = 0; i < 20; ++i) {
    q.hosts.push_back("h" + std::to_string(i));
  }
  const auto m = measure_egress(c, registry_of(q.hosts), q, base::real_clock());
  EXPECT_EQ(m.records.size(), 20U);
  EXPECT_EQ(most, 8);
}

TEST(measure_egress, R31_runs_curl_on_the_host_itself) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  json registry = json::object(
      {{"targets",
        json::array({json::object({{"name", "b1"}, {"kind", "local"}, {"ssh", host.ssh}})})}}
  );
  m.shim("curl", "printf '%s\\n' \"$@\" > \"$HOME/asked\"; cat \"$HOME/egress\"");
  egress_question q;
  q.api_url = "http://127.0.0.1:9";
  q.hosts = {"b1"};
  q.allow_private = true;
  const auto measured = measure_egress(c.hosts(), registry, q, base::real_clock());
  ASSERT_TRUE(measured.failures.empty()) << measured.failures[0].cause.message;
  EXPECT_EQ(measured.records.at("b1").address, m.address());
  EXPECT_EQ(
      m.file("asked"),
      "-4\n-fsS\n--max-time\n20\n--proto\n=https,http\n--\nhttp://127.0.0.1:9/api/egress\n"
  );
}

TEST(addresses, are_distinct_and_in_numeric_order) {
  EXPECT_EQ(
      addresses_of(
          {{"a", {"100.0.0.1", ""}},
           {"b", {"9.0.0.1", ""}},
           {"c", {"100.0.0.1", ""}},
           {"d", {"9.0.0.10", ""}},
           {"e", {"unread", ""}}}
      ),
      (std::vector<std::string>{"9.0.0.1", "9.0.0.10", "100.0.0.1"})
  );
}

} // namespace
} // namespace siteagent::fleet
