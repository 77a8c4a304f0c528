// SPDX-License-Identifier: MIT
// Up to CONNECTED, against servers that do not want to.
#include "tests/unit/net/stomp_fixture.hpp"
#include "tests/unit/net/test_certificates.hpp"

#include <atomic>
#include <future>
#include <thread>

namespace siteagent::net::test {
namespace {

using base::error_code;
using namespace std::chrono_literals;
using namespace std::string_literals;

class stomp_connects : public stomp_fixture {};

TEST_F(stomp_connects, asks_for_web_socket_path_protocol_and_login) {
  std::promise<std::pair<std::string, stomp_frame>> asked;
  serve([&](connection& c, int) {
    web_socket_peer peer(c);
    std::string request = peer.accept();
    asked.set_value({std::move(request), peer.read_frame()});
    peer.send({.command = "CONNECTED", .headers = {{"version", "1.2"}}});
    peer.read_frame();
  });
  open();
  const auto [request, greeting] = asked.get_future().get();
  EXPECT_EQ(target_of(request), "/rmqws-stomp");
  EXPECT_EQ(header_of(request, "host"), "127.0.0.1:" + std::to_string(server->port()));
  EXPECT_EQ(header_of(request, "sec-websocket-protocol"), "v12.stomp");
  EXPECT_EQ(header_of(request, "user-agent"), "test/1");
  EXPECT_EQ(greeting.command, "CONNECT");
  EXPECT_EQ(greeting.get("host"), "vh");
  EXPECT_EQ(greeting.get("login"), "consumer");
  EXPECT_EQ(greeting.get("passcode"), "the-passcode");
  EXPECT_EQ(greeting.get("heart-beat"), "10000,10000");
}

TEST_F(stomp_connects, tells_a_path_that_is_no_web_socket_from_a_server_that_is_down) {
  const std::vector<std::pair<int, error_code>> rows{
      {404, error_code::permanent},
      {301, error_code::permanent},
      {200, error_code::permanent},
      {401, error_code::permanent},
      {503, error_code::transient},
      {502, error_code::transient},
      {429, error_code::transient}};
  for (const auto& [status, code] : rows) {
    serve([status = status](connection& c, int) {
      c.read_request();
      c.write(answer(status, "no"));
    });
    const auto e = refused();
    EXPECT_EQ(e.code, code) << status << ": " << e.message;
    EXPECT_EQ(e.http_status, status);
    EXPECT_NE(e.message.find("ws://127.0.0.1:"), std::string::npos) << e.message;
  }
}

TEST_F(stomp_connects, takes_garbage_for_trouble) {
  for (const std::string& bytes :
       {"SSH-2.0-OpenSSH\r\n"s, "\0\1\2\3\r\n\r\n"s, "HTTP/1.1 101 X\r\n"s, ""s}) {
    serve([bytes](connection& c, int) {
      c.read_request();
      c.write(bytes);
    });
    EXPECT_EQ(refused().code, error_code::transient) << bytes;
  }
}

TEST_F(stomp_connects, refuses_a_switch_that_is_not_to_web_socket) {
  serve([](connection& c, int) {
    c.read_request();
    c.write("HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");
    c.wait_until_closed();
  });
  EXPECT_EQ(refused().code, error_code::permanent);
}

TEST_F(stomp_connects, reads_a_refused_login_though_the_connection_stays_open) {
  serve([](connection& c, int) {
    web_socket_peer peer(c);
    peer.accept();
    peer.read_frame();
    peer.send(
        {.command = "ERROR",
         .headers = {{"message", "Bad CONNECT"}},
         .body = "Access refused for user 'consumer'\n"}
    );
    c.wait_until_closed();
  });
  const auto e = refused();
  EXPECT_EQ(e.code, error_code::auth);
  EXPECT_EQ(e.message.find("the-passcode"), std::string::npos);
}

TEST_F(stomp_connects, says_that_the_broker_hung_up) {
  serve([](connection& c, int) {
    web_socket_peer peer(c);
    peer.accept();
    peer.read_frame();
    peer.send_close(1000, "going down");
  });
  const auto e = refused();
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("going down"), std::string::npos) << e.message;
}

TEST_F(stomp_connects, ends_at_its_time_limit_wherever_the_server_falls_silent) {
  options.connect_timeout = 300ms;
  const std::vector<std::pair<std::string, hostile_server::script>> rows{
      {"TCP", [](connection& c, int) { c.wait_until_closed(); }},
      {"half an answer",
       [](connection& c, int) {
         c.read_request();
         c.write("HTTP/1.1 101 Swi");
         c.wait_until_closed();
       }},
      {"drip",
       [](connection& c, int) {
         c.read_request();
         c.write("HTTP/1.1 101 Switching Protocols\r\n");
         while (c.write("X-A: b\r\n") && !c.wait_until_closed(20ms)) {
         }
       }},
      {"WebSocket",
       [](connection& c, int) {
         web_socket_peer peer(c);
         peer.accept();
         c.wait_until_closed();
       }},
      {"heart-beats only", [](connection& c, int) {
         web_socket_peer peer(c);
         peer.accept();
         while (peer.send("\n") && !c.wait_until_closed(20ms)) {
         }
       }}};
  for (const auto& [name, script] : rows) {
    serve(script);
    const auto began = std::chrono::steady_clock::now();
    const auto e = refused();
    EXPECT_EQ(e.code, error_code::transient) << name;
    EXPECT_NE(e.message.find("no answer in time"), std::string::npos) << name << e.message;
    EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms) << name;
  }
  // The same, where the client waits for a TLS handshake.
  serve([](connection& c, int) { c.wait_until_closed(); });
  options.use_tls = true;
  EXPECT_EQ(refused().code, error_code::transient);
}

TEST_F(stomp_connects, stops_on_request) {
  std::atomic<bool> is_there{false};
  serve([&](connection& c, int) {
    c.read_request();
    is_there = true;
    c.wait_until_closed();
  });
  options.stop_requested = [&] { return is_there.load(); };
  EXPECT_EQ(refused().code, error_code::cancelled);
}

TEST_F(stomp_connects, says_that_nobody_listens) {
  serve([](connection&, int) {});
  server.reset();
  EXPECT_EQ(refused().code, error_code::transient);
}

TEST_F(stomp_connects, says_that_the_name_is_unknown) {
  options.host = "no-such-host.invalid";
  options.connect_timeout = 5s;
  const auto e = refused();
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("no-such-host.invalid"), std::string::npos);
}

TEST_F(stomp_connects, sends_nothing_when_a_login_cannot_be_written) {
  std::promise<std::string> read;
  serve([&](connection& c, int) {
    web_socket_peer peer(c);
    peer.accept();
    read.set_value(peer.read_frame().command);
  });
  options.passcode = base::secret("one\ntwo");
  const auto e = refused();
  EXPECT_EQ(e.code, error_code::invalid);
  EXPECT_EQ(e.message.find("two"), std::string::npos);
  EXPECT_EQ(read.get_future().get(), "");
}

class stomp_over_tls : public stomp_fixture {
protected:
  void serve_tls(const std::string& names, bool is_expired = false) {
    const issued keys = own.issue(names, is_expired);
    serve_stomp(
        [](web_socket_peer& peer, connection&) { peer.read_frame(); },
        "0,0",
        {.certificate_file = keys.certificate_file, .key_file = keys.key_file}
    );
  }

  temporary_directory folder;
  authority own{folder, "own"};
  authority other{folder, "other"};
};

TEST_F(stomp_over_tls, trusts_the_given_authority_for_the_given_name) {
  serve_tls("IP:127.0.0.1");
  options.ca_file = own.file();
  open();
}

TEST_F(stomp_over_tls, sends_the_name_and_checks_it) {
  std::promise<std::string> name;
  const issued keys = own.issue("DNS:localhost");
  serve_stomp(
      [&](web_socket_peer& peer, connection& c) {
        name.set_value(c.server_name());
        peer.read_frame();
      },
      "0,0",
      {.certificate_file = keys.certificate_file, .key_file = keys.key_file}
  );
  options.host = "localhost";
  options.ca_file = own.file();
  open();
  EXPECT_EQ(name.get_future().get(), "localhost");
}

TEST_F(stomp_over_tls, refuses_certificates_for_good_and_says_why) {
  struct row {
    std::string names;
    bool is_expired;
    std::string ca_file;
    std::string why;
  };

  for (const row& r :
       {row{"IP:127.0.0.1", false, other.file(), "issuer"},
        row{"IP:127.0.0.1", false, "", "issuer"},
        row{"DNS:elsewhere.test,IP:127.0.0.2", false, own.file(), "mismatch"},
        row{"IP:127.0.0.1", true, own.file(), "expired"}}) {
    serve_tls(r.names, r.is_expired);
    options.ca_file = r.ca_file;
    const auto e = refused();
    EXPECT_EQ(e.code, error_code::permanent) << e.message;
    EXPECT_NE(e.message.find(r.why), std::string::npos) << r.why << ": " << e.message;
  }
}

TEST_F(stomp_over_tls, takes_any_certificate_when_told_not_to_verify) {
  serve_tls("DNS:elsewhere.test", true);
  options.verify_certificate = false;
  open();
}

TEST_F(stomp_over_tls, names_a_ca_file_that_cannot_be_read) {
  serve_tls("IP:127.0.0.1");
  options.ca_file = folder.file("absent.pem");
  const auto e = refused();
  EXPECT_EQ(e.code, error_code::invalid);
  EXPECT_NE(e.message.find("absent.pem"), std::string::npos);
}

TEST_F(stomp_over_tls, says_that_the_port_speaks_no_tls) {
  serve([](connection& c, int) {
    c.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    c.wait_until_closed();
  });
  options.use_tls = true;
  EXPECT_EQ(refused().code, error_code::transient);
}

} // namespace
} // namespace siteagent::net::test
