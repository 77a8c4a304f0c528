// SPDX-License-Identifier: MIT
// STOMP sessions through proxies of every kind.
#include "tests/unit/net/proxy_server.hpp"
#include "tests/unit/net/stomp_fixture.hpp"
#include "tests/unit/net/test_certificates.hpp"

#include <atomic>
#include <cstdlib>

namespace siteagent::net::test {
namespace {

using base::error_code;
using namespace std::chrono_literals;

class stomp_behind_a_proxy : public stomp_fixture {
protected:
  stomp_behind_a_proxy() {
    ::setenv("SSL_CERT_FILE", own.file().c_str(), 1);
  } // for TLS with the proxy

  ~stomp_behind_a_proxy() override { ::unsetenv("SSL_CERT_FILE"); }

  void run_proxy(const std::string& scheme, proxy_server_options o = {}) {
    if (scheme == "https") {
      const issued keys = own.issue("IP:127.0.0.1");
      o.certificate_file = keys.certificate_file;
      o.key_file = keys.key_file;
    }
    by.emplace(std::move(o));
  }

  void use(const std::string& url) {
    auto read = parse_proxy(url);
    ASSERT_TRUE(read) << read.error().message;
    options.proxies.for_http = *read;
    options.proxies.for_https = *read;
  }

  void serve_echo(bool use_tls) {
    const issued keys = own.issue("DNS:broker.test,IP:127.0.0.1");
    serve_stomp(
        [](web_socket_peer& peer, connection&) {
          const std::string queue(peer.read_frame().get("id"));
          peer.send_message(queue, "1");
          peer.read_frame(); // DISCONNECT
        },
        "0,0",
        use_tls ? tls_server{keys.certificate_file, keys.key_file, 0} : tls_server{}
    );
    options.ca_file = use_tls ? own.file() : "";
  }

  temporary_directory folder;
  authority own{folder};
  std::optional<proxy_server> by;
};

TEST_F(stomp_behind_a_proxy, is_passed_by_every_kind_plain_and_with_tls_to_the_broker) {
  for (const std::string scheme : {"http", "https", "socks5", "socks5h"}) {
    for (const bool use_tls : {false, true}) {
      SCOPED_TRACE(scheme + (use_tls ? " wss" : " ws"));
      stomp_recorder own_recorder;
      run_proxy(scheme, {.user = "me", .password = "pw"});
      serve_echo(use_tls);
      use(by->url(scheme, "me:pw"));
      auto made = stomp_session::connect(options, own_recorder.on_message(), own_recorder.on_end());
      ASSERT_TRUE(made) << made.error().message;
      (*made)->subscribe("queue", 1);
      EXPECT_EQ(own_recorder.bodies(1), std::vector<std::string>{"queue"});
      const bool is_socks = scheme[0] == 's';
      EXPECT_EQ(
          by->count(
              (is_socks ? "SOCKS5 127.0.0.1:" : "CONNECT 127.0.0.1:") + std::to_string(options.port)
          ),
          1
      );
      EXPECT_EQ(server->connections(), 1);
      (*made)->close();
      EXPECT_EQ(own_recorder.wait_for_end().value_or(base::error{}).code, error_code::cancelled);
    }
  }
}

TEST_F(stomp_behind_a_proxy, lets_the_proxy_find_the_name_and_checks_the_certificate_for_it) {
  for (const std::string scheme : {"http", "socks5h"}) {
    run_proxy(scheme, {.user = "", .names = {{"broker.test", "127.0.0.1"}}});
    serve_echo(true);
    options.host = "broker.test";
    use(by->url(scheme));
    open();
  }
}

TEST_F(stomp_behind_a_proxy, is_left_out_for_hosts_that_are_to_be_reached_directly) {
  run_proxy("http");
  serve_echo(false);
  use(by->url("http"));
  options.proxies.direct = {"127.0.0.0/8"};
  open();
  EXPECT_EQ(by->connections(), 0);
}

TEST_F(stomp_behind_a_proxy, says_what_the_proxy_said_and_that_the_broker_saw_nothing) {
  for (const std::string scheme : {"http", "https", "socks5", "socks5h"}) {
    SCOPED_TRACE(scheme);
    serve_echo(false);
    run_proxy(scheme, {.user = "me", .password = "pw"});
    use(by->url(scheme, "me:wrong-secret"));
    auto e = refused();
    EXPECT_EQ(e.code, error_code::transient) << "nothing a new registration would cure";
    EXPECT_NE(e.message.find("through proxy"), std::string::npos) << e.message;
    EXPECT_EQ(e.message.find("wrong-secret"), std::string::npos) << e.message;

    run_proxy(scheme);
    by->refuse_with(scheme[0] == 's' ? 2 : 403);
    use(by->url(scheme));
    EXPECT_EQ(refused().code, error_code::transient);
    EXPECT_EQ(server->connections(), 0);
  }
}

TEST_F(stomp_behind_a_proxy, ends_at_its_time_limit_and_on_request_when_the_proxy_is_silent) {
  for (const std::string scheme : {"http", "https", "socks5"}) {
    SCOPED_TRACE(scheme);
    run_proxy(scheme);
    by->fall_silent();
    use(by->url(scheme));
    options.connect_timeout = 300ms;
    EXPECT_EQ(refused().code, error_code::transient);
    options.connect_timeout = 20s;
    std::atomic<int> asked{0};
    options.stop_requested = [&] { return ++asked > 3; };
    EXPECT_EQ(refused().code, error_code::cancelled);
    options.stop_requested = {};
  }
}

TEST_F(stomp_behind_a_proxy, says_that_no_proxy_listens) {
  run_proxy("http");
  const std::string url = by->url("http");
  by.reset();
  use(url);
  const auto e = refused();
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("proxy"), std::string::npos) << e.message;
}

} // namespace
} // namespace siteagent::net::test
