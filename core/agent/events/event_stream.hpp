// SPDX-License-Identifier: MIT
// The connection of one offering to its event queue: registers the queue in Waldur, connects,
// receives, connects again. What a message means is the sink's business (Waldur contract sections
// 6.1 to 6.5).
//
// One retry layer, here: connecting is tried again after 1, 2, 4 ... 120 s, and a registration that
// Waldur refuses after 1, 2, 4 ... 15 min, each plus up to a quarter. A refused login and a missing
// queue lead to a new registration, which also gives the broker the token of today.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/events/acknowledgements.hpp"
#include "core/agent/events/event_ledger.hpp"
#include "core/agent/events/event_message.hpp"
#include "core/agent/events/event_options.hpp"
#include "core/agent/events/event_portal.hpp"
#include "core/agent/offering_context.hpp"
#include "core/net/stomp.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace siteagent::agent {

// Who handles messages. Called by the stream's thread.
class event_sink {
public:
  event_sink() = default;
  event_sink(const event_sink&) = delete;
  event_sink& operator=(const event_sink&) = delete;
  virtual ~event_sink() = default;

  // In the order of arrival; must not block. The message is handled when the last copy of `ticket`
  // is gone, whatever came of it: a message that fails is not worth a second delivery, the timers
  // read the same objects.
  virtual void take(event_message message, std::shared_ptr<void> ticket) = 0;

  // Between messages, about once a second.
  virtual void tick() {}
};

struct stream_options {
  wanted_types types;
  std::chrono::milliseconds unhealthy_after{std::chrono::minutes(15)};
  std::function<double()> jitter; // [0,1); empty = random
};

class event_stream {
public:
  // Messages in flight. Long handlers do not fill it (acknowledgements.hpp), so it bounds memory
  // and leaves another agent on the same queue its share.
  static constexpr unsigned prefetch = 100;

  // References must outlive it.
  event_stream(
      const offering_context& offering,
      event_portal& waldur,
      session_opener open,
      event_sink& sink,
      event_ledger& ledger,
      environment& env,
      stream_options options
  );
  ~event_stream(); // as stop()

  // Makes the queue, so that it keeps what comes from now on. Before start(); an error is logged
  // and tried again by the stream.
  base::result<void> register_now();

  void start(); // a thread that takes turns until stop() or the process's end
  // Closes the connections and ends the thread; what the sink has goes on.
  void stop();

  // The same, without waiting: is_running() tells. [any thread]
  void request_stop() { stop_.request_stop(); }

  bool is_running() const { return is_running_; }

  // Everything that is due, once: what came, registration, connections. Blocks for those two. Used
  // by the thread; tests call it with a clock of their own.
  void turn();

  // Grows when messages may have been missed: look at what they would have told. [any thread]
  unsigned gaps() const { return gaps_; }

  // Received, not handled yet. [any thread]
  std::size_t behind() const;

private:
  struct item {
    std::uint64_t generation = 0;
    std::optional<net::stomp_message> message;
    std::optional<base::error> end;
  };

  // Filled by the sessions' threads. Shared: a session outlives its owner by moments.
  struct inbox {
    std::mutex mutex;
    std::condition_variable_any arrived;
    std::deque<item> items;

    void put(item i);
    // The end of a session; with `discard`, what came by it and was not looked at goes: the broker
    // delivers it again.
    void put_end(std::uint64_t generation, base::error reason, bool discard);
  };

  struct channel {
    waldur::event_queue queue;
    std::string type;             // legacy: what it is for
    std::uint64_t generation = 0; // 0: not connected
    bool was_connected = false;
    bool seems_closed = false; // for one turn; its reason should be in the inbox at the next
    std::shared_ptr<net::stomp_session> session;
    base::steady_time since{};
    unsigned failures = 0;
    base::steady_time not_before{};
  };

  void run();

  bool is_stopped() const { return stop_.stop_requested() || env_.stop.stop_requested(); }

  void drain();
  void find_silent_ends();
  void receive(const channel& c, net::stomp_message message);
  base::result<void> try_register();
  base::result<std::vector<channel>> register_queues();
  base::result<std::vector<channel>> register_legacy();
  void adopt(std::vector<channel> fresh);
  void connect(channel& c);
  void disconnected(channel& c, const base::error& reason);
  void drop_sessions();
  void update_state();
  void complain(const char* what, const base::error& e);
  std::chrono::milliseconds
  pause(unsigned failures, std::chrono::milliseconds first, std::chrono::milliseconds cap) const;

  const offering_context& offering_;
  event_portal& waldur_;
  const session_opener open_;
  event_sink& sink_;
  event_ledger& ledger_;
  environment& env_;
  const stream_options options_;
  const observe::logger log_;
  const std::shared_ptr<inbox> inbox_ = std::make_shared<inbox>();
  const std::shared_ptr<acknowledgements> acknowledgements_;

  bool is_legacy_ = false;
  std::vector<channel> channels_; // empty: never registered
  bool must_register_ = true;
  unsigned register_failures_ = 0;
  base::steady_time register_at_{};
  std::uint64_t last_generation_ = 0;
  bool may_have_missed_ = false; // the queue was missing for a while
  std::atomic<unsigned> gaps_{0};
  std::optional<progress_board::activity> down_; // while not connected
  std::string complaint_;                        // the last one
  base::steady_time complained_{};

  std::stop_source stop_;
  std::atomic<bool> is_running_{false};
  std::thread thread_;
};

} // namespace siteagent::agent
