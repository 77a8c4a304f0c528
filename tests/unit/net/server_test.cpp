// SPDX-License-Identifier: MIT
// The HTTP server as its clients meet it, friendly or not.
#include "core/net/server.hpp"

#include "tests/unit/net/raw_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

namespace siteagent::net {

namespace {

using test::raw_answer;
using test::raw_client;

std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: here\r\n" + headers + "\r\n";
}

std::string post(const std::string& target, const std::string& body) {
  return "POST " + target +
         " HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

std::unique_ptr<server> serve(server::handler h, server_options options = {}) {
  auto started = server::start(std::move(options), std::move(h));
  EXPECT_TRUE(started) << started.error().message;
  return std::move(*started);
}

server_response text(std::string body, int status = 200) {
  server_response r;
  r.status = status;
  r.body = std::move(body);
  return r;
}

server_response echo(const server_request& r) {
  return text(r.method + " " + r.path + " " + r.body);
}

TEST(http_server, binds_a_free_port_and_answers) {
  const auto s = serve(echo);
  EXPECT_NE(s->port(), 0);
  raw_client c(s->port());
  const auto a = c.send(post("/a", "hello")).read();
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, "POST /a hello");
  EXPECT_EQ(a.headers.count("date"), 1U);
}

TEST(http_server, gives_the_handler_every_part_of_the_request) {
  server_request seen;
  const auto s = serve([&seen](const server_request& r) {
    seen = r;
    return text("");
  });
  raw_client c(s->port());
  c.send(get("/sub%2Fscriptions//x%20y/?field=a&field=b&Q=1+2%2B", "X-Thing: Value\r\n")).read();
  EXPECT_EQ(seen.path, "/sub%2Fscriptions//x%20y/");
  EXPECT_EQ(seen.query, "field=a&field=b&Q=1+2%2B");
  EXPECT_EQ(seen.target, seen.path + "?" + seen.query);
  EXPECT_EQ(seen.segments, (std::vector<std::string>{"sub/scriptions", "x y"}));
  EXPECT_EQ(seen.parameters, (query_list{{"field", "a"}, {"field", "b"}, {"Q", "1 2+"}}));
  EXPECT_EQ(seen.parameter("q"), "1 2+");
  EXPECT_EQ(seen.parameter("absent"), "");
  EXPECT_EQ(seen.header("x-thing"), "Value");
  EXPECT_EQ(seen.header("absent"), "");
  EXPECT_EQ(seen.scheme, "http");
  EXPECT_EQ(seen.peer, "127.0.0.1");
  EXPECT_TRUE(seen.peer_is_loopback);
  EXPECT_EQ(seen.port, s->port());
}

TEST(http_server, cuts_an_absolute_target_to_its_path) {
  const auto s = serve(echo);
  raw_client c(s->port());
  EXPECT_EQ(c.send(get("http://elsewhere/p/q?x")).read().body, "GET /p/q ");
  EXPECT_EQ(c.send(get("http://elsewhere")).read().body, "GET / ");
}

TEST(http_server, answers_pipelined_requests_in_order) {
  const auto s = serve(echo);
  raw_client c(s->port());
  c.send(get("/1") + post("/2", "two") + get("/3"));
  EXPECT_EQ(c.read().body, "GET /1 ");
  EXPECT_EQ(c.read().body, "POST /2 two");
  EXPECT_EQ(c.read().body, "GET /3 ");
}

TEST(http_server, takes_any_method) {
  const auto s = serve(echo);
  raw_client c(s->port());
  for (const std::string method : {"PUT", "PATCH", "DELETE", "OPTIONS", "BREW"}) {
    const auto a = c.send(method + " /m HTTP/1.1\r\nHost: h\r\n\r\n").read();
    EXPECT_EQ(a.body, method + " /m ");
  }
}

TEST(http_server, sends_no_body_to_head_but_its_length) {
  const auto s = serve(echo);
  raw_client c(s->port());
  const auto a = c.send("HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n").read(true);
  EXPECT_EQ(a.headers.at("content-length"), "8");
  EXPECT_EQ(c.send(get("/next")).read().body, "GET /next ");
}

TEST(http_server, sends_no_length_with_204) {
  const auto s = serve([](const server_request&) { return text("dropped", 204); });
  raw_client c(s->port());
  const auto a = c.send(get("/")).read();
  EXPECT_EQ(a.status, 204);
  EXPECT_EQ(a.headers.count("content-length"), 0U);
  EXPECT_EQ(c.send(get("/")).read().status, 204);
}

TEST(http_server, closes_when_asked_to) {
  const auto s = serve(echo);
  raw_client c(s->port());
  EXPECT_EQ(c.send(get("/", "Connection: close\r\n")).read().headers.at("connection"), "close");
  EXPECT_TRUE(c.is_closed());
  raw_client old(s->port());
  EXPECT_EQ(old.send("GET /old HTTP/1.0\r\n\r\n").read().body, "GET /old ");
  EXPECT_TRUE(old.is_closed());
}

TEST(http_server, reads_chunked_bodies_and_continues_when_expected) {
  const auto s = serve(echo);
  raw_client c(s->port());
  c.send("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
         "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.read(true).status, 100);
  EXPECT_EQ(c.send("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").read().body, "POST /c abcde");
}

TEST(http_server, repeats_header_names_and_drops_injected_lines) {
  const auto s = serve([](const server_request&) {
    auto r = text("");
    r.headers = {{"X-A", "1"}, {"X-B", "evil\r\nX-Evil: 1"}, {"X-C\n", "1"}, {"Retry-After", "7"}};
    return r;
  });
  raw_client c(s->port());
  const auto a = c.send(get("/")).read();
  EXPECT_EQ(a.headers.at("x-a"), "1");
  EXPECT_EQ(a.headers.at("retry-after"), "7");
  EXPECT_EQ(a.headers.count("x-b"), 0U);
  EXPECT_EQ(a.headers.count("x-evil"), 0U);
}

TEST(http_server, turns_an_exception_of_the_handler_into_500) {
  const auto s = serve([](const server_request&) -> server_response {
    throw std::runtime_error("secret detail");
  });
  raw_client c(s->port());
  const auto a = c.send(get("/")).read();
  EXPECT_EQ(a.status, 500);
  EXPECT_EQ(a.body.find("secret"), std::string::npos);
  EXPECT_EQ(c.send(get("/")).read().status, 500);
}

struct bad_request {
  const char* name;
  std::string bytes;
  int status;
};

class http_server_refuses : public testing::TestWithParam<bad_request> {};

TEST_P(http_server_refuses, with_the_right_status_and_closes) {
  server_options o;
  o.max_header = 2'000;
  o.max_body = 1'000;
  const auto s = serve(echo, o);
  raw_client c(s->port());
  c.send(GetParam().bytes);
  const auto a = c.read();
  EXPECT_EQ(a.status, GetParam().status);
  c.finish_sending();
  EXPECT_TRUE(c.is_closed());
  // The others go on.
  raw_client next(s->port());
  EXPECT_EQ(next.send(get("/")).read().status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    requests,
    http_server_refuses,
    testing::Values(
        bad_request{"large_body", post("/", std::string(1'001, 'x')), 413},
        bad_request{
            "large_chunked_body",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n" +
                std::string(4'096, 'x'),
            413},
        bad_request{"large_header", get("/", "X: " + std::string(3'000, 'x') + "\r\n"), 431},
        bad_request{"large_target", get("/" + std::string(3'000, 'x')), 431},
        bad_request{"no_http", "hello\r\n\r\n", 400},
        bad_request{"negative_length", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        bad_request{
            "negative_chunk",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
            400}
    ),
    [](const auto& p) { return std::string(p.param.name); }
);

TEST(http_server, says_nothing_to_half_a_request) {
  const auto s = serve(echo);
  raw_client c(s->port());
  c.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab").finish_sending();
  EXPECT_TRUE(c.is_closed());
}

TEST(http_server, gives_up_on_a_slow_request) {
  server_options o;
  o.read_timeout = std::chrono::milliseconds(50);
  const auto s = serve(echo, o);
  raw_client c(s->port());
  EXPECT_TRUE(c.send("GET / HT").is_closed());
}

TEST(http_server, gives_up_on_an_idle_connection) {
  server_options o;
  o.idle_timeout = std::chrono::milliseconds(50);
  const auto s = serve(echo, o);
  raw_client c(s->port());
  EXPECT_EQ(c.send(get("/")).read().status, 200);
  EXPECT_TRUE(c.is_closed());
}

server_response ending(server_response::ending e, std::string body = "0123456789") {
  auto r = text(std::move(body));
  r.end = e;
  return r;
}

TEST(http_server, cuts_the_connection_without_an_answer) {
  const auto s = serve([](const server_request&) { return ending(server_response::ending::cut); });
  raw_client c(s->port());
  EXPECT_TRUE(c.send(get("/")).is_closed());
}

TEST(http_server, sends_half_of_a_truncated_answer) {
  const auto s =
      serve([](const server_request&) { return ending(server_response::ending::truncate); });
  raw_client c(s->port());
  const auto a = c.send(get("/")).read();
  EXPECT_EQ(a.headers.at("content-length"), "10");
  EXPECT_EQ(a.body, "01234");
  EXPECT_FALSE(a.is_complete);
  EXPECT_TRUE(c.is_closed());
}

TEST(http_server, notices_that_a_client_left_a_hanging_request) {
  std::promise<void> gone;
  const auto s = serve([&gone](const server_request& r) {
    auto answer = ending(server_response::ending::hang);
    if (r.path == "/hang") {
      answer.on_finished = [&gone] { gone.set_value(); };
    }
    return answer;
  });
  {
    raw_client c(s->port());
    c.send(get("/hang"));
    raw_client other(s->port());
    EXPECT_TRUE(other.send(get("/x")).is_connected());
    EXPECT_TRUE(c.is_quiet());
  }
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST(http_server, waits_without_blocking_a_thread) {
  server_options o;
  o.threads = 1;
  const auto s = serve(
      [](const server_request& r) {
        auto answer = text(r.path);
        if (r.path == "/slow") {
          answer.delay = std::chrono::milliseconds(200);
        }
        return answer;
      },
      o
  );
  raw_client slow(s->port());
  raw_client quick(s->port());
  slow.send(get("/slow"));
  EXPECT_EQ(quick.send(get("/quick")).read().body, "/quick");
  EXPECT_TRUE(slow.is_quiet());
  EXPECT_EQ(slow.read().body, "/slow");
}

TEST(http_server, makes_a_late_answer_when_the_delay_is_over) {
  std::atomic<int> made{0};
  const auto s = serve([&made](const server_request&) {
    server_response r;
    r.delay = std::chrono::milliseconds(20);
    r.resume = [&made] {
      ++made;
      return text("late");
    };
    return r;
  });
  raw_client c(s->port());
  c.send(get("/"));
  EXPECT_EQ(c.read().body, "late");
  EXPECT_EQ(made, 1);
}

TEST(http_server, calls_on_finished_once_after_the_answer) {
  std::atomic<int> calls{0};
  std::promise<void> done;
  const auto s = serve([&](const server_request&) {
    auto r = text("x");
    r.on_finished = [&] {
      ++calls;
      done.set_value();
    };
    return r;
  });
  raw_client c(s->port());
  EXPECT_EQ(c.send(get("/")).read().status, 200);
  ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  s->stop();
  EXPECT_EQ(calls, 1);
}

TEST(http_server, lets_a_running_request_finish_when_it_stops) {
  std::promise<void> running;
  const auto s = serve([&running](const server_request&) {
    running.set_value();
    auto r = text("finished");
    r.delay = std::chrono::milliseconds(100);
    return r;
  });
  raw_client idle(s->port());
  raw_client c(s->port());
  c.send(get("/"));
  running.get_future().wait();
  std::thread stopping([&s] { s->stop(std::chrono::seconds(5)); });
  const auto a = c.read();
  stopping.join();
  EXPECT_EQ(a.body, "finished");
  EXPECT_EQ(a.headers.at("connection"), "close");
  EXPECT_TRUE(idle.is_closed());
  EXPECT_FALSE(raw_client(s->port()).is_connected());
  s->stop(); // a second call does nothing
}

TEST(http_server, closes_what_outlives_the_grace) {
  std::promise<void> running;
  const auto s = serve([&running](const server_request&) {
    running.set_value();
    auto r = text("never");
    r.delay = std::chrono::hours(1);
    return r;
  });
  raw_client c(s->port());
  c.send(get("/"));
  running.get_future().wait();
  s->stop(std::chrono::milliseconds(20));
  EXPECT_TRUE(c.is_closed());
}

TEST(http_server, serves_many_connections_at_once) {
  const auto s = serve(echo);
  std::vector<std::unique_ptr<raw_client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<raw_client>(s->port()));
    clients.back()->send(get("/" + std::to_string(i)));
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(clients[static_cast<std::size_t>(i)]->read().body, "GET /" + std::to_string(i) + " ");
  }
}

TEST(http_server, says_why_it_cannot_start) {
  const auto first = serve(echo);
  server_options taken;
  taken.port = first->port();
  const auto second = server::start(taken, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::error_code::conflict);

  server_options nowhere;
  nowhere.address = "not-an-address";
  EXPECT_EQ(server::start(nowhere, echo).error().code, base::error_code::invalid);

  server_options half;
  half.tls_key_file = "key.pem";
  EXPECT_EQ(server::start(half, echo).error().code, base::error_code::invalid);

  server_options missing;
  missing.tls_key_file = testing::TempDir() + "absent.key";
  missing.tls_certificate_file = testing::TempDir() + "absent.pem";
  const auto refused = server::start(missing, echo);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("absent.pem"), std::string::npos);
}

} // namespace

} // namespace siteagent::net
