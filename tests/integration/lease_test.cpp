// SPDX-License-Identifier: MIT
// Two agents that share an offering by a lease of Kubernetes: one works and one waits, and the
// other takes over when the first is gone.
#include "tests/integration/expect.hpp"
#include "tests/unit/agent/fake_kubernetes.hpp"
#include "tests/unit/net/test_certificates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace siteagent::integration {
namespace {

using agent::test::fake_kubernetes;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds duration{3};

class two_pods : public testing::Test {
protected:
  two_pods()
      : authority_(folder_), certificate_(authority_.issue("DNS:localhost,IP:127.0.0.1")),
        kubernetes_(tls()) {
    std::filesystem::create_directory(account());
    std::filesystem::copy_file(authority_.file(), account() + "/ca.crt");
    write_file(account() + "/token", kubernetes_.token + "\n");
    s.write_config(
        "  - name: Null cloud\n"
        "    waldur_api_url: " +
            s.waldur().url() +
            "/api/\n"
            "    waldur_api_token: " +
            std::string(agent_token) +
            "\n"
            "    waldur_offering_uuid: " +
            std::string(offering_uuid) +
            "\n"
            "    backend_type: \"null\"\n"
            "    backend_settings:\n"
            "      state_file: " +
            state_file() +
            "\n"
            "      usage: {cpu: 2}\n"
            "    backend_components:\n"
            "      cpu: {measured_unit: Cores, unit_factor: 1, accounting_type: usage, label: "
            "CPU}\n",
        "reporting_periods: 1\n"
    );
  }

  std::string account() const { return folder_.file("account"); }

  std::string state_file() const { return s.dir().file("null.json"); }

  std::unique_ptr<process> start_pod(const std::string& name) const {
    return s.start_agent(
        "all",
        false,
        {{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
         {"KUBERNETES_SERVICE_PORT", std::to_string(kubernetes_.port())},
         {"WALDUR_SITE_AGENT_LEASE_ACCOUNT", account()},
         {"WALDUR_SITE_AGENT_LEASE_NAMESPACE", "waldur"},
         {"WALDUR_SITE_AGENT_LEASE_SECONDS", std::to_string(duration.count())},
         {"WALDUR_SITE_AGENT_STATUS_PATH", status_file(name)},
         {"WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES", "0.02"},
         {"HOSTNAME", name}}
    );
  }

  bool wait_for_holder(const std::string& name) {
    return kubernetes_.wait_for(
        [&](const json& lease) {
          return lease["spec"]["holderIdentity"].string_or("").starts_with(name + "_");
        },
        std::chrono::seconds(60)
    );
  }

  bool wait_for_order(const std::string& order) const {
    return wait_for_change(
        s.waldur().directory(),
        [&] { return s.order_state(order) == "done"; },
        std::chrono::seconds(60)
    );
  }

  bool wait_for_usage(const std::string& order) const {
    const std::string path = "/api/marketplace-component-usages/?resource_uuid=";
    return wait_for_change(
        s.waldur().directory(),
        [&] {
          return call("GET", s.waldur().url() + path + s.resource_of(order), {}, staff_token)
                     .body.size() == 1;
        },
        std::chrono::seconds(60)
    );
  }

  json offering_of(const std::string& pod) const {
    const auto status = json::parse(read_file(status_file(pod)));
    return status ? (*status)["offerings"][0] : json();
  }

  bool wait_for_status(const std::string& pod, const std::function<bool(const json&)>& fits) const {
    return wait_for_change(
        s.dir().path().string(), [&] { return fits(offering_of(pod)); }, std::chrono::seconds(60)
    );
  }

  std::size_t machine_count() const {
    const auto state = json::parse(read_file(state_file()));
    return state ? (*state)["resources"].size() : 0;
  }

  base::steady_time last_write_of(const std::string& pod) {
    for (const auto& [holder, time] : kubernetes_.last_writes()) {
      if (holder.starts_with(pod + "_")) {
        return time;
      }
    }
    return {};
  }

  const site s;
  net::test::temporary_directory folder_;
  net::test::authority authority_;
  net::test::issued certificate_;
  fake_kubernetes kubernetes_;

private:
  std::string status_file(const std::string& pod) const { return s.dir().file(pod + ".json"); }

  net::server_options tls() const {
    net::server_options o;
    o.tls_certificate_file = certificate_.certificate_file;
    o.tls_key_file = certificate_.key_file;
    return o;
  }
};

bool has_polled(const json& offering) {
  for (const json& mode : offering["modes"].items()) {
    if (mode["passes"].integer().value_or(0) > 0) {
      return true;
    }
  }
  return false;
}

TEST_F(two_pods, with_a_lease_share_an_offering_one_after_the_other_and_lose_and_double_nothing) {
  const auto one = start_pod("pod-1");
  ASSERT_TRUE(wait_for_holder("pod-1")) << one->output();
  const auto two = start_pod("pod-2");
  const std::string first = s.order_machine("web 1");
  ASSERT_TRUE(wait_for_order(first)) << one->output();
  ASSERT_TRUE(wait_for_usage(first)) << one->output();
  ASSERT_TRUE(wait_for_status("pod-2", [](const json& offering) {
    return offering["lease"]["holder"].string_or("").starts_with("pod-1_");
  })) << two->output();
  EXPECT_FALSE(has_polled(offering_of("pod-2"))) << "it stands by";
  EXPECT_THAT(two->output(), Not(HasSubstr(first)));

  // The first pod dies when its second machine is made and Waldur does not know of it yet.
  s.waldur().set_faults(json::array({json::object(
      {{"match", json::object({{"method", "POST"}, {"path", "/set_backend_id/$"}, {"times", 1}})},
       {"when", "before"},
       {"do", "hang"}}
  )}));
  const std::string second = s.order_machine("web 2");
  ASSERT_TRUE(s.waldur().wait_for_journal([](const journal_line& l) {
    return l.fault == "before hang";
  })) << one->output();
  EXPECT_EQ(machine_count(), 2U);
  one->signal(SIGKILL);
  ASSERT_TRUE(one->wait(std::chrono::seconds(10)));
  const base::steady_time last_of_one = last_write_of("pod-1");
  const std::string third = s.order_machine("web 3"); // while nobody holds it
  ASSERT_TRUE(wait_for_holder("pod-2")) << two->output();
  EXPECT_GE(last_write_of("pod-2") - last_of_one, duration) << "not before it has run out";
  for (const std::string& order : {second, third}) {
    EXPECT_TRUE(wait_for_order(order)) << two->output();
    EXPECT_TRUE(wait_for_usage(order)) << two->output();
  }
  EXPECT_EQ(machine_count(), 3U);
  EXPECT_EQ(kubernetes_.only_lease()["spec"]["leaseTransitions"].integer(), 1);

  // Asked to end, the second gives it back: whoever comes next need not wait.
  two->signal(SIGTERM);
  EXPECT_EQ(two->wait(std::chrono::seconds(30)), 0) << two->output();
  EXPECT_EQ(kubernetes_.holder(), "");
}

} // namespace
} // namespace siteagent::integration
