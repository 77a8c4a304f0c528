// SPDX-License-Identifier: MIT
// What a STOMP session is over every kind of stream: steps to the connection, frames out and in,
// heart-beats, the end. For stomp.cpp only, which has the streams.
#pragma once

#include "core/base/clock.hpp"
#include "core/net/stomp.hpp"
#include "core/net/stomp_frame.hpp"
#include "core/net/stomp_rules.hpp"

#include <utility> // Asio of Boost 1.74 needs std::exchange and does not include it

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>

namespace siteagent::net {

// "wss://host:port/path", for messages.
std::string endpoint_text(const stomp_options& options);

inline base::error transient(std::string message) {
  return {.code = base::error_code::transient, .message = std::move(message)};
}

// connect() drives the steps on the caller's thread. From start() on, everything but the functions
// of stomp_session runs on the session's own thread, and those only post to it.
class session_base : public stomp_session {
public:
  session_base(stomp_options options, stomp_message_handler on_message, stomp_end_handler on_end);

  void subscribe(const std::string& queue, unsigned prefetch) override;
  void acknowledge(const stomp_message& message) override;
  void close() override;

  bool is_open() const override { return is_open_; }

protected:
  using boost_code = boost::system::error_code;

  virtual void start_read() = 0;                          // into incoming_, then on_read()
  virtual void start_write(const std::string& bytes) = 0; // then on_written(); `bytes` stay
  virtual base::error why_reading_failed(boost_code e) const = 0;
  virtual void cut() = 0; // aborts what is under way; may be called again

  // Runs one asynchronous operation to its end on the calling thread; `initiate` gets its handler,
  // which takes an error code and ignores the rest. Errors: `until` passed (transient), stopped on
  // request (cancelled); the stream is cut then.
  template <class Initiate>
  base::result<boost_code>
  step(const std::string& doing, Initiate initiate, base::steady_time until) {
    std::optional<boost_code> done;
    std::optional<base::error> given_up;
    initiate([&done](boost_code e, auto&&...) { done = e; });
    while (!done) {
      if (!given_up && (given_up = must_give_up(doing, until))) {
        cut();
      }
      context_.restart();
      context_.run_one_for(std::chrono::milliseconds(20));
    }
    if (given_up) {
      return std::move(*given_up);
    }
    return *done;
  }

  // The same within connect()'s deadline; a failed one is `transient`.
  template <class Initiate>
  base::result<void> must(const std::string& doing, Initiate initiate) {
    const auto done = step(doing, std::move(initiate), deadline_);
    if (!done) {
      return done.error();
    }
    if (*done) {
      return transient(doing + ": " + done->message() + "; check host, port and network");
    }
    return {};
  }

  // The session's thread begins.
  void start(stomp_beats beats);
  // Ends it and waits for it: the first thing in the destructor of the class that has the stream.
  void finish();

  void on_read(boost_code e, std::size_t size);
  void on_written(boost_code e);

  stomp_options options_;
  boost::asio::io_context context_{1};
  base::steady_time deadline_{}; // of connect()
  std::array<char, 16'384> incoming_{};
  stomp_parser parser_;
  // SUBSCRIBEs the broker has not confirmed yet.
  int unconfirmed_ = 0;

private:
  std::optional<base::error> must_give_up(const std::string& doing, base::steady_time until) const;
  void run();
  void take_frames();
  void take(stomp_frame frame);
  void send(const stomp_frame& frame);
  void enqueue(std::string bytes);
  void write_next();
  void say_goodbye();
  void tick();
  void check_beats();
  void end(base::error reason);

  stomp_message_handler on_message_;
  stomp_end_handler on_end_;
  stomp_beats beats_;
  boost::asio::steady_timer timer_{context_};
  boost::asio::steady_timer goodbye_{context_};
  std::deque<std::string> outgoing_; // the first one is being written
  base::steady_time write_began_{};
  base::steady_time last_write_{};
  base::steady_time last_read_{};
  bool is_silent_ = false;
  bool is_closing_ = false;
  bool is_over_ = false;
  base::error reason_;
  std::atomic<bool> is_open_{false};
  std::thread thread_;
};

} // namespace siteagent::net
