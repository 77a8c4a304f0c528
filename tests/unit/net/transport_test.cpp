// SPDX-License-Identifier: MIT
// What goes out, what comes in, and what is refused before anything goes out.
#include "tests/unit/net/transport_fixture.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <ostream>

namespace siteagent::net::test {

namespace {

using base::error_code;
using testing::HasSubstr;

class sent_target : public testing::TestWithParam<const char*> {};

TEST_P(sent_target, arrives_byte_for_byte) {
  const hostile_server server(echo_target);
  const auto answer = make()->perform(get(server.url(GetParam())));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    sent_target,
    testing::Values(
        "/",
        "//double//slash/",
        "/a/../b/./c",
        "/a%2Fb%2fc%20d",
        "/subscriptions/1/x?api-version=2024-07-01&$filter=a%20eq%20'b'&$top=5",
        "/?field=a&field=b&field=a",
        "/?a=b=c&d=%2B+%26&e",
        "/x;y=1,2(3)!*'~@:$",
        "/?next=https://h:1/p?q"
    )
);

TEST(transport_request, escapes_what_no_url_may_have) {
  const hostile_server server(echo_target);
  const auto answer = make()->perform(get(server.url("/a|b?x={\"y\":[1]}<>^`\\")));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "/a%7Cb?x=%7B%22y%22:%5B1%5D%7D%3C%3E%5E%60%5C");
}

std::string raw_request(const request& r, transport_options options = {}) {
  received seen;
  {
    const hostile_server server([&](connection& c, int) {
      seen.add(c.read_request());
      c.write(answer(200, ""));
    });
    request copy = r;
    copy.url = server.url(r.url);
    EXPECT_TRUE(make(std::move(options))->perform(copy));
  }
  return seen.all().at(0);
}

TEST(transport_request, carries_headers_body_and_type) {
  request r = write("POST", "/x", "{\"a\":\"\xc3\xbc\"}");
  r.headers = {{"Authorization", "Bearer t0ken"}, {"x-Twice", "1"}};
  const std::string raw = raw_request(r);
  EXPECT_EQ(raw.find("POST /x HTTP/1.1\r\n"), 0U);
  EXPECT_EQ(header_of(raw, "authorization"), "Bearer t0ken");
  EXPECT_EQ(header_of(raw, "x-twice"), "1");
  EXPECT_EQ(header_of(raw, "content-type"), "application/json");
  EXPECT_EQ(header_of(raw, "content-length"), "10");
  EXPECT_THAT(raw, testing::EndsWith("\r\n\r\n{\"a\":\"\xc3\xbc\"}"));
}

TEST(transport_request, lets_the_caller_choose_the_content_type) {
  request form = write("POST", "/x", "a=b");
  form.content_type = "application/x-www-form-urlencoded";
  EXPECT_EQ(header_of(raw_request(form), "content-type"), "application/x-www-form-urlencoded");
  request own = write("PATCH", "/x", "{}");
  own.headers = {{"content-type", "application/merge-patch+json"}};
  EXPECT_EQ(header_of(raw_request(own), "content-type"), "application/merge-patch+json");
}

TEST(transport_request, without_a_body_has_no_type) {
  for (const char* method : {"GET", "DELETE", "POST", "PUT"}) {
    const std::string raw = raw_request(write(method, "/x", ""));
    EXPECT_EQ(header_of(raw, "content-type"), "") << method;
    EXPECT_EQ(header_of(raw, "transfer-encoding"), "") << method;
  }
  EXPECT_EQ(header_of(raw_request(write("POST", "/x", "")), "content-length"), "0");
}

TEST(transport_request, never_asks_for_compression_or_an_interim_answer) {
  const std::string raw = raw_request(write("PUT", "/x", std::string(100'000, 'x')));
  EXPECT_EQ(header_of(raw, "accept-encoding"), "");
  EXPECT_EQ(header_of(raw, "expect"), "");
}

TEST(transport_request, names_the_user_agent_unless_the_caller_does) {
  EXPECT_EQ(header_of(raw_request(get("/")), "user-agent"), "site-agent/" SITEAGENT_VERSION);
  EXPECT_EQ(header_of(raw_request(get("/"), {.user_agent = "agent/1"}), "user-agent"), "agent/1");
  request own = get("/");
  own.headers = {{"User-Agent", "mine/2"}};
  EXPECT_EQ(header_of(raw_request(own, {.user_agent = "agent/1"}), "user-agent"), "mine/2");
}

TEST(transport_request, puts_name_and_port_into_host_on_plain_http) {
  received seen;
  hostile_server server([&](connection& c, int) {
    seen.add(c.read_request());
    c.write(answer(200, ""));
  });
  transport_options options;
  options.allow_plain_http = true;
  options.lookup = [](const std::string&) -> base::result<std::vector<std::string>> {
    return std::vector<std::string>{"127.0.0.1"};
  };
  const std::string port = std::to_string(server.port());
  ASSERT_TRUE(make(std::move(options))->perform(get("http://Waldur.Test:" + port + "/")));
  EXPECT_EQ(header_of(seen.all().at(0), "host"), "waldur.test:" + port);
}

struct bad_request {
  const char* what;
  request r;
};

void PrintTo(const bad_request& c, std::ostream* to) {
  *to << c.what;
}

class refused_request : public testing::TestWithParam<bad_request> {};

TEST_P(refused_request, never_reaches_the_server) {
  const hostile_server server(echo_target);
  request r = GetParam().r;
  if (!r.url.empty() && r.url.front() == '/') {
    r.url = server.url(r.url);
  }
  const auto answer = make()->perform(r);
  ASSERT_FALSE(answer) << GetParam().what;
  EXPECT_EQ(answer.error().code, error_code::permanent);
  EXPECT_FALSE(answer.error().may_have_been_sent);
  EXPECT_THAT(answer.error().message, HasSubstr("refused before sending"));
  EXPECT_THAT(answer.error().message, testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(server.connections(), 0);
}

request with_header(const std::string& name, const std::string& value) {
  request r = get("/");
  r.headers = {{"good", "1"}, {name, value}};
  return r;
}

request with_content_type(const std::string& type) {
  request r = write("POST", "/", "{}");
  r.content_type = type;
  return r;
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    refused_request,
    testing::Values(
        bad_request{"line feed in a value", with_header("x", "hunter2\nX-Evil: 1")},
        bad_request{"carriage return in a value", with_header("x", "hunter2\rX-Evil: 1")},
        bad_request{"both in a value", with_header("x", "hunter2\r\nX-Evil: 1")},
        bad_request{"zero in a value", with_header("x", std::string("hunter2\0b", 9))},
        bad_request{"line break in a name", with_header("x\r\ny", "hunter2")},
        bad_request{"space in a name", with_header("x y", "hunter2")},
        bad_request{"colon in a name", with_header("x:y", "hunter2")},
        bad_request{"empty name", with_header("", "hunter2")},
        bad_request{"expect", with_header("Expect", "100-continue")},
        bad_request{"host", with_header("hOST", "evil.example")},
        bad_request{"length", with_header("Content-Length", "5")},
        bad_request{"chunked", with_header("Transfer-Encoding", "chunked")},
        bad_request{"line break in the type", with_content_type("a/b\r\nX-Evil: 1")},
        bad_request{"method", write("GET /evil HTTP/1.1\r\nX:", "/", "")},
        bad_request{"no method", write("", "/", "")},
        bad_request{"password in the URL", get("https://user:hunter2@127.0.0.1/")},
        bad_request{"relative URL", get("nonsense")},
        bad_request{"line break in the URL", get("/a\r\nX-Evil: 1")},
        bad_request{"plain http beyond loopback", get("http://192.0.2.1/?hunter2")},
        bad_request{"plain http to a name", get("http://127.0.0.1.evil.example/")}
    )
);

TEST(transport_origin, is_one_of_those_configured_or_nothing_is_sent) {
  const hostile_server ours(echo_target);
  const hostile_server foreign(echo_target);
  transport_options options;
  options.allowed_origins = {parse_url(ours.url())->origin};
  const auto t = make(std::move(options));
  EXPECT_TRUE(t->perform(get(ours.url("/fine"))));
  for (const std::string& url :
       {foreign.url("/steal"),
        "https://127.0.0.1:" + std::to_string(ours.port()) + "/",
        "http://127.0.0.1.evil.example:" + std::to_string(ours.port()) + "/",
        "http://127.0.0.2:" + std::to_string(ours.port()) + "/",
        std::string("https://evil.example/")}) {
    request r = get(url);
    r.headers = {{"Authorization", "Bearer hunter2"}};
    const auto answer = t->perform(r);
    ASSERT_FALSE(answer) << url;
    EXPECT_EQ(answer.error().code, error_code::permanent);
    EXPECT_THAT(answer.error().message, HasSubstr("not one of those configured"));
  }
  EXPECT_EQ(foreign.connections(), 0);
}

struct good_answer {
  const char* what;
  std::string method;
  std::string bytes;
  int status;
  std::string body;
};

void PrintTo(const good_answer& c, std::ostream* to) {
  *to << c.what;
}

class decoded_answer : public testing::TestWithParam<good_answer> {};

TEST_P(decoded_answer, is_a_value) {
  const auto& p = GetParam();
  const hostile_server server(say(p.bytes));
  const auto got = make()->perform(write(p.method, server.url(), ""));
  ASSERT_TRUE(got) << p.what << ": " << got.error().message;
  EXPECT_EQ(got->status, p.status) << p.what;
  EXPECT_EQ(got->body, p.body) << p.what;
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    decoded_answer,
    testing::Values(
        good_answer{"ok", "GET", answer(200, "{}"), 200, "{}"},
        good_answer{"empty", "GET", answer(200, ""), 200, ""},
        good_answer{
            "html gateway",
            "GET",
            answer(502, "<html>", "Content-Type: text/html\r\n"),
            502,
            "<html>"},
        good_answer{
            "strange charset",
            "GET",
            answer(200, "\xff\xfe", "Content-Type: x/y; charset=utf-7\r\n"),
            200,
            "\xff\xfe"},
        good_answer{
            "claims gzip",
            "GET",
            answer(200, "not gzip", "Content-Encoding: gzip\r\n"),
            200,
            "not gzip"},
        good_answer{"unauthorized", "GET", answer(401, "no"), 401, "no"},
        good_answer{"error of the server", "POST", answer(500, "oops"), 500, "oops"},
        good_answer{"no content", "DELETE", "HTTP/1.1 204 X\r\n\r\n", 204, ""},
        good_answer{"not modified", "GET", "HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", 304, ""},
        good_answer{
            "head", "HEAD", "HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n", 200, ""},
        good_answer{
            "no reason phrase", "GET", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", 200, "x"},
        good_answer{"until the end", "GET", "HTTP/1.1 200 X\r\n\r\nall of it", 200, "all of it"},
        good_answer{"old version", "GET", "HTTP/1.0 200 X\r\nContent-Length: 1\r\n\r\nx", 200, "x"},
        good_answer{
            "chunks with extension and trailer",
            "GET",
            "HTTP/1.1 200 X\r\nTransfer-Encoding: "
            "chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n",
            200,
            "abcde"},
        good_answer{"a line that is no header", "GET", answer(200, "x", "nonsense\r\n"), 200, "x"},
        good_answer{
            "zero bytes", "GET", answer(200, std::string("a\0b", 3)), 200, std::string("a\0b", 3)}
    )
);

TEST(transport_answer, has_headers_in_lower_case_and_joined) {
  const hostile_server server(say(answer(200, "", "X-One: 1\r\nLink: <a>\r\nLINK:  <b> \r\n")));
  const auto got = make()->perform(get(server.url()));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->header("x-one"), "1");
  EXPECT_EQ(got->header("link"), "<a>, <b>");
}

class redirect : public testing::TestWithParam<int> {};

TEST_P(redirect, is_an_answer_and_never_followed) {
  const hostile_server target(echo_target);
  received seen;
  const hostile_server server([&](connection& c, int) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      seen.add(r);
      c.write(answer(GetParam(), "", "Location: " + target.url("/elsewhere") + "\r\n"));
    }
  });
  const auto t = make();
  for (const char* method : {"GET", "POST", "PUT", "DELETE", "HEAD"}) {
    request r = write(method, server.url(), "");
    r.headers = {{"Authorization", "Bearer hunter2"}};
    const auto got = t->perform(r);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->status, GetParam());
    EXPECT_EQ(got->header("location"), target.url("/elsewhere"));
    EXPECT_EQ(seen.count(std::string(method) + " "), 1);
  }
  EXPECT_EQ(seen.all().size(), 5U);
  EXPECT_EQ(target.connections(), 0);
}

INSTANTIATE_TEST_SUITE_P(transport, redirect, testing::Values(300, 301, 302, 303, 307, 308));

TEST(process, uses_hashed_authorities_and_ignores_sigpipe) {
  EXPECT_STREQ(std::getenv("SSL_CERT_FILE"), "/dev/null");
  EXPECT_STREQ(std::getenv("SSL_CERT_DIR"), "/etc/ssl/certs");

  struct sigaction action {};

  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
}

TEST(process, leaves_an_operator_s_choice_of_authorities_alone) {
  const std::string file = std::getenv("SSL_CERT_FILE");
  const std::string directory = std::getenv("SSL_CERT_DIR");
  setenv("SSL_CERT_FILE", "/chosen.pem", 1);
  unsetenv("SSL_CERT_DIR");
  initialise_process(); // a second call is harmless
  EXPECT_STREQ(std::getenv("SSL_CERT_FILE"), "/chosen.pem");
  EXPECT_EQ(std::getenv("SSL_CERT_DIR"), nullptr);
  setenv("SSL_CERT_FILE", file.c_str(), 1);
  setenv("SSL_CERT_DIR", directory.c_str(), 1);
}

TEST(make_transport, refuses_a_user_agent_with_a_line_break) {
  const auto made = make_transport({.user_agent = "a\r\nX-Evil: 1"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::invalid);
}

} // namespace

} // namespace siteagent::net::test
