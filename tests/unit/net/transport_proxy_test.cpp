// SPDX-License-Identifier: MIT
// Requests through real proxies: which way they take, and what the operator reads when a proxy says
// no.
#include "tests/unit/net/proxy_server.hpp"
#include "tests/unit/net/test_certificates.hpp"
#include "tests/unit/net/transport_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace siteagent::net::test {

namespace {

using base::error_code;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

// The destination is known to the proxy only, so that a request that went around it would fail.
constexpr const char* name = "service.test";

class proxied : public testing::Test {
protected:
  static const std::vector<std::string>& schemes() {
    static const std::vector<std::string> all{"http", "https", "socks5", "socks5h"};
    return all;
  }

  // The proxy's own authority, as an operator adds it to the system's.
  proxied() {
    setenv("SSL_CERT_FILE", proxys_.file().c_str(), 1);
    identity_ = proxys_.issue("IP:127.0.0.1");
  }

  ~proxied() override { setenv("SSL_CERT_FILE", "/dev/null", 1); }

  proxy_server_options speaking(const std::string& scheme) const {
    proxy_server_options out;
    out.names = {{name, "127.0.0.1"}};
    if (scheme == "https") {
      out.certificate_file = identity_.certificate_file;
      out.key_file = identity_.key_file;
    }
    return out;
  }

  transport_options through(const std::string& url) const {
    transport_options out;
    const auto parsed = parse_proxy(url);
    EXPECT_TRUE(parsed) << parsed.error().message;
    out.proxies.for_http = *parsed;
    out.proxies.for_https = *parsed;
    out.allow_plain_http = true;
    out.ca_file = services_.file();
    // Only socks5 looks names up here.
    out.lookup = [url](const std::string&) -> base::result<std::vector<std::string>> {
      EXPECT_TRUE(url.starts_with("socks5://")) << url;
      return std::vector<std::string>{"127.0.0.1"};
    };
    return out;
  }

  hostile_server secure(hostile_server::script s = echo_target) const {
    return hostile_server(
        std::move(s), {services_identity_.certificate_file, services_identity_.key_file}
    );
  }

  static std::string at(const hostile_server& server, const std::string& scheme) {
    return scheme + "://" + name + ":" + std::to_string(server.port());
  }

  const temporary_directory directory_;
  authority proxys_{directory_, "proxys"};
  authority services_{directory_, "services"};
  issued identity_;
  issued services_identity_{services_.issue(std::string("DNS:") + name)};
};

} // namespace

TEST_F(proxied, https_goes_through_a_tunnel_of_every_kind_and_the_connection_is_kept) {
  for (const std::string& scheme : schemes()) {
    received names;
    const auto server = secure([&](connection& c, int n) {
      names.add(c.server_name());
      echo_target(c, n);
    });
    proxy_server by(speaking(scheme));
    const auto http = make(through(by.url(scheme)));
    constexpr int requests = 12;
    for (int i = 0; i < requests; ++i) {
      const std::string target = "/a?b=" + std::to_string(i);
      const auto got = http->perform(get(at(server, "https") + target));
      ASSERT_TRUE(got) << scheme << ": " << got.error().message;
      EXPECT_EQ(got->status, 200);
      EXPECT_EQ(got->body, target);
    }
    const std::string asked = scheme == "socks5" ? "127.0.0.1" : name;
    const std::string verb = scheme.starts_with("socks") ? "SOCKS5 " : "CONNECT ";
    EXPECT_THAT(by.log(), Each(verb + asked + ":" + std::to_string(server.port())));
    // Not exactly one: the library may take a moment to put a connection aside.
    EXPECT_LT(by.connections(), requests);
    // The certificate was checked for the service's own name.
    EXPECT_THAT(names.all(), Each(std::string(name)));
  }
}

TEST_F(proxied, plain_http_goes_in_absolute_form_or_through_socks) {
  for (const std::string& scheme : schemes()) {
    received seen;
    const hostile_server server([&](connection& c, int) {
      for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
        seen.add(r);
        c.write(answer(200, target_of(r)));
      }
    });
    proxy_server by(speaking(scheme));
    const auto http = make(through(by.url(scheme)));
    const std::string url = at(server, "http") + "/p//q?x=%20y";
    for (const std::string method : {"GET", "POST"}) {
      const auto got = http->perform(write(method, url, method == "POST" ? "{\"a\":1}" : ""));
      ASSERT_TRUE(got) << scheme << ": " << got.error().message;
      EXPECT_EQ(got->body, "/p//q?x=%20y");
    }
    const bool is_socks = scheme.starts_with("socks");
    EXPECT_EQ(by.count(is_socks ? "SOCKS5 " : "GET " + url), is_socks ? 2 : 1);
    EXPECT_EQ(by.count("POST " + url), is_socks ? 0 : 1);
    for (const std::string& request : seen.all()) {
      EXPECT_EQ(
          header_of(request, "host"), std::string(name) + ":" + std::to_string(server.port())
      );
    }
  }
}

TEST_F(proxied, a_login_is_sent_and_its_refusal_is_an_error_of_its_own) {
  for (const std::string& scheme : schemes()) {
    const auto tls = secure();
    const hostile_server plain(echo_target);
    proxy_server_options options = speaking(scheme);
    options.user = "me";
    options.password = "the right word";
    proxy_server by(options);
    const auto good = make(through(by.url(scheme, "me:the%20right%20word")));
    const auto bad = make(through(by.url(scheme, "me:wrong-password")));
    const auto none = make(through(by.url(scheme)));
    for (const std::string& url : {at(tls, "https"), at(plain, "http")}) {
      const auto got = good->perform(get(url));
      ASSERT_TRUE(got) << scheme << ": " << got.error().message;
      EXPECT_EQ(got->status, 200);
      for (const auto* http : {&bad, &none}) {
        const auto refused = (*http)->perform(write("POST", url, "{}"));
        ASSERT_FALSE(refused) << scheme;
        EXPECT_EQ(refused.error().code, error_code::auth);
        EXPECT_FALSE(refused.error().may_have_been_sent);
        EXPECT_THAT(
            refused.error().message,
            HasSubstr("through " + scheme + "://127.0.0.1:" + std::to_string(by.port()) + ": ")
        );
        EXPECT_THAT(refused.error().message, HasSubstr("password"));
        EXPECT_THAT(refused.error().message, Not(HasSubstr("wrong-password")));
      }
    }
    EXPECT_EQ(by.count("login refused"), 4);
  }
}

TEST_F(proxied, what_a_proxy_refuses_reads_differently_and_nothing_was_sent) {
  struct row {
    int refusal;
    std::string http;
    int reply;
    std::string socks;
  };

  for (const row& r :
       {row{403, "does not allow this destination (HTTP 403)", 2, "rules do not allow"},
        row{502, "cannot reach the destination (HTTP 502)", 4, "cannot reach the destination"},
        row{405, "does not take CONNECT (HTTP 405)", 7, "command not supported"}}) {
    for (const std::string& scheme : schemes()) {
      const auto server = secure();
      proxy_server by(speaking(scheme));
      const bool is_socks = scheme.starts_with("socks");
      by.refuse_with(is_socks ? r.reply : r.refusal);
      const auto http = make(through(by.url(scheme)));
      const auto got = http->perform(write("POST", at(server, "https"), "{}"));
      ASSERT_FALSE(got) << scheme;
      EXPECT_EQ(got.error().code, error_code::transient);
      EXPECT_FALSE(got.error().may_have_been_sent);
      EXPECT_THAT(got.error().message, HasSubstr(is_socks ? r.socks : r.http));
      EXPECT_EQ(server.connections(), 0);
      by.refuse_with(0);
      EXPECT_TRUE(http->perform(write("POST", at(server, "https"), "{}")));
    }
  }
}

TEST_F(proxied, a_proxy_that_is_not_there_is_named_without_its_password) {
  const auto server = secure();
  std::string url;
  {
    const proxy_server gone;
    url = gone.url("socks5h", "me:hidden-password");
  }
  const auto got = make(through(url))->perform(write("POST", at(server, "https"), "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::transient);
  EXPECT_FALSE(got.error().may_have_been_sent);
  EXPECT_THAT(got.error().message, HasSubstr("the proxy cannot be reached (Connection refused)"));
  EXPECT_THAT(got.error().message, HasSubstr("through socks5h://127.0.0.1:"));
  EXPECT_THAT(got.error().message, Not(HasSubstr("hidden-password")));
}

TEST_F(proxied, a_proxy_whose_name_is_unknown_is_told_from_the_service) {
  transport_options options = through("http://proxy.test:3128");
  options.lookup = [](const std::string& host) -> base::result<std::vector<std::string>> {
    EXPECT_EQ(host, "proxy.test");
    return base::error{.code = error_code::transient, .message = "no such name"};
  };
  const auto got = make(options)->perform(get("https://service.test/"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("the proxy cannot be found: "));
}

TEST_F(proxied, a_proxy_that_speaks_something_else_is_found_out) {
  const hostile_server web([](connection& c, int) {
    c.write(answer(400, "what?"));
    c.wait_until_closed();
  });
  const hostile_server mute([](connection& c, int) { c.read_request(); });
  const auto asked = [&](const std::string& scheme, const hostile_server& server) {
    const std::string url = scheme + "://127.0.0.1:" + std::to_string(server.port());
    const auto got = make(through(url))->perform(get("https://service.test/"));
    EXPECT_FALSE(got) << scheme;
    return got ? "" : got.error().message;
  };
  EXPECT_THAT(asked("socks5h", web), HasSubstr("does not speak SOCKS5, it looks like HTTP"));
  EXPECT_THAT(asked("https", web), HasSubstr("TLS handshake with the proxy failed"));
  EXPECT_THAT(asked("http", web), HasSubstr("does not take CONNECT"));
  EXPECT_THAT(asked("http", mute), HasSubstr("closed the connection without an answer"));
}

TEST_F(proxied, the_proxys_certificate_is_checked_even_where_the_services_is_not) {
  const auto server = secure();
  proxy_server by(speaking("https"));
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  transport_options options = through(by.url("https"));
  options.verify_tls = false;
  const auto got = make(options)->perform(write("POST", at(server, "https"), "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::transient);
  EXPECT_THAT(got.error().message, HasSubstr("the proxy's certificate was refused: "));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(proxied, the_services_certificate_is_checked_through_the_tunnel) {
  const auto stranger = authority(directory_, "stranger").issue(std::string("DNS:") + name);
  const hostile_server server(echo_target, {stranger.certificate_file, stranger.key_file});
  proxy_server by(speaking("socks5h"));
  const auto got = make(through(by.url("socks5h")))->perform(get(at(server, "https")));
  ASSERT_FALSE(got);
  EXPECT_FALSE(got.error().may_have_been_sent);
  EXPECT_THAT(got.error().message, HasSubstr("the server's certificate was refused"));
}

TEST_F(proxied, hosts_of_NO_PROXY_are_reached_directly) {
  const hostile_server server(echo_target);
  proxy_server by(speaking("http"));
  transport_options options = through(by.url("http"));
  options.proxies.direct = {"127.0.0.0/8"};
  EXPECT_TRUE(make(options)->perform(get(server.url())));
  EXPECT_EQ(by.connections(), 0);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(proxied, a_silent_proxy_ends_with_the_time_and_with_the_wish_to_stop) {
  for (const std::string& scheme : schemes()) {
    const auto server = secure();
    proxy_server by(speaking(scheme));
    by.fall_silent();
    transport_options options = through(by.url(scheme));
    options.connect_timeout = 150ms;
    const auto slow = make(options)->perform(write("POST", at(server, "https"), "{}"));
    ASSERT_FALSE(slow);
    EXPECT_EQ(slow.error().code, error_code::transient);
    EXPECT_THAT(slow.error().message, HasSubstr("the proxy did not answer in time"));

    const auto patient = make(through(by.url(scheme)));
    request late = write("POST", at(server, "https"), "{}");
    late.deadline = 100ms;
    const auto over = patient->perform(late);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, error_code::deadline);
    EXPECT_FALSE(over.error().may_have_been_sent);

    request stopped = write("POST", at(server, "https"), "{}");
    stopped.stop_requested = [] { return true; };
    const auto ended = patient->perform(stopped);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, error_code::cancelled);
  }
}

TEST_F(proxied, a_write_has_a_tunnel_of_its_own_and_is_sent_once) {
  for (const std::string& scheme : schemes()) {
    received posts;
    const auto server = secure([&](connection& c, int) {
      for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
        posts.add(r);
        if (r.starts_with("POST")) {
          return; // read, not answered
        }
        c.write(answer(200, ""));
      }
    });
    proxy_server by(speaking(scheme));
    const auto http = make(through(by.url(scheme)));
    ASSERT_TRUE(http->perform(get(at(server, "https"))));
    const auto got = http->perform(write("POST", at(server, "https"), "{}"));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::outcome_unknown);
    EXPECT_TRUE(got.error().may_have_been_sent);
    EXPECT_EQ(posts.count("POST"), 1);
    EXPECT_EQ(by.connections(), 2);
  }
}

TEST_F(proxied, a_put_lost_on_a_kept_connection_stays_unknown_when_the_proxy_refuses_the_second) {
  std::atomic<proxy_server*> door{nullptr};
  const auto server = secure([&](connection& c, int) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      if (r.starts_with("PUT")) {
        door.load()->refuse_with(403);
        return;
      }
      c.write(answer(200, ""));
    }
  });
  proxy_server by(speaking("http"));
  door = &by;
  const auto http = make(through(by.url("http")));
  ASSERT_TRUE(http->perform(get(at(server, "https"))));
  const auto got = http->perform(write("PUT", at(server, "https"), "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::outcome_unknown);
  EXPECT_TRUE(got.error().may_have_been_sent);
}

TEST_F(proxied, a_kept_tunnel_that_died_is_replaced) {
  const auto server = secure(say(answer(200, "once")));
  proxy_server by(speaking("socks5h"));
  const auto http = make(through(by.url("socks5h")));
  for (int i = 0; i < 3; ++i) {
    const auto got = http->perform(get(at(server, "https")));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body, "once");
  }
  EXPECT_EQ(by.connections(), 3);
}

TEST_F(proxied, large_bodies_pass_in_both_directions) {
  for (const std::string& scheme : schemes()) {
    const std::string large(3'000'000, 'x');
    const auto server = secure([&](connection& c, int) {
      const std::string r = c.read_request();
      c.write(answer(200, r.substr(r.find("\r\n\r\n") + 4)));
    });
    proxy_server by(speaking(scheme));
    const auto got =
        make(through(by.url(scheme)))->perform(write("POST", at(server, "https"), large));
    ASSERT_TRUE(got) << scheme << ": " << got.error().message;
    EXPECT_EQ(got->body.size(), large.size());
    EXPECT_EQ(got->body, large);
  }
}

TEST_F(proxied, an_answer_cut_by_a_reset_is_no_whole_answer) {
  // Without a length the end of the connection is the end of the body.
  const hostile_server server([](connection& c, int) {
    c.read_request();
    c.write("HTTP/1.1 200 X\r\nConnection: close\r\n\r\nhalf");
    c.reset();
  });
  proxy_server by(speaking("socks5h"));
  const auto got = make(through(by.url("socks5h")))->perform(get(at(server, "http")));
  EXPECT_FALSE(got);
}

TEST_F(proxied, many_threads_use_one_transport) {
  const auto server = secure();
  proxy_server by(speaking("socks5h"));
  const auto http = make(through(by.url("socks5h")));
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string method = i % 3 == 0 ? "POST" : "GET";
        const std::string target = "/" + std::to_string(t) + "/" + std::to_string(i);
        const auto got = http->perform(write(method, at(server, "https") + target, ""));
        good += got && got->body == target ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(good, 80);
}

} // namespace siteagent::net::test
