// SPDX-License-Identifier: MIT
// Each measured defect of the HTTP library against a server that provokes it, and what an error
// says about whether the request was sent.
#include "tests/unit/net/transport_fixture.hpp"

#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <ostream>
#include <thread>

namespace siteagent::net::test {

namespace {

using base::error_code;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* text_of_ok = "ok";

using lookup = std::function<base::result<std::vector<std::string>>(const std::string&)>;

lookup pointing_to(std::vector<std::string> addresses) {
  return [addresses = std::move(addresses
          )](const std::string&) -> base::result<std::vector<std::string>> { return addresses; };
}

class lost_write : public testing::TestWithParam<const char*> {};

// The library would send a POST again by itself on a kept connection that was closed.
TEST_P(lost_write, is_sent_once_and_its_outcome_unknown) {
  received seen;
  hostile_server server([&](connection& c, int) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      seen.add(r);
      if (r.find("GET") != 0) {
        return;
      }
      c.write(answer(200, text_of_ok));
    }
  });
  const auto t = make();
  ASSERT_TRUE(t->perform(get(server.url("/first"))));
  request r = write(GetParam(), server.url("/"), "{}");
  r.fresh_connection = true;
  const auto got = t->perform(r);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::outcome_unknown);
  EXPECT_TRUE(got.error().may_have_been_sent);
  EXPECT_THAT(got.error().message, HasSubstr("look before repeating"));
  EXPECT_EQ(seen.count(GetParam()), 1);
  EXPECT_TRUE(t->perform(get(server.url("/after"))));
}

INSTANTIATE_TEST_SUITE_P(transport, lost_write, testing::Values("POST", "PATCH", "PUT", "DELETE"));

TEST(hostile, a_post_is_never_sent_on_a_kept_connection) {
  std::atomic<int> requests_on_first{0};
  hostile_server server([&](connection& c, int number) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      requests_on_first += number == 0 ? 1 : 0;
      c.write(answer(200, text_of_ok));
    }
  });
  const auto t = make();
  ASSERT_TRUE(t->perform(get(server.url())));
  ASSERT_TRUE(t->perform(write("POST", server.url(), "{}")));
  ASSERT_TRUE(t->perform(write("PATCH", server.url(), "{}")));
  EXPECT_EQ(requests_on_first, 1);
  EXPECT_EQ(server.connections(), 3);
}

TEST(hostile, reads_share_a_kept_connection) {
  const hostile_server server(echo_target);
  const auto t = make();
  for (int i = 0; i < 50; ++i) {
    const auto got = t->perform(get(server.url("/" + std::to_string(i))));
    ASSERT_TRUE(got);
    ASSERT_EQ(got->body, "/" + std::to_string(i));
  }
  // A connection may not be back in time for the next request; that is no fault.
  EXPECT_LT(server.connections(), 25);
}

class interim : public testing::TestWithParam<int> {};

// The library takes it for the final answer, and the real one for the next request's.
TEST_P(interim, answer_is_an_error_and_never_shifts_answers) {
  hostile_server server([&](connection& c, int) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      if (target_of(r) == "/interim") {
        c.write("HTTP/1.1 " + std::to_string(GetParam()) + " X\r\n\r\n");
      }
      c.write(answer(200, target_of(r)));
    }
  });
  const auto t = make();
  const auto read = t->perform(get(server.url("/interim")));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, error_code::transient);
  EXPECT_THAT(read.error().message, HasSubstr(std::to_string(GetParam())));
  const auto written = t->perform(write("POST", server.url("/interim"), "{}"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, error_code::outcome_unknown);
  for (const char* target : {"/a", "/b"}) {
    const auto got = t->perform(get(server.url(target)));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->body, target);
  }
}

INSTANTIATE_TEST_SUITE_P(transport, interim, testing::Values(100, 101, 102, 103, 199));

TEST(hostile, an_answer_nobody_asked_for_is_not_the_next_answer) {
  hostile_server server([&](connection& c, int) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      c.write(answer(200, target_of(r)) + answer(200, "smuggled")); // there before ours is read
    }
  });
  const auto t = make();
  for (const char* target : {"/a", "/b", "/c"}) {
    const auto got = t->perform(get(server.url(target)));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body, target);
  }
}

struct idle_end {
  bool is_reset;
  int threads;
};

void PrintTo(const idle_end& c, std::ostream* to) {
  *to << (c.is_reset ? "reset, " : "closed, ") << c.threads << " threads";
}

class idle_connection : public testing::TestWithParam<idle_end> {};

TEST_P(idle_connection, closed_by_the_server_is_replaced_unseen) {
  hostile_server server([&](connection& c, int) {
    const std::string r = c.read_request();
    c.write(answer(200, target_of(r)));
    if (GetParam().is_reset) {
      c.reset();
    }
  });
  const auto t = make();
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < GetParam().threads; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 50; ++i) {
        const std::string target = "/" + std::to_string(n) + "/" + std::to_string(i);
        const char* method = i % 5 == 4 ? "POST" : "GET";
        const auto got = t->perform(write(method, server.url(target), ""));
        failures += got && got->body == target ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    idle_connection,
    testing::Values(idle_end{false, 1}, idle_end{true, 1}, idle_end{false, 4}, idle_end{true, 4})
);

TEST(hostile, after_a_broken_answer_the_next_request_works) {
  hostile_server server([&](connection& c, int number) {
    for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
      if (number == 0) {
        c.write("HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf");
        return;
      }
      c.write(answer(200, text_of_ok));
    }
  });
  const auto t = make();
  const auto broken = t->perform(get(server.url()));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, error_code::transient);
  EXPECT_THAT(broken.error().message, HasSubstr("within the answer"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(t->perform(get(server.url())));
  }
}

struct bad_answer {
  const char* what;
  std::string bytes;
};

void PrintTo(const bad_answer& c, std::ostream* to) {
  *to << c.what;
}

class undecodable : public testing::TestWithParam<bad_answer> {};

TEST_P(undecodable, answer_is_an_error_of_its_kind) {
  const hostile_server server(say(GetParam().bytes));
  const auto t = make();
  const auto read = t->perform(get(server.url()));
  ASSERT_FALSE(read) << GetParam().what;
  EXPECT_EQ(read.error().code, error_code::transient) << GetParam().what;
  EXPECT_TRUE(read.error().may_have_been_sent) << GetParam().what;
  const auto written = t->perform(write("PUT", server.url(), "{}"));
  ASSERT_FALSE(written) << GetParam().what;
  EXPECT_EQ(written.error().code, error_code::outcome_unknown) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    undecodable,
    testing::Values(
        bad_answer{"nothing", ""},
        bad_answer{"another protocol", "SSH-2.0-OpenSSH_9.2p1\r\n\r\n"},
        bad_answer{"no status", "HTTP/1.1\r\n\r\n"},
        bad_answer{"a word as status", "HTTP/1.1 fine X\r\n\r\n"},
        bad_answer{"a status too large", "HTTP/1.1 99999 X\r\n\r\n"},
        bad_answer{"a status unknown to anybody", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n"},
        bad_answer{"half a header", "HTTP/1.1 200 X\r\nContent-Len"},
        bad_answer{"half a body", "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nhalf"},
        bad_answer{"a negative length", "HTTP/1.1 200 X\r\nContent-Length: -5\r\n\r\nbody"},
        bad_answer{
            "a chunk size that is none",
            "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
        bad_answer{
            "half a chunk", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf"},
        bad_answer{
            "no last chunk", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"}
    )
);

request with_limit(const std::string& url, std::size_t limit) {
  request r = get(url);
  r.max_body = limit;
  return r;
}

constexpr std::size_t small_limit = 100'000;

// Writes until the client gives up.
void flood(connection& c, std::string_view head, std::string_view again) {
  if (!c.read_request().empty() && c.write(head)) {
    while (c.write(again)) {
    }
  }
}

struct endless {
  const char* what;
  std::string head;
  std::string again;
};

void PrintTo(const endless& c, std::ostream* to) {
  *to << c.what;
}

class too_large : public testing::TestWithParam<endless> {};

TEST_P(too_large, answer_is_cut_off) {
  hostile_server server([](connection& c, int) { flood(c, GetParam().head, GetParam().again); });
  const auto got = make()->perform(with_limit(server.url(), small_limit));
  ASSERT_FALSE(got) << GetParam().what;
  EXPECT_EQ(got.error().code, error_code::permanent) << got.error().message;
  EXPECT_TRUE(got.error().may_have_been_sent);
  EXPECT_THAT(got.error().message, HasSubstr("larger than"));
}

const std::string thousand(1'000, 'x');

INSTANTIATE_TEST_SUITE_P(
    transport,
    too_large,
    testing::Values(
        endless{"announced", "HTTP/1.1 200 X\r\nContent-Length: 100001\r\n\r\n", thousand},
        endless{
            "announced beyond any number",
            "HTTP/1.1 200 X\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            thousand},
        endless{"until the end", "HTTP/1.1 200 X\r\n\r\n", thousand},
        endless{
            "chunks",
            "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n",
            "3e8\r\n" + thousand + "\r\n"},
        endless{
            "one chunk",
            "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n7ffffff0\r\n",
            thousand},
        endless{"headers", "HTTP/1.1 200 X\r\n", "A: " + thousand + "\r\n"},
        endless{"one header", "HTTP/1.1 200 X\r\nA: ", thousand},
        endless{"status line", "HTTP/1.1 200 ", thousand},
        endless{
            "chunk extension", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n1;", thousand}
    )
);

TEST(hostile, headers_of_300_kb_are_too_large) {
  std::string headers;
  for (int i = 0; i < 300; ++i) {
    headers += "A" + std::to_string(i) + ": " + thousand + "\r\n";
  }
  const hostile_server server(say(answer(200, "", headers)));
  const auto got = make()->perform(get(server.url()));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::permanent);
  EXPECT_THAT(got.error().message, HasSubstr("headers are larger"));
}

TEST(hostile, one_byte_more_than_the_limit_in_chunks_is_too_large) {
  const std::string chunk = "186a1\r\n" + std::string(small_limit + 1, 'x') + "\r\n0\r\n\r\n";
  const hostile_server server(say("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk));
  const auto got = make()->perform(with_limit(server.url(), small_limit));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::permanent);
}

TEST(hostile, a_body_of_exactly_the_limit_is_read) {
  const std::string body(small_limit, 'x');
  const hostile_server server(say(answer(200, body)));
  const auto got = make()->perform(with_limit(server.url(), small_limit));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, body);
}

// The library's own timer starts anew with every step.
TEST(hostile, a_dripping_answer_ends_at_the_deadline) {
  hostile_server server([](connection& c, int) {
    c.read_request();
    c.write("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (!c.wait_until_closed(20ms) && c.write("1\r\nx\r\n")) {
    }
  });
  request r = get(server.url());
  r.deadline = 300ms;
  const auto got = make()->perform(r);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::deadline);
  EXPECT_TRUE(got.error().may_have_been_sent);
}

enum class when : std::uint8_t { deadline, stop };

struct ended_wait {
  when end;
  const char* method;
  error_code expected;
};

void PrintTo(const ended_wait& c, std::ostream* to) {
  *to << c.method << (c.end == when::deadline ? " at its deadline" : " when stopped");
}

class unanswered : public testing::TestWithParam<ended_wait> {};

TEST_P(unanswered, request_ends_when_it_has_to) {
  std::atomic<bool> is_received{false};
  hostile_server server([&](connection& c, int) {
    is_received = !c.read_request().empty();
    c.wait_until_closed();
  });
  request r = write(GetParam().method, server.url(), "");
  if (GetParam().end == when::deadline) {
    r.deadline = 150ms;
  } else {
    r.stop_requested = [&] { return is_received.load(); };
  }
  const auto got = make()->perform(r);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, GetParam().expected);
  EXPECT_TRUE(got.error().may_have_been_sent);
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    unanswered,
    testing::Values(
        ended_wait{when::deadline, "GET", error_code::deadline},
        ended_wait{when::deadline, "HEAD", error_code::deadline},
        ended_wait{when::deadline, "PUT", error_code::outcome_unknown},
        ended_wait{when::deadline, "POST", error_code::outcome_unknown},
        ended_wait{when::deadline, "DELETE", error_code::outcome_unknown},
        ended_wait{when::stop, "GET", error_code::cancelled},
        ended_wait{when::stop, "POST", error_code::outcome_unknown}
    )
);

// An exception nobody reads would end the process; so would a blocked pool.
TEST(hostile, many_exchanges_given_up_at_once_leave_the_process_well) {
  hostile_server hanging([](connection& c, int) {
    c.read_request();
    c.wait_until_closed();
  });
  const hostile_server fine(echo_target);
  const auto t = make();
  std::atomic<int> given_up{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      request r = get(hanging.url());
      r.deadline = 100ms;
      const auto got = t->perform(r);
      given_up += !got && got.error().code == error_code::deadline ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(given_up, 64);
  EXPECT_TRUE(t->perform(get(fine.url())));
}

TEST(hostile, sixty_four_threads_get_each_their_own_answer) {
  const hostile_server server(echo_target);
  const auto t = make();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 64; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 10; ++i) {
        const std::string target = "/" + std::to_string(n) + "/" + std::to_string(i);
        const char* method = i % 3 == 0 ? "POST" : i % 3 == 1 ? "GET" : "PUT";
        const auto got = t->perform(write(method, server.url(target), "{}"));
        right += got && got->body == target ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 640);
}

// A port that nobody listens on, and that nobody else can take meanwhile.
class refusing_port {
public:
  refusing_port() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address_);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(bind(socket_, plain, size), 0);
    EXPECT_EQ(getsockname(socket_, plain, &size), 0);
  }

  refusing_port(const refusing_port&) = delete;
  refusing_port& operator=(const refusing_port&) = delete;

  ~refusing_port() { close(socket_); }

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)) + "/";
  }

private:
  int socket_;
  sockaddr_in address_{};
};

TEST(hostile, a_refused_connection_was_certainly_not_sent) {
  const refusing_port port;
  for (const char* method : {"GET", "POST", "PUT"}) {
    const auto got = make()->perform(write(method, port.url(), "{}"));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::transient) << method;
    EXPECT_FALSE(got.error().may_have_been_sent) << method;
    EXPECT_THAT(got.error().message, HasSubstr("no connection"));
  }
}

TEST(hostile, an_error_names_method_and_origin_but_never_query_or_credentials) {
  const refusing_port port;
  request r = get(port.url() + "path?sig=hunter2");
  r.headers = {{"Authorization", "Bearer hunter2"}};
  const auto got = make()->perform(r);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("GET http://127.0.0.1:"));
  EXPECT_THAT(got.error().message, testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(got.error().message.find('\n'), std::string::npos);
}

TEST(hostile, a_request_stopped_before_it_began_was_not_sent) {
  transport_options options;
  options.lookup = pointing_to({"127.0.0.1"});
  request r = write("POST", "https://stopped.test/", "{}");
  r.stop_requested = [] { return true; };
  const auto got = make(std::move(options))->perform(r);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::cancelled);
  EXPECT_FALSE(got.error().may_have_been_sent);
}

transport_options by_name(lookup find) {
  transport_options options;
  options.allow_plain_http = true;
  options.connect_timeout = 5s;
  options.lookup = std::move(find);
  return options;
}

std::string named(const hostile_server& server, const std::string& host) {
  return "http://" + host + ":" + std::to_string(server.port()) + "/";
}

// In the library one hung lookup blocks every new connection of the process.
TEST(hostile, a_hung_name_lookup_stops_nobody_else) {
  auto release = std::make_shared<std::promise<void>>();
  auto released = release->get_future().share();
  const hostile_server server(echo_target);
  auto options = by_name([released](const std::string&) -> base::result<std::vector<std::string>> {
    released.wait();
    return std::vector<std::string>{"127.0.0.1"};
  });
  const auto t = make(std::move(options));
  auto hung = std::async(std::launch::async, [&] {
    request r = write("POST", named(server, "hung.test"), "{}");
    r.deadline = 200ms;
    return t->perform(r);
  });
  EXPECT_TRUE(t->perform(get(server.url())));
  const auto got = hung.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::deadline);
  EXPECT_FALSE(got.error().may_have_been_sent);
  release->set_value();
}

TEST(hostile, an_unknown_name_is_transient_and_named) {
  const auto t = make(by_name([](const std::string&) -> base::result<std::vector<std::string>> {
    return base::error{.code = error_code::transient, .message = "look up: no such host"};
  }));
  const auto got = t->perform(write("POST", "http://unknown.test/", "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::transient);
  EXPECT_FALSE(got.error().may_have_been_sent);
  EXPECT_THAT(got.error().message, HasSubstr("POST http://unknown.test: look up"));
}

TEST(hostile, a_burst_goes_to_the_address_that_works) {
  const hostile_server server(echo_target);
  // Nobody listens on the other loopback addresses with this port.
  const auto t = make(by_name(pointing_to({"127.0.0.9", "::1", "127.0.0.1"})));
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 16; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 10; ++i) {
        const auto got =
            t->perform(write(n % 2 == 0 ? "GET" : "POST", named(server, "two.test"), ""));
        served += got ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(served, 160);
}

TEST(hostile, a_name_whose_addresses_all_refuse_is_looked_up_again) {
  std::atomic<int> asked{0};
  const hostile_server server(echo_target);
  const auto t = make(by_name([&](const std::string&) -> base::result<std::vector<std::string>> {
    return std::vector<std::string>{++asked == 1 ? "127.0.0.9" : "127.0.0.1"};
  }));
  EXPECT_FALSE(t->perform(get(named(server, "moved.test"))));
  EXPECT_TRUE(t->perform(get(named(server, "moved.test"))));
}

// The library opens its sockets without close-on-exec: a child would keep our connections.
TEST(hostile, no_socket_is_left_to_a_child_process) {
  const hostile_server server(echo_target);
  const auto t = make();
  ASSERT_TRUE(t->perform(get(server.url())));
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());

    struct stat status {};

    if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) {
      ++sockets;
      EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
    }
  }
  EXPECT_GE(sockets, 3); // listener, the server's end, ours
}

} // namespace

} // namespace siteagent::net::test
