// SPDX-License-Identifier: MIT
// Ships the log's lines elsewhere (to Waldur, says the application): best effort, on a thread of
// its own, never in the way of those who log, never about itself.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/observe/log_buffer.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace siteagent::observe {

struct shipping_options {
  level lowest = level::warning; // of what the log itself keeps
  std::chrono::milliseconds interval{60'000};
  std::size_t buffer_bytes = std::size_t{1} << 20U;
  // Before the first of three repeats of a request that failed for now; then twice that, then four
  // times.
  std::chrono::milliseconds first_pause{5'000};
  // What the end of the shipper may take.
  std::chrono::milliseconds farewell{2'000};
};

// From construction to destruction every line of the log from `lowest` on is taken, except those
// written by `send` itself. A line goes to its "offering", grouped. The destructor ships what is
// there once more and takes at most `farewell`, as long as `send` minds its token.
class log_shipper {
public:
  // At most 100 records of one topic (the offering's name, "" = about none); called from the
  // shipper's thread only, one call at a time; may block. Errors: transient ones are repeated and
  // then wait for the next interval; `unsupported`, `not_found` and `forbidden` end shipping for
  // the topic; others drop these records.
  using send_function = std::function<base::result<void>(
      const std::string& topic, const std::vector<log_record>& records, const std::stop_token& stop
  )>;

  log_shipper(shipping_options options, send_function send);
  ~log_shipper();
  log_shipper(const log_shipper&) = delete;
  log_shipper& operator=(const log_shipper&) = delete;

  // What the destructor does, for a process that ends without it: no line is taken any more, what
  // is there is shipped, and the caller waits for it. A second call does nothing. [any thread]
  void finish();

  // Topics that had no receiver may have one now: after a reload. [any thread]
  void forget_refusals();

private:
  // Shared with calls of the tap that are under way when the shipper goes.
  struct inbox {
    inbox(level from, std::size_t bytes) : lowest(from), buffer(bytes) {}

    const level lowest;
    std::mutex mutex;
    log_buffer buffer;
  };

  enum class fate : std::uint8_t { shipped, dropped, waits, empty };

  static void take(inbox& to, level at, const base::json& line);
  void run();
  void pass(bool is_last);
  fate ship(const std::string& topic, bool is_patient);
  base::result<void>
  send(const std::string& topic, const std::vector<log_record>& records, bool is_patient);
  bool is_refusing(const std::string& topic);
  // False: the end has come.
  bool rest(std::chrono::milliseconds time);
  void tell_of_waiting(const base::error& why, const std::string& topic);
  void tell_of_loss(const base::error& why, const std::string& topic, std::size_t records);
  static void add_loss_record(log_buffer& to);

  const shipping_options options_;
  const send_function send_;
  const std::shared_ptr<inbox> inbox_;
  std::stop_source give_up_;
  std::mutex mutex_; // of what follows
  std::condition_variable changed_;
  bool is_ending_ = false;
  bool is_over_ = false;
  std::set<std::string> refusing_;
  bool is_failing_ = false; // this and the next are the thread's own
  std::size_t passes_ = 0;
  std::thread thread_;
};

} // namespace siteagent::observe
