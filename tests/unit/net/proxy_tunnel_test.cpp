// SPDX-License-Identifier: MIT
#include "core/net/tunnel.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace siteagent::net {

namespace {

using namespace std::string_literals;

tunnel_handshake asked(const std::string& via, const std::string& host, std::uint16_t port = 443) {
  auto ask = tunnel_handshake::start(*parse_proxy(via), host, port, "agent/1");
  EXPECT_TRUE(ask) << ask.error().message;
  return *std::move(ask);
}

// One exchange after the other: what we sent, what the proxy said.
struct turn {
  std::string sent;
  std::string answer;
};

// Each answer is fed byte by byte, which must be the same as at once.
base::result<bool> play(tunnel_handshake& ask, const std::vector<turn>& turns) {
  base::result<bool> last = false;
  for (const turn& t : turns) {
    EXPECT_EQ(ask.take_output(), t.sent);
    EXPECT_EQ(ask.take_output(), "");
    for (const char c : t.answer) {
      last = ask.receive({&c, 1});
      if (!last) {
        return last;
      }
    }
  }
  return last;
}

const std::string head =
    "CONNECT service.test:443 HTTP/1.1\r\nHost: service.test:443\r\nUser-Agent: agent/1\r\n";

} // namespace

TEST(proxy_connect, opens_a_tunnel_with_any_2xx) {
  for (const std::string answer :
       {"HTTP/1.1 200 Connection established\r\n\r\n",
        "HTTP/1.0 200 OK\r\nVia: x\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 299\r\n\r\n",
        "HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"}) {
    auto ask = asked("http://p", "service.test");
    const auto open = play(ask, {{head + "\r\n", answer}});
    ASSERT_TRUE(open) << open.error().message;
    EXPECT_TRUE(*open);
    EXPECT_EQ(ask.early_bytes(), "");
  }
}

TEST(proxy_connect, writes_addresses_and_credentials_as_HTTP_wants_them) {
  EXPECT_EQ(
      asked("http://p", "::1", 8443).take_output(),
      "CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\nUser-Agent: agent/1\r\n\r\n"
  );
  EXPECT_EQ(
      asked("https://me:word@p", "service.test").take_output(),
      head + "Proxy-Authorization: Basic bWU6d29yZA==\r\n\r\n"
  );
}

TEST(proxy_connect, keeps_what_the_destination_said_already) {
  auto ask = asked("http://p", "service.test");
  ask.take_output();
  const auto open = ask.receive("HTTP/1.1 200 OK\r\n\r\nSSH-2.0");
  ASSERT_TRUE(open && *open);
  EXPECT_EQ(ask.early_bytes(), "SSH-2.0");
}

TEST(proxy_connect, says_what_the_proxy_refused) {
  struct row {
    std::string via;
    std::string answer;
    base::error_code code;
    std::string text;
  };

  using base::error_code;
  const std::vector<row> rows = {
      {"http://p",
       "HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n",
       error_code::auth,
       "wants a user name and password (HTTP 407)"},
      {"http://p", "HTTP/1.1 407 \r\n\r\n", error_code::auth, "wants a user name and password"},
      {"http://me:w@p",
       "HTTP/1.1 407 x\r\nproxy-authenticate: NTLM\r\nProxy-Authenticate: Basic\r\n\r\n",
       error_code::auth,
       "refused the user name and password (HTTP 407)"},
      {"http://me:w@p",
       "HTTP/1.1 407 x\r\nProxy-Authenticate: NTLM\r\n\r\n",
       error_code::auth,
       "wants a login by NTLM"},
      {"http://p", "HTTP/1.1 403 No\r\n\r\n", error_code::transient, "does not allow this"},
      {"http://p", "HTTP/1.1 302 Moved\r\n\r\n", error_code::transient, "does not allow this"},
      {"http://p", "HTTP/1.1 502 x\r\n\r\n", error_code::transient, "cannot reach the destination"},
      {"http://p", "HTTP/1.1 504 x\r\n\r\n", error_code::transient, "cannot reach the destination"},
      {"http://p", "HTTP/1.1 405 x\r\n\r\n", error_code::transient, "does not take CONNECT"},
      {"http://p", "HTTP/1.1 2x0 x\r\n\r\n", error_code::transient, "does not speak HTTP"},
      {"http://p", "SSH-2.0-x\r\n", error_code::transient, "does not speak HTTP"},
      {"http://p", "\x05\xFF", error_code::transient, "does not speak HTTP"},
  };
  for (const row& r : rows) {
    auto ask = asked(r.via, "service.test");
    ask.take_output();
    const auto open = ask.receive(r.answer);
    ASSERT_FALSE(open) << r.answer;
    EXPECT_EQ(open.error().code, r.code) << r.answer;
    EXPECT_NE(open.error().message.find(r.text), std::string::npos) << open.error().message;
  }
}

TEST(proxy_connect, reads_long_heads_but_not_endless_ones) {
  const std::string long_head = "HTTP/1.1 200 OK\r\nX: " + std::string(60'000, 'x') + "\r\n\r\n";
  auto ask = asked("http://p", "service.test");
  const auto open = ask.receive(long_head);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_TRUE(*open);

  auto endless = asked("http://p", "service.test");
  const auto refused = endless.receive("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has no end"), std::string::npos);
}

TEST(proxy_socks, asks_by_name_or_by_address) {
  struct row {
    std::string via;
    std::string host;
    std::string request;
  };

  const std::vector<row> rows = {
      {"socks5h://p", "service.test", "\x05\x01\x00\x03\x0Cservice.test\x01\xBB"s},
      {"socks5h://p", "192.0.2.7", "\x05\x01\x00\x01\xC0\x00\x02\x07\x01\xBB"s},
      {"socks5://p", "192.0.2.7", "\x05\x01\x00\x01\xC0\x00\x02\x07\x01\xBB"s},
      {"socks5://p",
       "2001:db8::5",
       "\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x05\x01\xBB"s},
  };
  for (const row& r : rows) {
    for (const std::string& bound :
         {"\x01\x7F\x00\x00\x01\x1F\x90"s,
          "\x03\x03p.q\x1F\x90"s,
          "\x04"s + std::string(16, '\0') + "\x1F\x90"}) {
      auto ask = asked(r.via, r.host);
      const auto open =
          play(ask, {{"\x05\x01\x00"s, "\x05\x00"s}, {r.request, "\x05\0\0"s + bound}});
      ASSERT_TRUE(open) << open.error().message;
      EXPECT_TRUE(*open) << r.via << " " << r.host;
      EXPECT_EQ(ask.early_bytes(), "");
    }
  }
}

TEST(proxy_socks, logs_in_when_the_proxy_wants_it) {
  const std::string request = "\x05\x01\x00\x03\x0Cservice.test\x01\xBB"s;
  const std::string done = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"s;
  auto by_password = asked("socks5h://me:word@p", "service.test");
  const auto open = play(
      by_password,
      {{"\x05\x02\x00\x02"s, "\x05\x02"s}, {"\x01\x02me\x04word"s, "\x01\x00"s}, {request, done}}
  );
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_TRUE(*open);

  auto not_asked = asked("socks5h://me:word@p", "service.test");
  const auto also = play(not_asked, {{"\x05\x02\x00\x02"s, "\x05\x00"s}, {request, done}});
  ASSERT_TRUE(also && *also);
}

TEST(proxy_socks, says_what_the_proxy_refused) {
  struct row {
    std::string via;
    std::vector<std::string> answers;
    base::error_code code;
    std::string text;
  };

  using base::error_code;
  std::vector<row> rows = {
      {"socks5h://p", {"\x05\xFF"s}, error_code::auth, "wants a login"},
      {"socks5h://me:w@p", {"\x05\xFF"s}, error_code::auth, "takes neither"},
      {"socks5h://me:w@p", {"\x05\x02"s, "\x01\x01"s}, error_code::auth, "refused the user name"},
      {"socks5h://p", {"\x05\x01"s}, error_code::transient, "not offered (0x01)"},
      {"socks5h://p", {"\x05\x02"s}, error_code::transient, "not offered (0x02)"},
      {"socks5h://p", {"HTTP/1.1 400"s}, error_code::transient, "looks like HTTP"},
      {"socks5h://p", {"\x04\x5A"s}, error_code::transient, "does not speak SOCKS5"},
      {"socks5h://p", {"\x05\0"s, "\x04\x5A"s}, error_code::transient, "does not speak SOCKS5"},
      {"socks5h://p",
       {"\x05\0"s, "\x05\0\0\x07\x01\x01\x01"s},
       error_code::transient,
       "unknown kind of address"},
  };
  const std::vector<std::pair<char, std::string>> replies = {
      {'\x01', "general failure"},
      {'\x02', "rules do not allow"},
      {'\x03', "network unreachable"},
      {'\x04', "host unreachable"},
      {'\x05', "connection refused"},
      {'\x06', "no answer in time"},
      {'\x07', "command not supported"},
      {'\x08', "kind of address"},
      {'\x63', "reason of its own (SOCKS5 reply 0x63)"},
  };
  for (const auto& [reply, text] : replies) {
    rows.push_back({"socks5h://p", {"\x05\0"s, "\x05"s + reply}, error_code::transient, text});
  }
  for (const row& r : rows) {
    auto ask = asked(r.via, "service.test");
    base::result<bool> open = false;
    for (const std::string& answer : r.answers) {
      ask.take_output();
      open = ask.receive(answer);
    }
    ASSERT_FALSE(open) << r.text;
    EXPECT_EQ(open.error().code, r.code) << r.text;
    EXPECT_NE(open.error().message.find(r.text), std::string::npos) << open.error().message;
    EXPECT_EQ(open.error().message.find('\n'), std::string::npos);
  }
}

TEST(proxy_tunnel, refuses_destinations_that_cannot_be_written) {
  struct row {
    std::string via;
    std::string host;
  };

  for (const row& r :
       {row{"http://p", ""},
        row{"http://p", "a b"},
        row{"http://p", "a\r\nX-Evil: 1"},
        row{"socks5h://p", std::string(256, 'a')},
        row{"socks5://p", "service.test"}}) {
    const auto ask = tunnel_handshake::start(*parse_proxy(r.via), r.host, 443);
    ASSERT_FALSE(ask) << r.via << " " << r.host;
    EXPECT_EQ(ask.error().code, base::error_code::invalid);
  }
}

TEST(proxy_tunnel, tells_a_close_without_an_answer_from_half_an_answer) {
  auto ask = asked("http://p", "service.test");
  EXPECT_EQ(ask.closed_early().code, base::error_code::transient);
  EXPECT_NE(ask.closed_early().message.find("without an answer"), std::string::npos);
  ASSERT_TRUE(ask.receive("HTTP/1.1 2"));
  EXPECT_NE(ask.closed_early().message.find("before it had answered"), std::string::npos);
}

} // namespace siteagent::net
