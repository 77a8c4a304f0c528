// SPDX-License-Identifier: MIT
// Throttling, outages, many orders at once, two agents, shutdown, hostile answers.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json every_get_answers(int status) {
  return json::array({json::object(
      {{"match",
        json::object({{"method", "GET"}, {"path", "/subscriptions/.*"}, {"times", 1'000'000}})},
       {"when", "before"},
       {"do",
        json::object(
            {{"status", status},
             {"headers",
              json::object({{"Content-Type", "application/json"}, {"Retry-After", "1"}})},
             {"body", R"({"error":{"code":"TooManyRequests","message":"later"}})"}}
        )}}
  )});
}

class throttled_reads : public testing::TestWithParam<int> {};

TEST_P(throttled_reads, during_re_entry_cause_no_write_and_delete_no_machine) {
  for (const char* crash : {"set_backend_id", "set_state_done"}) {
    const site s;
    const std::string order = s.order_machine("web 1");
    s.waldur().set_faults(json::array({json::object(
        {{"match", json::object({{"method", "POST"}, {"path", std::string("/") + crash + "/$"}})},
         {"when", "after"},
         {"do", "hang"}}
    )}));
    {
      const auto agent = s.start_agent();
      ASSERT_TRUE(s.waldur().wait_for_journal([&](const journal_line& l) {
        return l.path.find(crash) != std::string::npos;
      })) << agent->output();
      agent->signal(SIGKILL);
      ASSERT_TRUE(agent->wait(std::chrono::seconds(10)));
    }
    s.waldur().clear_faults();
    const auto before = s.azure().writes().size();
    s.azure().set_faults(every_get_answers(GetParam()));
    const auto agent = s.start_agent("order_process", true, {});
    const auto code = agent->wait(std::chrono::seconds(20));
    if (!code) { // still waiting for the cloud: told to stop
      agent->signal(SIGTERM);
      ASSERT_TRUE(agent->wait(std::chrono::seconds(20))) << agent->output();
    }
    EXPECT_EQ(s.azure().writes().size(), before) << crash;
    s.azure().clear_faults();
    ASSERT_EQ(s.run_agent().exit_code, 0);
    EXPECT_EQ(s.order_state(order), "done");
    EXPECT_EQ(s.machine_count(), 1U);
  }
}

TEST_P(throttled_reads, over_a_half_made_chain_cause_no_write) {
  const site s;
  const std::string order = s.order_machine("web 1");
  s.run_agent("order_process", {{"SITEAGENT_CRASH_AT", "after:put:public-ip-address:1"}});
  const auto before = s.azure().writes().size();
  s.azure().set_faults(every_get_answers(GetParam()));
  const auto agent = s.start_agent();
  if (!agent->wait(std::chrono::seconds(10))) {
    agent->signal(SIGTERM);
    ASSERT_TRUE(agent->wait(std::chrono::seconds(20))) << agent->output();
  }
  EXPECT_EQ(s.azure().writes().size(), before);
  EXPECT_EQ(s.order_state(order), "executing");
  s.azure().clear_faults();
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
}

INSTANTIATE_TEST_SUITE_P(
    statuses,
    throttled_reads,
    testing::Values(429, 503),
    [](const auto& test) { return std::to_string(test.param); }
);

TEST(many_orders, of_two_offerings_are_all_done_in_one_run_and_a_wrong_one_errs_alone) {
  constexpr std::string_view second = "e2ef0000000000000000000000000202";
  site_options options;
  options.waldur_seed = *json::parse(R"({"page_size": 10, "offerings": [
    {"uuid": "e2ef0000000000000000000000000201", "name": "Azure VM"},
    {"uuid": "e2ef0000000000000000000000000202", "name": "Azure VM 2"}],
    "plans": [
    {"uuid": "e2ef0000000000000000000000000401", "offering": "e2ef0000000000000000000000000201"},
    {"uuid": "e2ef0000000000000000000000000402", "offering": "e2ef0000000000000000000000000202"}]})"
  );
  const site s(options);
  s.write_config(
      s.default_offering_yaml("Azure VM", offering_uuid) +
      s.default_offering_yaml("Azure VM 2", second)
  );
  std::vector<std::string> good;
  for (int i = 0; i < 59; ++i) {
    good.push_back(
        s.order_machine("web " + std::to_string(i), {}, i % 2 == 0 ? offering_uuid : second)
    );
  }
  const std::string bad = s.order_machine("web x", json::object({{"size", "Standard_Nope"}}));
  const agent_run run = s.run_agent("order_process", {}, std::chrono::seconds(300));
  ASSERT_EQ(run.exit_code, 0);
  for (const std::string& order : good) {
    EXPECT_EQ(s.order_state(order), "done");
  }
  EXPECT_EQ(s.order_state(bad), "erred");
  EXPECT_THAT(s.order(bad)["error_message"].string_or(""), HasSubstr("Standard_Nope"));
  EXPECT_EQ(s.machine_count(), 59U);
}

TEST(many_orders, do_not_wait_for_one_that_hangs) {
  const site s;
  std::vector<std::string> orders;
  for (int i = 0; i < 12; ++i) {
    orders.push_back(s.order_machine("web " + std::to_string(i)));
  }
  s.azure().set_faults(json::array({json::object(
      {{"match",
        json::object(
            {{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}, {"nth", 1}, {"times", 1}}
        )},
       {"when", "after"},
       {"do", "hang"}}
  )}));
  const auto agent = s.start_agent("order_process", false);
  const auto done = [&] {
    int n = 0;
    for (const journal_line& l : s.waldur().journal()) {
      n += l.path.ends_with("/set_state_done/") && l.status == 200 ? 1 : 0;
    }
    return n;
  };
  EXPECT_TRUE(s.waldur().wait_for_journal(
      [&](const journal_line&) { return done() >= 11; }, std::chrono::seconds(60)
  )) << agent->output();
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0) << agent->output();
  s.azure().clear_faults();
  ASSERT_EQ(s.run_agent().exit_code, 0);
  for (const std::string& order : orders) {
    EXPECT_EQ(s.order_state(order), "done");
  }
  EXPECT_EQ(s.machine_count(), 12U);
}

TEST(two_agents, beside_each_other_make_one_machine_per_order) {
  const site s;
  std::vector<std::string> orders;
  for (int i = 0; i < 8; ++i) {
    orders.push_back(s.order_machine("web " + std::to_string(i)));
  }
  const auto first = s.start_agent();
  const auto second = s.start_agent();
  EXPECT_EQ(first->wait(std::chrono::seconds(120)), 0) << first->output();
  EXPECT_EQ(second->wait(std::chrono::seconds(120)), 0) << second->output();
  ASSERT_EQ(s.run_agent().exit_code, 0);
  for (const std::string& order : orders) {
    EXPECT_EQ(s.order_state(order), "done") << first->output() << second->output();
  }
  EXPECT_EQ(s.machine_count(), 8U);
}

TEST(shutdown, in_the_middle_of_a_create_leaves_everything_and_the_next_start_adopts) {
  const site s;
  const std::string order = s.order_machine("web 1");
  s.azure().set_faults(json::array({json::object(
      {{"match", json::object({{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}})},
       {"when", "before"},
       {"do", json::object({{"operation", "stuck"}})}}
  )}));
  const auto agent = s.start_agent("order_process", false);
  ASSERT_TRUE(s.azure().wait_for_journal([](const journal_line& l) {
    return l.path.find("/operations/") != std::string::npos &&
           l.path.find("Microsoft.Compute") != std::string::npos;
  })) << agent->output();
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(std::chrono::seconds(20)), 0) << agent->output();
  EXPECT_EQ(s.order_state(order), "executing");
  EXPECT_EQ(s.machine_count(), 1U);
  for (const journal_line& l : s.azure().writes()) {
    EXPECT_NE(l.method, "DELETE") << l.path;
  }
}

TEST(failed_operation, of_the_machine_errs_the_order_and_leaves_nothing_behind) {
  const site s;
  const std::string order = s.order_machine("web 1");
  s.azure().set_faults(json::array({json::object(
      {{"match", json::object({{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}})},
       {"when", "before"},
       {"do", json::object({{"operation", "Failed"}, {"code", "AllocationFailed"}})}}
  )}));
  const auto agent = s.start_agent();
  // Azure reserves the interface for three minutes after the failure: the clean-up waits them out.
  ASSERT_TRUE(s.azure().wait_for_journal([](const journal_line& l) { return l.method == "DELETE"; })
  ) << agent->output();
  s.azure().advance_clock(200);
  ASSERT_EQ(agent->wait(std::chrono::seconds(120)), 0) << agent->output();
  EXPECT_EQ(s.order_state(order), "erred") << agent->output();
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

// Answers every request with a chunk size of -1, which ends the process of an unguarded reader.
class poisonous_server {
public:
  poisonous_server() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(socket_, 16);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }

  ~poisonous_server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  poisonous_server(const poisonous_server&) = delete;
  poisonous_server& operator=(const poisonous_server&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

private:
  void serve() const {
    for (;;) {
      const int peer = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) {
        return;
      }
      char request[4096];
      if (::read(peer, request, sizeof request) > 0) {
        const std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: "
                                   "application/json\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n";
        [[maybe_unused]] const auto sent = ::write(peer, answer.data(), answer.size());
      }
      ::close(peer);
    }
  }

  int socket_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

TEST(hostile_peer, that_sends_a_negative_chunk_costs_no_order) {
  const site s;
  const std::string order = s.order_machine("web 1");
  const poisonous_server poison;
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid, poison.url()));
  s.run_agent(); // survives or dies: either way nothing is lost
  EXPECT_THAT(s.azure().writes(), IsEmpty());
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
  EXPECT_EQ(s.machine_count(), 1U);
}

} // namespace
} // namespace siteagent::integration
