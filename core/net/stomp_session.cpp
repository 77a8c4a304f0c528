// SPDX-License-Identifier: MIT
#include "core/net/stomp_session.hpp"

#include <boost/asio/post.hpp>

#include <exception>

namespace siteagent::net {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using base::error_code;
using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long a goodbye may take.
constexpr auto linger = 1s;

std::string seconds(milliseconds time) {
  return std::to_string(time.count() / 1'000) + "." + std::to_string(time.count() / 100 % 10) +
         " s";
}

} // namespace

std::string endpoint_text(const stomp_options& o) {
  const bool is_v6 = o.host.find(':') != std::string::npos;
  return (o.use_tls ? "wss://" : "ws://") + (is_v6 ? "[" + o.host + "]" : o.host) + ":" +
         std::to_string(o.port) + o.path;
}

session_base::session_base(
    stomp_options options, stomp_message_handler on_message, stomp_end_handler on_end
)
    : options_(std::move(options)), on_message_(std::move(on_message)), on_end_(std::move(on_end)) {
}

void session_base::subscribe(const std::string& queue, unsigned prefetch) {
  asio::post(context_, [this, frame = subscribe_frame(queue, prefetch)] {
    ++unconfirmed_;
    send(frame);
  });
}

void session_base::acknowledge(const stomp_message& message) {
  if (!message.ack.empty()) {
    asio::post(context_, [this, frame = acknowledge_frame(message)] { send(frame); });
  }
}

void session_base::close() {
  asio::post(context_, [this] { say_goodbye(); });
}

std::optional<base::error>
session_base::must_give_up(const std::string& doing, base::steady_time until) const {
  if (options_.stop_requested && options_.stop_requested()) {
    return base::error{.code = error_code::cancelled, .message = doing + ": stopped on request"};
  }
  if (steady::now() >= until) {
    return transient(doing + ": no answer in time; check host, port and network");
  }
  return std::nullopt;
}

void session_base::start(stomp_beats beats) {
  beats_ = beats;
  is_open_ = true;
  last_read_ = last_write_ = steady::now();
  context_.restart();
  asio::post(context_, [this] { take_frames(); });
  tick();
  thread_ = std::thread([this] { run(); });
}

void session_base::finish() {
  if (thread_.joinable()) {
    close();
    thread_.join();
  }
}

void session_base::run() {
  // What comes out of here is a handler of the caller's, or no memory.
  const auto threw = [this](const std::string& what) {
    end({.code = error_code::permanent, .message = "a handler threw: " + what});
  };
  try {
    context_.run();
  } catch (const std::exception& e) {
    threw(e.what());
  } catch (...) {
    threw("not an exception");
  }
  try {
    on_end_(reason_);
  } catch (...) {
    // The last call of the thread: nobody is left to tell.
  }
}

void session_base::on_read(boost_code e, std::size_t size) {
  if (is_over_) {
    return;
  }
  if (e) {
    end(why_reading_failed(e));
    return;
  }
  last_read_ = steady::now();
  parser_.append({incoming_.data(), size});
  take_frames();
}

// Frames that are whole; then on with reading.
void session_base::take_frames() {
  while (!is_over_) {
    auto frame = parser_.next();
    if (!frame) {
      end(frame.error());
    } else if (*frame) {
      take(std::move(**frame));
    } else {
      start_read();
      return;
    }
  }
}

void session_base::take(stomp_frame frame) {
  if (frame.command == "ERROR") {
    end(to_error(frame));
  } else if (frame.command == "MESSAGE" && !is_closing_) {
    on_message_(to_message(std::move(frame)));
  } else if (frame.command == "RECEIPT" && frame.get("receipt-id") == subscribe_receipt) {
    --unconfirmed_;
  } else if (frame.command == "RECEIPT" && frame.get("receipt-id") == disconnect_receipt) {
    end({}); // the broker has read all we sent
  }
}

void session_base::send(const stomp_frame& frame) {
  if (is_over_ || is_closing_) {
    return;
  }
  auto bytes = to_bytes(frame);
  if (!bytes) {
    end(bytes.error());
    return;
  }
  enqueue(std::move(*bytes));
}

void session_base::enqueue(std::string bytes) {
  outgoing_.push_back(std::move(bytes));
  if (outgoing_.size() == 1) {
    write_next();
  }
}

void session_base::write_next() {
  write_began_ = steady::now();
  start_write(outgoing_.front());
}

void session_base::on_written(boost_code e) {
  if (is_over_) {
    return;
  }
  if (e) {
    end(transient("the connection broke while sending: " + e.message()));
    return;
  }
  last_write_ = steady::now();
  outgoing_.pop_front();
  if (!outgoing_.empty()) {
    write_next();
  }
}

// DISCONNECT behind all that waits, then until the broker has answered or the time is over: closing
// at once would lose acknowledgements that are still on their way.
void session_base::say_goodbye() {
  if (is_over_ || is_closing_) {
    return;
  }
  send(disconnect_frame());
  is_closing_ = true;
  goodbye_.expires_after(linger);
  goodbye_.async_wait([this](boost_code e) {
    if (!e) {
      end({});
    }
  });
}

// Twice per interval: a beat when nothing was sent for half of it, and a look at what came.
void session_base::tick() {
  milliseconds interval = std::min(beats_.send, beats_.expect);
  if (interval.count() == 0) { // one side may do without
    interval = std::max(beats_.send, beats_.expect);
  }
  if (interval.count() == 0) {
    return; // the WebSocket's pings watch the connection
  }
  timer_.expires_after(std::max(interval / 2, 1ms));
  timer_.async_wait([this](boost_code e) {
    if (!e && !is_over_) {
      check_beats();
      tick();
    }
  });
}

void session_base::check_beats() {
  const auto now = steady::now();
  const milliseconds patience = 2 * std::max(beats_.send, beats_.expect);
  if (!outgoing_.empty() && now - write_began_ > patience) {
    end(transient("the broker has taken no data for " + seconds(patience)));
    return;
  }
  const milliseconds half = beats_.send / 2;
  if (half.count() > 0 && outgoing_.empty() && !is_closing_ && now - last_write_ >= half) {
    enqueue(std::string(stomp_heart_beat));
  }
  if (beats_.expect.count() == 0 || now - last_read_ <= 2 * beats_.expect) {
    is_silent_ = false;
  } else if (std::exchange(is_silent_, true)) {
    // At the second look only: until then what waits in the socket has been read, should it have
    // been this process that slept.
    end(transient("no heart-beat from the broker for " + seconds(2 * beats_.expect)));
  }
}

// The first reason counts, and after close() none but that.
void session_base::end(base::error reason) {
  if (std::exchange(is_over_, true)) {
    return;
  }
  if (is_closing_) {
    reason = {.code = error_code::cancelled, .message = "closed by this side"};
  }
  reason_ = base::with_context(std::move(reason), "event stream " + endpoint_text(options_));
  is_open_ = false;
  cut();
  context_.stop();
}

} // namespace siteagent::net
