// SPDX-License-Identifier: MIT
// Leases against an API server of Kubernetes' kind.
#include "fake_kubernetes.hpp"

#include "core/agent/lease_keeper.hpp"
#include "core/observe/log.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

namespace siteagent::agent::test {

namespace {

using base::json;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class lease_test : public ::testing::Test {
protected:
  lease_test() {
    std::string pattern = ::testing::TempDir() + "lease-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    write("token", "token-1\n");
    offering.uuid = *base::uuid::parse("e2ef0000000000000000000000000201");
    offering.name = "Test";
  }

  ~lease_test() override { std::filesystem::remove_all(directory); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory + "/" + name) << text;
  }

  std::unique_ptr<lease_keeper> keeper(const std::string& holder) {
    lease_options options;
    options.api = kubernetes.url();
    options.token_file = directory + "/token";
    options.name_space = "waldur";
    options.mode = "order_process";
    options.holder = holder;
    auto transport = make_lease_transport(options);
    EXPECT_TRUE(transport);
    return std::make_unique<lease_keeper>(options, *std::move(transport), clock);
  }

  // Both take their turns while that time passes.
  void pass(seconds time) {
    for (seconds t{0}; t < time; t += seconds(5)) {
      clock.advance(seconds(5));
      for (lease_keeper* k : keepers) {
        k->turn();
      }
    }
  }

  base::manual_clock clock;
  fake_kubernetes kubernetes;
  config::offering offering;
  std::string directory;
  std::vector<lease_keeper*> keepers;
};

TEST_F(lease_test, a_free_lease_is_created_and_held) {
  const auto a = keeper("a");
  const auto lease = a->add(offering);
  EXPECT_FALSE(lease->is_held());
  a->turn();
  EXPECT_TRUE(lease->is_held());
  EXPECT_THAT(kubernetes.requests, ElementsAre("GET", "POST"));
  const json made = kubernetes.only_lease();
  EXPECT_EQ(made["apiVersion"].string_or(""), "coordination.k8s.io/v1");
  EXPECT_EQ(
      made["metadata"]["name"].string_or(""),
      "waldur-site-agent-order-process-e2ef0000000000000000000000000201"
  );
  EXPECT_EQ(made["spec"]["leaseDurationSeconds"].integer(), 60);
  EXPECT_EQ(made["spec"]["leaseTransitions"].integer(), 0);
  for (const char* time : {"acquireTime", "renewTime"}) {
    EXPECT_THAT(
        made["spec"][time].string_or(""),
        MatchesRegex("20..-..-..T..:..:..[.]......Z") // as Kubernetes' MicroTime
    );
  }
  EXPECT_EQ(lease->describe()["holder"].string_or(""), "a");
}

TEST_F(lease_test, one_holds_it_however_long_and_the_other_waits) {
  const auto a = keeper("a");
  const auto b = keeper("b");
  const auto of_a = a->add(offering);
  const auto of_b = b->add(offering);
  keepers = {a.get(), b.get()};
  pass(seconds(600));
  EXPECT_TRUE(of_a->is_held());
  EXPECT_FALSE(of_b->is_held());
  EXPECT_EQ(of_b->describe()["holder"].string_or(""), "a");
}

TEST_F(lease_test, a_holder_that_is_gone_is_followed_after_its_time) {
  const auto a = keeper("a");
  const auto b = keeper("b");
  const auto of_a = a->add(offering);
  const auto of_b = b->add(offering);
  a->turn();
  b->turn();
  keepers = {b.get()}; // a hangs
  pass(seconds(50));
  EXPECT_FALSE(of_a->is_held()) << "over for itself before anybody may take it";
  EXPECT_FALSE(of_b->is_held());
  pass(seconds(25));
  EXPECT_TRUE(of_b->is_held());
  EXPECT_EQ(kubernetes.only_lease()["spec"]["leaseTransitions"].integer(), 1);
  a->turn(); // awake again
  a->turn();
  EXPECT_FALSE(of_a->is_held());
  EXPECT_EQ(kubernetes.holder(), "b");
}

TEST_F(lease_test, of_two_that_see_it_run_out_one_gets_it) {
  {
    const auto gone = keeper("gone");
    const auto lease = gone->add(offering);
    gone->turn();
    kubernetes.refuse_with = 503; // it cannot be given back
  }
  kubernetes.refuse_with = 0;
  const auto a = keeper("a");
  const auto b = keeper("b");
  const auto of_a = a->add(offering);
  const auto of_b = b->add(offering);
  a->turn();
  b->turn();
  clock.advance(seconds(70));
  // b writes between a's look and a's write.
  bool once = false;
  kubernetes.before = [&](std::string_view method) {
    if (method == "PUT" && !std::exchange(once, true)) {
      b->turn();
    }
  };
  a->turn();
  EXPECT_TRUE(of_b->is_held());
  EXPECT_FALSE(of_a->is_held());
  EXPECT_EQ(kubernetes.holder(), "b");
}

TEST_F(lease_test, without_the_server_it_runs_out_and_is_taken_again_afterwards) {
  const auto a = keeper("a");
  const auto lease = a->add(offering);
  keepers = {a.get()};
  a->turn();
  kubernetes.refuse_with = 503;
  pass(seconds(45));
  EXPECT_TRUE(lease->is_held()) << "a short absence changes nothing";
  pass(seconds(10));
  EXPECT_FALSE(lease->is_held());
  kubernetes.refuse_with = 0;
  pass(seconds(15));
  EXPECT_TRUE(lease->is_held());
}

TEST_F(lease_test, given_back_it_is_the_others_at_once) {
  auto a = keeper("a");
  const auto b = keeper("b");
  const auto of_a = a->add(offering);
  const auto of_b = b->add(offering);
  a->turn();
  b->turn();
  a.reset();
  EXPECT_FALSE(of_a->is_held());
  keepers = {b.get()};
  pass(seconds(15));
  EXPECT_TRUE(of_b->is_held());
}

TEST_F(lease_test, an_offering_that_left_gives_it_back) {
  const auto a = keeper("a");
  auto lease = a->add(offering);
  a->turn();
  EXPECT_EQ(kubernetes.holder(), "a");
  lease.reset();
  a->turn();
  EXPECT_EQ(kubernetes.holder(), "");
}

TEST_F(lease_test, deleted_by_somebody_it_is_made_again) {
  const auto a = keeper("a");
  const auto lease = a->add(offering);
  keepers = {a.get()};
  a->turn();
  kubernetes.forget();
  pass(seconds(60));
  EXPECT_TRUE(lease->is_held());
}

TEST_F(lease_test, the_token_is_read_for_each_request) {
  const auto a = keeper("a");
  const auto lease = a->add(offering);
  keepers = {a.get()};
  a->turn();
  kubernetes.token = "token-2";
  write("token", "token-2\n");
  pass(seconds(60));
  EXPECT_TRUE(lease->is_held());
}

TEST_F(lease_test, a_refusal_says_what_the_account_needs) {
  std::vector<std::string> lines;
  observe::capture_logs_for_test(&lines);
  kubernetes.refuse_with = 403;
  const auto a = keeper("a");
  const auto lease = a->add(offering);
  keepers = {a.get()};
  pass(seconds(300));
  observe::capture_logs_for_test(nullptr);
  ASSERT_EQ(lines.size(), 1U) << "not once per attempt";
  EXPECT_THAT(lines[0], HasSubstr("get, create and update leases"));
  EXPECT_FALSE(lease->is_held());
}

TEST_F(lease_test, what_is_given_back_at_the_last_moment_is_the_others_at_once) {
  const auto a = keeper("a");
  const auto b = keeper("b");
  const auto of_a = a->add(offering);
  const auto of_b = b->add(offering);
  a->turn();
  b->turn();
  a->give_back(); // its process ends without more ado
  EXPECT_FALSE(of_a->is_held());
  keepers = {b.get()};
  pass(seconds(15));
  EXPECT_TRUE(of_b->is_held());
}

class lease_environment : public lease_test {
protected:
  lease_environment() {
    ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    ::setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
    ::setenv("WALDUR_SITE_AGENT_LEASE_ACCOUNT", directory.c_str(), 1);
    write("ca.crt", "");
  }

  ~lease_environment() override {
    for (const char* name :
         {"KUBERNETES_SERVICE_HOST",
          "KUBERNETES_SERVICE_PORT",
          "WALDUR_SITE_AGENT_LEASE_ACCOUNT",
          "WALDUR_SITE_AGENT_LEASE_SECONDS"}) {
      ::unsetenv(name);
    }
  }

  static void expect_refusal(const std::string& because) {
    const auto found = leases_in_cluster("waldur", "all");
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr(because));
  }
};

TEST_F(lease_environment, says_where_kubernetes_is_and_who_we_are_there) {
  const auto found = leases_in_cluster("waldur", "all");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->api, "https://[fd00::1]:6443");
  EXPECT_EQ(found->token_file, directory + "/token");
  EXPECT_EQ(found->ca_file, directory + "/ca.crt");
  EXPECT_EQ(found->duration, seconds(60));
  std::filesystem::remove(directory + "/ca.crt");
  expect_refusal("ca.crt");
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  expect_refusal("KUBERNETES_SERVICE_HOST");
}

TEST_F(lease_environment, sets_the_duration_within_reason) {
  ::setenv("WALDUR_SITE_AGENT_LEASE_SECONDS", "15", 1);
  EXPECT_EQ(leases_in_cluster("waldur", "all")->duration, seconds(15));
  for (const char* wrong : {"2", "3601", "-5", "15s", "1.5", " 15", "99999999999999999999"}) {
    ::setenv("WALDUR_SITE_AGENT_LEASE_SECONDS", wrong, 1);
    expect_refusal("WALDUR_SITE_AGENT_LEASE_SECONDS: '" + std::string(wrong) + "'");
  }
}

} // namespace

} // namespace siteagent::agent::test
