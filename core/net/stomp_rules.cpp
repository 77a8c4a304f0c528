// SPDX-License-Identifier: MIT
#include "core/net/stomp_rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace siteagent::net {

namespace {

using base::error_code;
using std::chrono::milliseconds;

// RabbitMQ reads escapes in CONNECT too, which STOMP 1.2 does not have there: it hangs up on a lone
// backslash.
std::string for_connect(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\\' ? "\\\\" : std::string(1, c);
  }
  return out;
}

// RabbitMQ takes the rest of the destination for the queue's name, but decodes %2F.
std::string for_destination(std::string_view queue) {
  std::string out;
  for (const char c : queue) {
    out += c == '/' ? "%2F" : std::string(1, c);
  }
  return out;
}

// The broker's words on one line.
std::string words_of(const stomp_frame& frame) {
  std::string text(frame.get("message"));
  const auto body = base::trim(frame.body);
  if (!body.empty()) {
    text += (text.empty() ? "" : ": ") + std::string(body);
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = ' ';
    }
  }
  return std::string(base::truncated(text, 300));
}

milliseconds beat(std::string_view text) {
  long value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = problem == std::errc() && end == text.data() + text.size() && value > 0;
  return milliseconds(is_number ? value : 0);
}

// Both must want it, and the slower one decides.
milliseconds agreed(milliseconds ours, milliseconds theirs) {
  return ours.count() <= 0 || theirs.count() <= 0 ? milliseconds(0) : std::max(ours, theirs);
}

struct known_error {
  std::string_view message;
  base::error_code code;
  std::string_view advice;
};

constexpr std::string_view again = "it is tried again";

constexpr std::array known_errors{
    known_error{"not_found", error_code::not_found, "the queue must be registered again"},
    // The queue, or its virtual host, was deleted.
    known_error{
        "Server cancelled subscription",
        error_code::not_found,
        "the queue must be registered again"},
    known_error{"access_refused", error_code::auth, "the queue must be registered again"},
    // The broker goes down, or an administrator closed the connection.
    known_error{"AMQP channel died", error_code::transient, again},
    known_error{"connection_forced", error_code::transient, again},
    known_error{"internal_error", error_code::transient, again},
    // A message was not acknowledged within the broker's consumer_timeout, half an hour.
    known_error{"precondition_failed", error_code::transient, again},
    // What was acknowledged belongs to an older session.
    known_error{"Subscription not found", error_code::transient, again},
};

} // namespace

base::result<void> check_options(const stomp_options& options) {
  const auto is_plain = [](std::string_view text, char lowest) {
    return std::all_of(text.begin(), text.end(), [lowest](char c) {
      return static_cast<unsigned char>(c) >= static_cast<unsigned char>(lowest) && c != 0x7f;
    });
  };
  const bool is_path = options.path.starts_with('/') && is_plain(options.path, '!');
  if (is_path && !options.host.empty() && is_plain(options.host, '!') &&
      is_plain(options.user_agent, ' ')) {
    return {};
  }
  return base::error{
      .code = error_code::invalid,
      .message = is_path
                     ? "event stream: the host (or user agent) is empty or has blanks or control "
                       "characters; check the settings"
                     : "event stream: the path must begin with / and have no blanks or control "
                       "characters; check the settings"};
}

stomp_frame connect_frame(const stomp_options& options) {
  const std::string wish =
      std::to_string(std::max(options.heartbeat.count(), milliseconds::rep{0}));
  return {
      .command = "CONNECT",
      .headers = {
          {"accept-version", "1.2"},
          {"host", for_connect(options.virtual_host)},
          {"login", for_connect(options.login)},
          {"passcode", for_connect(options.passcode.reveal())},
          {"heart-beat", wish + "," + wish}}};
}

stomp_frame subscribe_frame(const std::string& queue, unsigned prefetch) {
  stomp_frame frame{
      .command = "SUBSCRIBE",
      // Never "/queue/": that form declares the queue anew, with other arguments than it has.
      .headers = {
          {"id", queue},
          {"destination", "/amq/queue/" + for_destination(queue)},
          {"receipt", std::string(subscribe_receipt)}}};
  if (prefetch == 0) {
    frame.headers.emplace_back("ack", "auto");
  } else {
    frame.headers.emplace_back("ack", "client-individual");
    frame.headers.emplace_back("prefetch-count", std::to_string(prefetch));
  }
  return frame;
}

stomp_frame acknowledge_frame(const stomp_message& message) {
  return {.command = "ACK", .headers = {{"id", message.ack}}};
}

stomp_frame disconnect_frame() {
  return {.command = "DISCONNECT", .headers = {{"receipt", std::string(disconnect_receipt)}}};
}

base::result<stomp_beats> read_answer(const stomp_frame& answer, milliseconds wish) {
  if (answer.command == "ERROR" && answer.get("message") != "Version mismatch") {
    return base::error{
        .code = error_code::auth,
        .message = "the broker refused the login: " + words_of(answer) +
                   "; check the token, or register the queue again"};
  }
  if (answer.command != "CONNECTED") {
    return base::error{
        .code = error_code::permanent,
        .message = "the broker answered CONNECT with " + answer.command + ": " + words_of(answer)};
  }
  if (answer.get("version") != "1.2") {
    return base::error{
        .code = error_code::permanent,
        .message = "the broker speaks STOMP '" + std::string(answer.get("version")) +
                   "', not 1.2; use a broker that does"};
  }
  const std::string_view beats = answer.get("heart-beat");
  const auto comma = std::min(beats.find(','), beats.size());
  const std::string_view after = beats.substr(std::min(comma + 1, beats.size()));
  return stomp_beats{
      .send = agreed(wish, beat(after)), .expect = agreed(wish, beat(beats.substr(0, comma)))};
}

stomp_message to_message(stomp_frame frame) {
  stomp_message out;
  for (auto& [name, value] : frame.headers) {
    out.headers.emplace(base::to_lower(name), std::move(value)); // the first of a name stays
  }
  out.body = std::move(frame.body);
  const auto ack = out.headers.find("ack");
  out.ack = ack == out.headers.end() ? "" : ack->second;
  const auto again_sent = out.headers.find("redelivered");
  out.is_redelivered = again_sent != out.headers.end() && again_sent->second == "true";
  return out;
}

base::error to_error(const stomp_frame& frame) {
  const std::string_view message = frame.get("message");
  for (const known_error& known : known_errors) {
    if (message == known.message) {
      return {
          .code = known.code,
          .message = "the broker said: " + words_of(frame) + "; " + std::string(known.advice)};
    }
  }
  return {
      .code = error_code::permanent,
      .message = "the broker said: " + words_of(frame) + "; see the broker's log"};
}

base::error upgrade_refused(int http_status) {
  const bool is_busy = http_status >= 500 || http_status == 408 || http_status == 429;
  return {
      .code = is_busy ? error_code::transient : error_code::permanent,
      .message = "the server answered HTTP " + std::to_string(http_status) + " instead of " +
                 (is_busy ? "opening a WebSocket; it may be down or busy"
                          : "opening a WebSocket; check host, port and path"),
      .http_status = http_status};
}

} // namespace siteagent::net
