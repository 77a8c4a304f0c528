// SPDX-License-Identifier: MIT
// TLS: whom we trust, under which name, and what the operator reads when we do not.
#include "core/net/certificate_trust.hpp"
#include "tests/unit/net/test_certificates.hpp"
#include "tests/unit/net/transport_fixture.hpp"

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace siteagent::net::test {

namespace {

using base::error_code;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class tls : public testing::Test {
protected:
  hostile_server serve(const issued& identity, hostile_server::script s = echo_target) const {
    return hostile_server(std::move(s), {identity.certificate_file, identity.key_file});
  }

  transport_options trusting(const authority& ca) const {
    transport_options options;
    options.ca_file = ca.file();
    options.connect_timeout = 20s;
    options.lookup = [](const std::string&) -> base::result<std::vector<std::string>> {
      return std::vector<std::string>{"127.0.0.1"};
    };
    return options;
  }

  static std::string named(const hostile_server& server, const std::string& host) {
    return "https://" + host + ":" + std::to_string(server.port()) + "/";
  }

  // A write, so that "not sent" is worth something.
  static void expect_refused(const base::result<response>& got, const std::string& why) {
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::transient);
    EXPECT_FALSE(got.error().may_have_been_sent);
    EXPECT_THAT(got.error().message, HasSubstr(why));
  }

  const temporary_directory directory_;
  authority ours_{directory_, "ours"};
  authority foreign_{directory_, "foreign"};
};

TEST_F(tls, accepts_our_authority_for_a_name_and_for_an_address) {
  received names;
  const auto server = serve(ours_.issue("DNS:waldur.test,IP:127.0.0.1"), [&](connection& c, int n) {
    names.add(c.server_name());
    echo_target(c, n);
  });
  const auto t = make(trusting(ours_));
  const auto by_name = t->perform(get(named(server, "waldur.test")));
  ASSERT_TRUE(by_name) << by_name.error().message;
  const auto by_address = t->perform(write("POST", server.url("/x"), "{}"));
  ASSERT_TRUE(by_address) << by_address.error().message;
  EXPECT_EQ(names.all().at(0), "waldur.test");
}

// With a port in it the library's check of the name would fail.
TEST_F(tls, sends_host_without_the_port) {
  received seen;
  const auto server = serve(ours_.issue("DNS:waldur.test"), [&](connection& c, int) {
    seen.add(c.read_request());
    c.write(answer(200, ""));
  });
  ASSERT_TRUE(make(trusting(ours_))->perform(get(named(server, "Waldur.TEST"))));
  EXPECT_EQ(header_of(seen.all().at(0), "host"), "waldur.test");
}

TEST_F(tls, keeps_connections_of_two_names_at_one_address_apart) {
  const auto server = serve(ours_.issue("DNS:a.test"));
  const auto t = make(trusting(ours_));
  ASSERT_TRUE(t->perform(get(named(server, "a.test"))));
  expect_refused(t->perform(get(named(server, "b.test"))), "it is for another host name");
}

TEST_F(tls, refuses_an_unknown_authority) {
  const auto server = serve(foreign_.issue("DNS:waldur.test"));
  const auto got =
      make(trusting(ours_))->perform(write("POST", named(server, "waldur.test"), "{}"));
  expect_refused(got, "certificate was refused: unable to get");
  EXPECT_THAT(got.error().message, HasSubstr("CA file"));
}

TEST_F(tls, trusts_only_the_authority_given_and_not_the_machine_s) {
  auto options = trusting(ours_);
  options.ca_file.clear();
  const auto server = serve(ours_.issue("DNS:waldur.test"));
  const auto got =
      make(std::move(options))->perform(write("POST", named(server, "waldur.test"), "{}"));
  expect_refused(got, "certificate was refused: unable to get");
}

TEST_F(tls, refuses_another_host_name) {
  const auto server = serve(ours_.issue("DNS:other.test"));
  const auto t = make(trusting(ours_));
  expect_refused(
      t->perform(write("POST", named(server, "waldur.test"), "{}")), "another host name"
  );
  expect_refused(t->perform(write("PUT", server.url(), "{}")), "another host name");
}

TEST_F(tls, refuses_an_expired_certificate) {
  const auto server = serve(ours_.issue("DNS:waldur.test", true));
  expect_refused(
      make(trusting(ours_))->perform(write("POST", named(server, "waldur.test"), "{}")),
      "certificate has expired"
  );
}

TEST_F(tls, checks_nothing_when_told_so) {
  auto options = trusting(ours_);
  options.verify_tls = false;
  const auto t = make(std::move(options));
  for (const issued& identity :
       {foreign_.issue("DNS:waldur.test"), ours_.issue("DNS:x"), ours_.issue("DNS:x", true)}) {
    const auto server = serve(identity);
    const auto got = t->perform(write("POST", named(server, "waldur.test"), "{}"));
    EXPECT_TRUE(got) << got.error().message;
  }
}

TEST_F(tls, refuses_old_versions) {
  const issued identity = ours_.issue("DNS:waldur.test");
  const hostile_server server(
      echo_target, {identity.certificate_file, identity.key_file, TLS1_1_VERSION}
  );
  expect_refused(
      make(trusting(ours_))->perform(write("POST", named(server, "waldur.test"), "{}")),
      "TLS handshake failed"
  );
}

// The machine's OpenSSL may refuse them anyway; ours must not depend on that.
TEST(verification, asks_for_tls_1_2_at_least) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free
  );
  SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
  verification v;
  v.apply(context.get(), nullptr);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(context.get()), TLS1_2_VERSION);
  EXPECT_EQ(v.problem(), std::nullopt);
}

TEST_F(tls, says_that_a_plain_port_speaks_no_tls) {
  hostile_server plain([](connection& c, int) {
    c.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    c.wait_until_closed();
  });
  expect_refused(
      make(trusting(ours_))->perform(write("POST", named(plain, "waldur.test"), "{}")),
      "TLS handshake failed"
  );
}

TEST_F(tls, a_server_that_hangs_in_the_handshake_got_no_request) {
  hostile_server silent([](connection& c, int) { c.wait_until_closed(); });
  auto options = trusting(ours_);
  options.connect_timeout = 100ms;
  const auto t = make(std::move(options));
  expect_refused(t->perform(write("POST", named(silent, "a.test"), "{}")), "no connection in time");
  request r = write("POST", named(silent, "a.test"), "{}");
  r.deadline = 60ms;
  const auto late = t->perform(r);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::deadline);
  EXPECT_FALSE(late.error().may_have_been_sent);
}

TEST_F(tls, reads_share_a_connection_and_a_closed_one_is_replaced) {
  std::atomic<int> answered{0};
  const auto server = serve(ours_.issue("DNS:waldur.test"), [&](connection& c, int) {
    for (int i = 0; i < 10; ++i) {
      const std::string r = c.read_request();
      if (r.empty() || !c.write(answer(200, ""))) {
        return;
      }
      ++answered;
    }
    c.reset();
  });
  const auto t = make(trusting(ours_));
  for (int i = 0; i < 100; ++i) {
    const auto got = t->perform(get(named(server, "waldur.test")));
    ASSERT_TRUE(got) << got.error().message;
  }
  EXPECT_LT(server.connections(), 60);
}

TEST_F(tls, serves_many_threads) {
  const auto server = serve(ours_.issue("DNS:waldur.test"));
  const auto t = make(trusting(ours_));
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 64; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 4; ++i) {
        const auto got =
            t->perform(write((n + i) % 2 == 0 ? "GET" : "POST", named(server, "waldur.test"), ""));
        served += got ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(served, 256);
}

TEST_F(tls, a_lost_write_is_sent_once) {
  received seen;
  const auto server = serve(ours_.issue("DNS:waldur.test"), [&](connection& c, int) {
    seen.add(c.read_request());
  });
  const auto got =
      make(trusting(ours_))->perform(write("POST", named(server, "waldur.test"), "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::outcome_unknown);
  EXPECT_EQ(seen.count("POST"), 1);
}

TEST_F(tls, an_answer_too_large_is_cut_off) {
  const auto server = serve(ours_.issue("DNS:waldur.test"), [](connection& c, int) {
    c.read_request();
    c.write("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n7ffffff0\r\n");
    while (c.write(std::string(10'000, 'x'))) {
    }
  });
  request r = get(named(server, "waldur.test"));
  r.max_body = 10'000;
  const auto got = make(trusting(ours_))->perform(r);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::permanent);
}

TEST_F(tls, a_ca_file_that_is_none_is_found_out_at_once) {
  const std::string text = directory_.file("text.pem");
  std::ofstream(text) << "no certificate\n";
  const std::string empty = directory_.file("empty.pem");
  std::ofstream{empty};
  for (const std::string& file :
       {directory_.file("missing.pem"), text, empty, directory_.file("")}) {
    const auto made = make_transport({.ca_file = file});
    ASSERT_FALSE(made) << file;
    EXPECT_EQ(made.error().code, error_code::invalid);
    EXPECT_THAT(made.error().message, HasSubstr("CA file " + file));
  }
}

TEST_F(tls, a_ca_file_is_needed_only_when_the_transport_is_made) {
  const auto server = serve(ours_.issue("DNS:waldur.test"));
  const auto t = make(trusting(ours_));
  ASSERT_EQ(std::remove(ours_.file().c_str()), 0);
  EXPECT_TRUE(t->perform(get(named(server, "waldur.test"))));
}

} // namespace

} // namespace siteagent::net::test
