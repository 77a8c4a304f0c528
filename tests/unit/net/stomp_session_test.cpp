// SPDX-License-Identifier: MIT
// From CONNECTED to the end, against brokers that misbehave.
#include "tests/unit/net/stomp_fixture.hpp"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

namespace siteagent::net::test {
namespace {

using base::error_code;
using namespace std::chrono_literals;
using namespace std::string_literals;
using kind = web_socket_peer::kind;

class stomp_sessions : public stomp_fixture {};

TEST_F(stomp_sessions, case_evt_03_takes_heart_beats_text_and_binary_in_any_shape) {
  serve_stomp([](web_socket_peer& peer, connection&) {
    const auto frame = [](std::string_view body) {
      return "MESSAGE\nack:1\n\n" + std::string(body) + "\0"s;
    };
    peer.send("\n");
    peer.send("\r\n");
    peer.send("");
    peer.send("\n\n\n" + frame("leading"));
    peer.send(frame("trailing") + "\n\n");
    peer.send(frame("binary"), kind::binary);
    peer.send(frame("one") + "\n" + frame("two"));
    peer.send("MESS");
    peer.send("AGE\nack:1\n");
    peer.send("\nsplit");
    peer.send("\0"s);
    peer.send_fragments({"MESSAGE\n\nfrag", "men", "ted\0"s});
    peer.send("", kind::ping);
    peer.send(frame("last"));
    peer.read_frame();
  });
  open();
  const std::vector<std::string> expected{
      "leading", "trailing", "binary", "one", "two", "split", "fragmented", "last"};
  EXPECT_EQ(recorder.bodies(8), expected);
  EXPECT_TRUE(session->is_open());
}

TEST_F(stomp_sessions, case_evt_04_counts_bytes_and_reads_escapes) {
  serve_stomp([](web_socket_peer& peer, connection&) {
    const std::string body = "T\xc3\xb5ravere \xe6\x95\xb0\xe6\x8d\xae";
    peer.send(
        "MESSAGE\ndestination:/amq\\cqueue\ndestination:second\nredelivered:true\ncontent-length:" +
        std::to_string(body.size()) + "\n\n" + body + "\0"s
    );
    peer.send("MESSAGE\ncontent-length:3\n\na\0b\0"s, kind::binary);
    peer.read_frame();
  });
  open();
  const auto messages = recorder.wait_for(2);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].headers.at("destination"), "/amq:queue");
  EXPECT_EQ(messages[0].body, "T\xc3\xb5ravere \xe6\x95\xb0\xe6\x8d\xae");
  EXPECT_TRUE(messages[0].is_redelivered);
  EXPECT_EQ(messages[1].body, "a\0b"s);
}

TEST_F(stomp_sessions, subscribes_and_acknowledges) {
  std::promise<std::vector<stomp_frame>> seen;
  serve_stomp([&](web_socket_peer& peer, connection&) {
    std::vector<stomp_frame> frames{peer.read_frame()};
    peer.send_message("{}", "ack-7");
    frames.push_back(peer.read_frame());
    seen.set_value(frames);
    peer.read_frame();
  });
  open();
  session->subscribe("consumer_1", 1);
  const auto messages = recorder.wait_for(1);
  ASSERT_EQ(messages.size(), 1U);
  session->acknowledge({}); // came with ack auto: nothing to say
  session->acknowledge(messages[0]);
  const auto frames = seen.get_future().get();
  EXPECT_EQ(frames[0].command, "SUBSCRIBE");
  EXPECT_EQ(frames[0].get("destination"), "/amq/queue/consumer_1");
  EXPECT_EQ(frames[1].command, "ACK");
  EXPECT_EQ(frames[1].get("id"), "ack-7");
}

TEST_F(stomp_sessions, ends_with_the_brokers_error_though_the_connection_stays_open) {
  for (const auto& [message, code] : std::vector<std::pair<std::string, error_code>>{
           {"not_found", error_code::not_found},
           {"Server cancelled subscription", error_code::not_found},
           {"access_refused", error_code::auth},
           {"AMQP channel died", error_code::transient},
           {"unheard of", error_code::permanent}}) {
    stomp_recorder own;
    serve_stomp([message = message](web_socket_peer& peer, connection& c) {
      peer.read_frame();
      peer.send({.command = "ERROR", .headers = {{"message", message}}});
      peer.send_message("behind the error");
      c.wait_until_closed();
    });
    auto made = stomp_session::connect(options, own.on_message(), own.on_end());
    ASSERT_TRUE(made);
    (*made)->subscribe("q", 1);
    const auto reason = own.wait_for_end();
    ASSERT_TRUE(reason);
    EXPECT_EQ(reason->code, code) << reason->message;
    EXPECT_NE(reason->message.find(message), std::string::npos);
    EXPECT_FALSE((*made)->is_open());
    made->reset();
    EXPECT_EQ(own.ends(), 1);
    EXPECT_TRUE(own.wait_for(1, 0ms).empty()) << "nothing comes behind an ERROR";
  }
}

TEST_F(stomp_sessions, ends_when_the_broker_stops_being_one) {
  const std::vector<std::tuple<std::string, stomp_fixture::peer_script, error_code>> rows{
      {"gone", [](web_socket_peer&, connection& c) { c.finish(); }, error_code::transient},
      {"reset",
       [](web_socket_peer&, connection& c) {
         c.reset();
         c.finish();
       },
       error_code::transient},
      {"STOMP died",
       [](web_socket_peer& peer, connection&) { peer.send_close(1000, "STOMP died"); },
       error_code::transient},
      {"half a frame",
       [](web_socket_peer& peer, connection&) { peer.send("MESSAGE\ncontent-length:9\n\nab"); },
       error_code::transient},
      {"half a WebSocket frame",
       [](web_socket_peer&, connection& c) { c.write("\x81\x7e\x01"); },
       error_code::transient},
      {"not STOMP",
       [](web_socket_peer& peer, connection& c) {
         peer.send("{\"type\":\"hello\"}\n");
         c.wait_until_closed();
       },
       error_code::transient},
      {"masked by the server",
       [](web_socket_peer&, connection& c) {
         c.write("\x81\x81\x01\x02\x03\x04\x05");
         c.wait_until_closed(15s);
       },
       error_code::transient},
      {"not UTF-8",
       [](web_socket_peer& peer, connection&) {
         peer.send("MESSAGE\n\n\xff\xfe\0"s);
         peer.read(); // its goodbye
       },
       error_code::permanent},
  };
  options.heartbeat = 300ms; // what waits for the peer's goodbye ends by it
  for (const auto& [name, script, code] : rows) {
    stomp_recorder own;
    serve_stomp(script);
    auto made = stomp_session::connect(options, own.on_message(), own.on_end());
    ASSERT_TRUE(made) << name;
    const auto reason = own.wait_for_end(10s);
    ASSERT_TRUE(reason) << name;
    EXPECT_EQ(reason->code, code) << name << ": " << reason->message;
    EXPECT_TRUE(own.wait_for(1, 0ms).empty()) << name;
    if (name == "STOMP died") {
      EXPECT_NE(reason->message.find(name), std::string::npos) << reason->message;
    }
  }
}

TEST_F(stomp_sessions, takes_a_goodbye_in_answer_to_subscribe_for_a_missing_queue) {
  for (const bool is_confirmed : {false, true}) {
    stomp_recorder own;
    serve_stomp([is_confirmed](web_socket_peer& peer, connection&) {
      const stomp_frame frame = peer.read_frame();
      if (is_confirmed) {
        const std::string receipt(frame.get("receipt"));
        peer.send({.command = "RECEIPT", .headers = {{"receipt-id", receipt}}});
      }
      peer.send_close(1000, "STOMP died");
      peer.read();
    });
    auto made = stomp_session::connect(options, own.on_message(), own.on_end());
    ASSERT_TRUE(made);
    (*made)->subscribe("q", 1);
    const auto reason = own.wait_for_end();
    ASSERT_TRUE(reason);
    EXPECT_EQ(reason->code, is_confirmed ? error_code::transient : error_code::not_found);
    EXPECT_NE(reason->message.find("STOMP died"), std::string::npos) << reason->message;
  }
}

TEST_F(stomp_sessions, refuses_a_huge_message_before_it_is_here) {
  serve_stomp([](web_socket_peer& peer, connection& c) {
    peer.send("MESSAGE\ncontent-length:17000000\n\n");
    c.wait_until_closed();
  });
  open();
  const auto e = ended();
  EXPECT_EQ(e.code, error_code::permanent);
  EXPECT_NE(e.message.find("16777216"), std::string::npos) << e.message;
}

TEST_F(stomp_sessions, takes_a_message_of_the_largest_size) {
  serve_stomp([](web_socket_peer& peer, connection&) {
    peer.send_message(std::string(std::size_t{16} << 20U, 'x'));
    peer.read_frame();
  });
  open();
  const auto messages = recorder.wait_for(1);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].body.size(), std::size_t{16} << 20U);
}

TEST_F(stomp_sessions, case_evt_01_beats_from_the_first_interval_and_stays_while_the_broker_does) {
  options.heartbeat = 200ms;
  std::promise<int> beats;
  serve_stomp(
      [&](web_socket_peer& peer, connection&) {
        int count = 0;
        const auto end = std::chrono::steady_clock::now() + 1s;
        while (std::chrono::steady_clock::now() < end) {
          const auto m = peer.read();
          if (!m || m->payload != "\n") {
            break;
          }
          ++count;
          peer.send("\n");
        }
        beats.set_value(count);
        peer.read_frame();
      },
      "200,200"
  );
  open();
  // Every 100 ms when the machine has time, every 200 ms at the least.
  const int count = beats.get_future().get();
  EXPECT_GE(count, 5);
  EXPECT_LE(count, 11);
  EXPECT_TRUE(session->is_open());
}

TEST_F(stomp_sessions, does_not_beat_when_the_broker_wants_none) {
  options.heartbeat = 50ms;
  std::promise<void> beaten;
  std::promise<std::string> first;
  serve_stomp(
      [&](web_socket_peer& peer, connection&) {
        std::promise<void> never;
        const auto wait = never.get_future();
        for (int i = 0; i < 15; ++i) {
          peer.send("\n");
          wait.wait_for(20ms);
        }
        beaten.set_value();
        const auto m = peer.read();
        first.set_value(m ? m->payload : "");
        peer.send({.command = "RECEIPT", .headers = {{"receipt-id", "disconnect"}}});
      },
      "50,0"
  );
  open();
  beaten.get_future().wait();
  session->close();
  EXPECT_EQ(first.get_future().get().substr(0, 10), "DISCONNECT");
}

TEST_F(stomp_sessions, takes_a_silent_broker_for_dead) {
  options.heartbeat = 200ms;
  serve_stomp([](web_socket_peer&, connection& c) { c.wait_until_closed(); }, "200,200");
  const auto began = std::chrono::steady_clock::now();
  open();
  const auto e = ended();
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("no heart-beat"), std::string::npos) << e.message;
  EXPECT_GE(std::chrono::steady_clock::now() - began, 400ms);
}

TEST_F(stomp_sessions, pings_a_broker_that_promises_no_heart_beats) {
  options.heartbeat = 200ms; // idle for twice that
  std::atomic<int> pings{0};
  serve_stomp([&](web_socket_peer& peer, connection& c) {
    while (pings < 3) {
      const auto m = peer.read();
      if (!m) {
        return;
      }
      if (m->kind == kind::ping) {
        ++pings;
        peer.send(m->payload, kind::pong);
      }
    }
    c.wait_until_closed();
  });
  open();
  const auto e = ended();
  EXPECT_EQ(pings, 3);
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("ping"), std::string::npos) << e.message;
}

TEST_F(stomp_sessions, ends_when_the_broker_takes_no_more_data) {
  options.heartbeat = 200ms;
  std::atomic<bool> is_over{false};
  serve_stomp(
      [&](web_socket_peer& peer, connection&) {
        std::promise<void> never;
        const auto wait = never.get_future();
        while (!is_over && peer.send("\n")) { // alive, but does not read
          wait.wait_for(20ms);
        }
      },
      "200,200"
  );
  open();
  stomp_message heavy; // more than both sockets hold
  heavy.ack = std::string(std::size_t{8} << 20U, 'x');
  session->acknowledge(heavy);
  const auto e = ended();
  is_over = true;
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("taken no data"), std::string::npos) << e.message;
}

TEST_F(stomp_sessions, says_goodbye_behind_everything_else) {
  std::promise<std::vector<std::string>> seen;
  serve_stomp([&](web_socket_peer& peer, connection&) {
    std::vector<std::string> commands;
    for (int i = 0; i < 4; ++i) {
      const stomp_frame frame = peer.read_frame();
      commands.push_back(frame.command + std::string(frame.get("id")));
      if (frame.command == "DISCONNECT") {
        peer.send_message("too late");
        peer.send({.command = "RECEIPT", .headers = {{"receipt-id", "disconnect"}}});
      }
    }
    seen.set_value(commands);
  });
  open();
  stomp_message m;
  for (const char* id : {"1", "2", "3"}) {
    m.ack = id;
    session->acknowledge(m);
  }
  session->close();
  session->close();
  EXPECT_EQ(ended().code, error_code::cancelled);
  const std::vector<std::string> expected{"ACK1", "ACK2", "ACK3", "DISCONNECT"};
  EXPECT_EQ(seen.get_future().get(), expected);
  session.reset();
  EXPECT_EQ(recorder.ends(), 1);
  EXPECT_TRUE(recorder.wait_for(1, 0ms).empty());
}

TEST_F(stomp_sessions, leaves_a_silent_peer_within_seconds) {
  serve_stomp([](web_socket_peer&, connection& c) { c.wait_until_closed(); });
  open();
  const auto began = std::chrono::steady_clock::now();
  session.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 15s);
  EXPECT_EQ(ended().code, error_code::cancelled);
  EXPECT_EQ(recorder.ends(), 1);
}

TEST_F(stomp_sessions, ignores_what_is_said_after_the_end) {
  serve_stomp([](web_socket_peer&, connection& c) { c.finish(); });
  open();
  EXPECT_EQ(ended().code, error_code::transient);
  stomp_message m;
  m.ack = "1";
  session->acknowledge(m);
  session->subscribe("q", 1);
  session->close();
  session.reset();
  EXPECT_EQ(recorder.ends(), 1);
}

TEST_F(stomp_sessions, ends_when_a_handler_throws) {
  serve_stomp([](web_socket_peer& peer, connection& c) {
    peer.send_message("{}");
    c.wait_until_closed();
  });
  auto made = stomp_session::connect(
      options, [](const stomp_message&) { throw std::runtime_error("no room"); }, recorder.on_end()
  );
  ASSERT_TRUE(made);
  session = std::move(*made);
  const auto e = ended();
  EXPECT_EQ(e.code, error_code::permanent);
  EXPECT_NE(e.message.find("no room"), std::string::npos);
}

TEST_F(stomp_sessions, refuses_a_queue_name_that_cannot_be_written) {
  serve_stomp([](web_socket_peer&, connection& c) { c.wait_until_closed(); });
  open();
  session->subscribe("a\0b"s, 1);
  EXPECT_EQ(ended().code, error_code::invalid);
}

TEST_F(stomp_sessions, may_be_used_by_many_threads_at_once) {
  serve_stomp([](web_socket_peer& peer, connection&) {
    peer.send_message("{}", "1");
    while (!peer.read_frame().command.empty()) {
    }
  });
  std::promise<void> came;
  auto made = stomp_session::connect(
      options, [&](const stomp_message&) { came.set_value(); }, recorder.on_end()
  );
  ASSERT_TRUE(made);
  session = std::move(*made);
  came.get_future().wait();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      stomp_message m;
      m.ack = "x";
      for (int n = 0; n < 50; ++n) {
        session->acknowledge(m);
      }
      session->close();
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(ended().code, error_code::cancelled);
}

} // namespace
} // namespace siteagent::net::test
