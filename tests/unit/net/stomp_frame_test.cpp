// SPDX-License-Identifier: MIT
#include "core/net/stomp_frame.hpp"

#include <gtest/gtest.h>

#include <random>

namespace siteagent::net {
namespace {

using namespace std::string_literals;
using base::error_code;

struct outcome {
  std::vector<stomp_frame> frames;
  std::optional<base::error> failure;
};

// What the parser makes of `bytes` given in pieces of `piece` bytes.
outcome
parse(const std::string& bytes, std::size_t piece = std::string::npos, stomp_limits l = {}) {
  stomp_parser parser(l);
  outcome out;
  for (std::size_t at = 0; at < bytes.size() && !out.failure; at += std::min(piece, bytes.size())) {
    parser.append(std::string_view(bytes).substr(at, piece));
    for (;;) {
      auto frame = parser.next();
      if (!frame) {
        out.failure = frame.error();
        EXPECT_FALSE(parser.next()) << "an error stays";
        break;
      }
      if (!*frame) {
        break;
      }
      out.frames.push_back(std::move(**frame));
    }
  }
  return out;
}

stomp_frame only(const std::string& bytes) {
  const outcome o = parse(bytes);
  EXPECT_FALSE(o.failure) << o.failure->message;
  EXPECT_EQ(o.frames.size(), 1U);
  return o.frames.empty() ? stomp_frame{} : o.frames.front();
}

TEST(stomp_frames, is_written_to_the_byte) {
  EXPECT_EQ(
      *to_bytes({.command = "ACK", .headers = {{"id", "T_1@@s:2\n\\"}}}),
      "ACK\nid:T_1@@s\\c2\\n\\\\\n\n\0"s
  );
  EXPECT_EQ(
      *to_bytes({.command = "SEND", .headers = {{"a:b", "c\r"}}, .body = "x\0y"s}),
      "SEND\na\\cb:c\\r\ncontent-length:3\n\nx\0y\0"s
  );
  // No escapes before a version is agreed upon.
  EXPECT_EQ(
      *to_bytes({.command = "CONNECT", .headers = {{"passcode", "a:b\\c"}}}),
      "CONNECT\npasscode:a:b\\c\n\n\0"s
  );
}

TEST(stomp_frames, refuses_headers_that_cannot_be_said_and_keeps_their_value_to_itself) {
  const std::vector<stomp_frame> frames{
      {.command = "CONNECT", .headers = {{"passcode", "hidden\nx:y"}}},
      {.command = "CONNECT", .headers = {{"passcode", "hidden\r"}}},
      {.command = "CONNECT", .headers = {{"pass:code", "hidden"}}},
      {.command = "CONNECT", .headers = {{"passcode", "hidden\0"s}}},
      {.command = "SUBSCRIBE", .headers = {{"id", "hidden\0"s}}}};
  for (const stomp_frame& frame : frames) {
    const auto bytes = to_bytes(frame);
    ASSERT_FALSE(bytes) << frame.headers[0].first;
    EXPECT_EQ(bytes.error().code, error_code::invalid);
    EXPECT_EQ(bytes.error().message.find("hidden"), std::string::npos);
  }
}

TEST(stomp_frames, is_read_back_as_it_was_written) {
  const stomp_frame frame{
      .command = "MESSAGE",
      .headers =
          {{"destination", "/amq:queue"}, {"a", "1"}, {"a", "2"}, {"e", ""}, {"w", "\r\n\\ "}},
      .body = "T\xc3\xb5ravere \0 \xe6\x95\xb0"s};
  const std::string bytes = *to_bytes(frame);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const outcome o = parse(bytes + bytes, piece);
    ASSERT_EQ(o.frames.size(), 2U) << "in pieces of " << piece;
    for (const stomp_frame& back : o.frames) {
      EXPECT_EQ(back.command, "MESSAGE");
      EXPECT_EQ(back.body, frame.body);
      EXPECT_EQ(back.get("a"), "1") << "the first of repeated headers counts";
      EXPECT_EQ(back.get("w"), "\r\n\\ ");
      EXPECT_EQ(back.find("absent"), nullptr);
    }
  }
}

TEST(stomp_frames, takes_any_number_of_heart_beats_between_frames) {
  for (const std::string& beats : {"\n"s, "\r\n"s, "\n\n\n"s, "\r\n\n\r\n"s, ""s}) {
    const outcome o = parse(beats + "MESSAGE\na:b\n\nx\0"s + beats + "RECEIPT\n\n\0"s + beats);
    ASSERT_EQ(o.frames.size(), 2U);
    EXPECT_EQ(o.frames[0].body, "x");
    EXPECT_EQ(o.frames[1].command, "RECEIPT");
  }
  EXPECT_TRUE(parse("\n\r\n\n").frames.empty());
}

TEST(stomp_frames, takes_lines_that_end_with_carriage_return_too) {
  const stomp_frame frame = only("MESSAGE\r\na:b\r\ncontent-length:3\r\n\r\n\r\nx\0"s);
  EXPECT_EQ(frame.get("a"), "b");
  EXPECT_EQ(frame.body, "\r\nx");
}

TEST(stomp_frames, leaves_connected_unescaped) {
  EXPECT_EQ(only("CONNECTED\nserver:a\\cb:c\n\n\0"s).get("server"), "a\\cb:c");
  EXPECT_EQ(only("MESSAGE\nx\\cy:a\\cb:c\n\n\0"s).get("x:y"), "a:b:c");
}

TEST(stomp_frames, counts_content_length_in_bytes_and_else_reads_to_the_first_nul) {
  EXPECT_EQ(only("MESSAGE\ncontent-length:4\n\na\0b\0\0"s).body, "a\0b\0"s);
  EXPECT_EQ(only("MESSAGE\n\nabc\0"s).body, "abc");
  EXPECT_EQ(only("MESSAGE\ncontent-length:0\n\n\0"s).body, "");
  EXPECT_EQ(only("MESSAGE\ncontent-length:1\ncontent-length:9\n\nx\0"s).body, "x");
}

TEST(stomp_frames, gives_the_frames_before_garbage_and_then_the_error) {
  const outcome o = parse("MESSAGE\n\na\0garbage\n"s);
  ASSERT_EQ(o.frames.size(), 1U);
  EXPECT_EQ(o.frames[0].body, "a");
  ASSERT_TRUE(o.failure);
  EXPECT_EQ(o.failure->code, error_code::transient);
}

TEST(stomp_frames, refuses_what_is_not_stomp) {
  for (const std::string& bytes : {
           "HTTP/1.1 200 OK\r\n\r\n"s,
           "message\n\n\0"s,
           "\0\n"s,
           "MESSAGE\nno colon\n\n\0"s,
           "MESSAGE\n:empty name\n\n\0"s,
           "MESSAGE\na:b\rc\n\n\0"s,
           "MESSAGE\na:\0\n\n\0"s,
           "MESSAGE\na:unknown\\t\n\n\0"s,
           "MESSAGE\na:end\\\n\n\0"s,
           "MESSAGE\ncontent-length:x\n\n\0"s,
           "MESSAGE\ncontent-length:-1\n\n\0"s,
           "MESSAGE\ncontent-length:\n\n\0"s,
           "MESSAGE\ncontent-length: 1\n\nx\0"s,
           "MESSAGE\ncontent-length:1\n\nxy\0"s,
       }) {
    for (const std::size_t piece : {std::size_t{1}, bytes.size()}) {
      const outcome o = parse(bytes, piece);
      ASSERT_TRUE(o.failure) << bytes;
      EXPECT_EQ(o.failure->code, error_code::transient) << bytes;
      EXPECT_TRUE(o.frames.empty()) << bytes;
    }
  }
}

TEST(stomp_frames, refuses_what_is_beyond_the_limits_before_it_is_here) {
  const stomp_limits limits{.body = 10, .head = 40};
  for (const std::string& bytes : {
           "MESSAGE\ncontent-length:11\n\n"s,
           "MESSAGE\ncontent-length:99999999999999999999\n\n"s,
           "MESSAGE\n\n0123456789a"s,
           "MESSAGE\na:" + std::string(40, 'x'),
           "MESSAGE\n" + std::string("a:bcdefg\n") + "a:bcdefg\na:bcdefg\na:bcdefg\n",
           std::string(50, 'A'),
       }) {
    const outcome o = parse(bytes, 1, limits);
    ASSERT_TRUE(o.failure) << bytes;
    EXPECT_EQ(o.failure->code, error_code::permanent) << bytes;
  }
  EXPECT_EQ(parse("MESSAGE\ncontent-length:10\n\n0123456789\0"s, 3, limits).frames.size(), 1U);
  EXPECT_EQ(parse("MESSAGE\n\n0123456789\0"s, 3, limits).frames.size(), 1U);
}

TEST(stomp_frames, takes_many_small_frames_in_one_go) {
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) {
    bytes += "MESSAGE\nn:" + std::to_string(i) + "\n\n{}\0\n"s;
  }
  const outcome o = parse(bytes);
  ASSERT_EQ(o.frames.size(), 20'000U);
  EXPECT_EQ(o.frames.back().get("n"), "19999");
}

TEST(stomp_frames, survives_random_bytes_in_any_cut) {
  std::mt19937 random(20'261'129); // the same in every run
  const std::string alphabet = "MESSAGE\n\n\n\r:\\cn0123\0\0x"s;
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = round % 2 == 0 ? "MESSAGE\ncontent-length:5\n"s : ""s;
    for (int i = 0; i < 40; ++i) {
      bytes += alphabet[random() % alphabet.size()];
    }
    const outcome whole = parse(bytes);
    const outcome cut = parse(bytes, 1 + random() % 7);
    ASSERT_EQ(whole.frames.size(), cut.frames.size());
    ASSERT_EQ(whole.failure.has_value(), cut.failure.has_value());
    for (std::size_t i = 0; i < whole.frames.size(); ++i) {
      ASSERT_EQ(whole.frames[i].body, cut.frames[i].body);
      ASSERT_EQ(whole.frames[i].headers, cut.frames[i].headers);
    }
  }
}

} // namespace
} // namespace siteagent::net
