// SPDX-License-Identifier: MIT
// A site behind a proxy: all that goes to Waldur takes it, what goes to the cloud does not, and
// nobody loses an order when it is down.
#include "tests/integration/expect.hpp"
#include "tests/unit/net/proxy_server.hpp"
#include "tests/unit/net/test_certificates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using net::test::proxy_server;
using net::test::proxy_server_options;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string authority_of(const std::string& url) {
  return url.substr(url.find("://") + 3);
}

int lines_with(const proxy_server& by, const std::string& text) {
  int n = 0;
  for (const std::string& line : by.log()) {
    n += line.find(text) == std::string::npos ? 0 : 1;
  }
  return n;
}

TEST(global_proxy, carries_a_whole_create_to_waldur_and_nothing_to_the_cloud) {
  for (const std::string scheme : {"http", "socks5", "socks5h"}) {
    SCOPED_TRACE(scheme);
    const site s;
    proxy_server_options options;
    options.user = "agent";
    options.password = "word-of-the-proxy";
    const proxy_server by(std::move(options));
    s.write_config(
        s.default_offering_yaml("Azure VM", offering_uuid),
        "log_level: DEBUG\nglobal_proxy: " + by.url(scheme, "agent:word-of-the-proxy") + "\n"
    );
    const std::string order = s.order_machine("web 1");
    const agent_run run = s.run_agent();
    EXPECT_EQ(run.exit_code, 0) << run.log;
    EXPECT_EQ(s.order_state(order), "done");
    EXPECT_THAT(run.log, Not(HasSubstr("word-of-the-proxy")));
    EXPECT_THAT(run.log, HasSubstr("\"proxy\":\"" + by.url(scheme) + "\""));
    EXPECT_GT(lines_with(by, authority_of(s.waldur().url())), 0);
    EXPECT_EQ(lines_with(by, authority_of(s.azure().url())), 0);
    const std::string verb = scheme == "http" ? "POST http://" : "SOCKS5 ";
    EXPECT_GT(by.count(verb + authority_of(s.waldur().url())), 0);
    const int before = by.connections();
    EXPECT_EQ(s.run_command({"diagnose"}).exit_code, 0);
    EXPECT_GT(by.connections(), before) << "diagnose went around the proxy";
  }
}

TEST(global_proxy, that_is_down_leaves_orders_waiting_and_is_named) {
  const site s;
  std::string url;
  {
    const proxy_server gone;
    url = gone.url("socks5h");
  }
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid), "global_proxy: " + url + "\n");
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.log, HasSubstr("through " + url + ": the proxy cannot be reached"));
  EXPECT_THAT(s.azure().writes(), IsEmpty());
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid));
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "done");
}

TEST(proxies_of_the_environment, leave_loopback_alone_and_are_refused_when_they_are_none) {
  const site s;
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid));
  const proxy_server by;
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent("order_process", {{"ALL_PROXY", by.url("socks5h")}});
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_EQ(s.order_state(order), "done");
  EXPECT_EQ(by.connections(), 0);
  const agent_run refused = s.run_agent("order_process", {{"HTTPS_PROXY", "socks4://127.0.0.1:1"}});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.log, HasSubstr("environment variable HTTPS_PROXY"));
}

// The cloud has a name that only the proxy knows.
TEST(proxies_of_the_environment, carry_the_azure_plugin_to_its_cloud) {
  const site s;
  const net::test::temporary_directory files;
  net::test::authority ca(files);
  const net::test::issued identity = ca.issue("DNS:azure.test");
  const emulator cloud(
      SITEAGENT_BIN_DIR "/azure-emulator",
      s.dir(),
      "azure-named",
      {"--timing",
       "instant",
       "--tls-cert",
       identity.certificate_file,
       "--tls-key",
       identity.key_file}
  );
  const std::string port = cloud.url().substr(cloud.url().rfind(':'));
  std::string yaml = s.default_offering_yaml("Azure VM", offering_uuid);
  const std::string before = s.azure().url();
  for (auto at = yaml.find(before); at != std::string::npos; at = yaml.find(before)) {
    yaml.replace(at, before.size(), "https://azure.test" + port);
  }
  const std::string key = "      cloud:\n";
  yaml.insert(yaml.find(key) + key.size(), "        ca_file: " + ca.file() + "\n");
  s.write_config(yaml);
  proxy_server_options options;
  options.names = {{"azure.test", "127.0.0.1"}};
  const proxy_server by(std::move(options));
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent("order_process", {{"https_proxy", by.url("http")}});
  EXPECT_EQ(s.order_state(order), "done") << run.log;
  EXPECT_EQ(cloud.writes().size(), 7U);
  EXPECT_GT(by.count("CONNECT azure.test" + port), 0);
  EXPECT_EQ(by.log().size(), static_cast<std::size_t>(by.count("CONNECT azure.test" + port)));
}

} // namespace
} // namespace siteagent::integration
