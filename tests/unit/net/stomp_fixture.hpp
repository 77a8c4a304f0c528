// SPDX-License-Identifier: MIT
// What the tests of STOMP sessions share: a scripted server, a recorder, one call to connect.
#pragma once

#include "core/net/stomp.hpp"
#include "tests/unit/net/hostile_server.hpp"
#include "tests/unit/net/stomp_recorder.hpp"
#include "tests/unit/net/web_socket_peer.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace siteagent::net::test {

class stomp_fixture : public testing::Test {
protected:
  using peer_script = std::function<void(web_socket_peer&, connection&)>;

  // As every program does first: a peer that hung up is an error and no signal.
  stomp_fixture() { std::signal(SIGPIPE, SIG_IGN); }

  // `script` plays every connection from its first byte.
  void serve(hostile_server::script script, const tls_server& tls = {}) {
    server.emplace(std::move(script), tls);
    options.port = server->port();
    options.use_tls = !tls.certificate_file.empty();
  }

  // `script` begins behind CONNECTED.
  void serve_stomp(peer_script script, std::string heart_beat = "0,0", const tls_server& tls = {}) {
    serve(
        [script = std::move(script), heart_beat](connection& c, int) {
          web_socket_peer peer(c);
          if (!peer.welcome(heart_beat).command.empty()) {
            script(peer, c);
          }
        },
        tls
    );
  }

  base::result<std::unique_ptr<stomp_session>> connect() {
    return stomp_session::connect(options, recorder.on_message(), recorder.on_end());
  }

  // A session that must come about.
  void open() {
    auto made = connect();
    ASSERT_TRUE(made) << made.error().message;
    session = std::move(*made);
  }

  // The error of a session that must not.
  base::error refused() {
    auto made = connect();
    EXPECT_FALSE(made);
    EXPECT_EQ(recorder.ends(), 0) << "there was no session that could end";
    return made ? base::error{.message = "it was open"} : made.error();
  }

  // How the session ended.
  base::error ended() {
    const auto reason = recorder.wait_for_end();
    EXPECT_TRUE(reason) << "it did not end";
    EXPECT_FALSE(session && session->is_open());
    return reason.value_or(base::error{.message = "it did not end"});
  }

  static stomp_options defaults() {
    stomp_options o;
    o.host = "127.0.0.1";
    o.use_tls = false;
    o.virtual_host = "vh";
    o.login = "consumer";
    o.passcode = base::secret("the-passcode");
    o.user_agent = "test/1";
    o.connect_timeout = std::chrono::seconds(20);
    return o;
  }

  stomp_recorder recorder;
  std::optional<hostile_server> server;
  stomp_options options = defaults();
  std::unique_ptr<stomp_session> session; // ends before what its handlers use
};

} // namespace siteagent::net::test
