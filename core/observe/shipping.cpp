// SPDX-License-Identifier: MIT
#include "core/observe/shipping.hpp"

#include "core/base/text.hpp"
#include "core/observe/tap.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string_view>
#include <utility>

namespace siteagent::observe {

namespace {

constexpr std::size_t most_records = 100; // in one request
constexpr int most_requests = 20;         // in one pass
constexpr unsigned most_repeats = 3;
constexpr std::size_t longest_message = 4'096;

// Whatever is logged while sending, by whomever, is about sending.
thread_local bool is_shipping_thread = false;

const logger& own_log() {
  static const auto* const log = new logger("shipping");
  return *log;
}

bool is_own_key(std::string_view key) {
  return key == "event" || key == "level" || key == "logger" || key == "timestamp" ||
         key == "offering";
}

std::string message_of(const base::json& line) {
  std::string out(line["event"].string_or(""));
  std::string fields;
  for (const auto& [key, value] : line.members()) {
    if (!is_own_key(key)) {
      fields += (fields.empty() ? "" : ", ") + key + "=" + value.string_or(value.dump());
    }
  }
  out += fields.empty() ? "" : " (" + fields + ")";
  return std::string(base::truncated(out, longest_message));
}

// An older server; no fault of anybody's.
bool is_not_offered(const base::error& e) {
  return e.code == base::error_code::unsupported || e.code == base::error_code::not_found;
}

bool is_passing(const base::error& e) {
  const base::error_class c = base::class_of(e.code);
  // Credentials are renewed by others; a record shipped twice does no harm.
  return c == base::error_class::transient || c == base::error_class::outcome_unknown ||
         e.code == base::error_code::auth;
}

} // namespace

log_shipper::log_shipper(shipping_options options, send_function send)
    : options_(options), send_(std::move(send)),
      inbox_(std::make_shared<inbox>(options.lowest, options.buffer_bytes)),
      thread_([this] { run(); }) {
  set_log_tap([to = inbox_](level at, const base::json& line) { take(*to, at, line); });
}

log_shipper::~log_shipper() {
  finish();
  thread_.join();
}

void log_shipper::finish() {
  set_log_tap({});
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  changed_.notify_all();
  if (!changed_.wait_for(lock, options_.farewell, [this] { return is_over_; })) {
    lock.unlock();
    give_up_.request_stop();
  }
}

void log_shipper::forget_refusals() {
  const std::lock_guard lock(mutex_);
  refusing_.clear();
}

void log_shipper::take(inbox& to, level at, const base::json& line) {
  if (at < to.lowest || is_shipping_thread) {
    return;
  }
  log_record r;
  r.time = base::real_clock().wall();
  r.at = at;
  r.logger = line["logger"].string_or("");
  r.topic = line["offering"].string_or("");
  r.message = message_of(line);
  const std::lock_guard lock(to.mutex);
  to.buffer.add(std::move(r));
}

void log_shipper::run() {
  is_shipping_thread = true;
  bool is_last = false;
  while (!is_last) {
    is_last = !rest(options_.interval);
    try {
      pass(is_last);
    } catch (const std::exception& e) {
      own_log().warning("log shipping met an exception", {{"error", e.what()}});
    }
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

bool log_shipper::rest(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return is_ending_; });
}

// Only where something got through: a full buffer would drop the news of the loss, too.
void log_shipper::add_loss_record(log_buffer& to) {
  if (const std::uint64_t lost = to.take_dropped(); lost > 0) {
    to.add(
        {base::real_clock().wall(),
         level::warning,
         "shipping",
         std::to_string(lost) + " log records were dropped before this one: the buffer was full",
         "",
         0}
    );
  }
}

// The number of requests is limited: a storm of lines must not become one of requests. What is left
// waits, and the oldest of it makes room. Each pass begins with another topic, and one that cannot
// be shipped takes its time only once, so that a server that is down does not starve the others.
void log_shipper::pass(bool is_last) {
  std::vector<std::string> topics;
  {
    const std::lock_guard lock(inbox_->mutex);
    topics = inbox_->buffer.topics();
  }
  if (!topics.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(passes_++ % topics.size());
    std::rotate(topics.begin(), topics.begin() + first, topics.end());
  }
  int requests = 0;
  bool is_patient = !is_last;
  for (const std::string& topic : topics) {
    fate last = fate::shipped;
    while ((last == fate::shipped || last == fate::dropped) && requests < most_requests &&
           !give_up_.stop_requested()) {
      last = ship(topic, is_patient);
      is_patient = is_patient && last != fate::waits;
      requests += last == fate::shipped || last == fate::waits ? 1 : 0;
    }
  }
}

bool log_shipper::is_refusing(const std::string& topic) {
  const std::lock_guard lock(mutex_);
  return refusing_.contains(topic);
}

// One request at most.
log_shipper::fate log_shipper::ship(const std::string& topic, bool is_patient) {
  std::vector<log_record> records;
  {
    const std::lock_guard lock(inbox_->mutex);
    records = inbox_->buffer.front(topic, most_records);
  }
  if (records.empty()) {
    return fate::empty;
  }
  const bool is_wanted = !is_refusing(topic);
  if (is_wanted) {
    const base::result<void> sent = send(topic, records, is_patient);
    if (!sent && is_passing(sent.error())) {
      tell_of_waiting(sent.error(), topic);
      return fate::waits;
    }
    if (!sent) {
      tell_of_loss(sent.error(), topic, records.size());
    } else if (std::exchange(is_failing_, false)) {
      own_log().info("log records are shipped again");
    }
  }
  const std::lock_guard lock(inbox_->mutex);
  inbox_->buffer.remove(records);
  if (is_wanted) {
    add_loss_record(inbox_->buffer);
  }
  return is_wanted ? fate::shipped : fate::dropped;
}

base::result<void> log_shipper::send(
    const std::string& topic, const std::vector<log_record>& records, bool is_patient
) {
  std::chrono::milliseconds pause = options_.first_pause;
  for (unsigned repeats = 0;; ++repeats, pause *= 2) {
    base::result<void> sent = send_(topic, records, give_up_.get_token());
    const bool is_over = sent || !is_passing(sent.error()) || repeats == most_repeats;
    if (is_over || !is_patient || !rest(pause)) {
      return sent;
    }
  }
}

void log_shipper::tell_of_waiting(const base::error& why, const std::string& topic) {
  if (!std::exchange(is_failing_, true)) {
    own_log().failure(
        level::warning,
        "log records could not be shipped; they wait, the oldest are dropped when the buffer is "
        "full",
        why,
        {{"offering", topic}}
    );
  }
}

void log_shipper::tell_of_loss(
    const base::error& why, const std::string& topic, std::size_t records
) {
  const bool is_quiet = is_not_offered(why);
  if (is_quiet || why.code == base::error_code::forbidden) {
    const std::lock_guard lock(mutex_);
    refusing_.insert(topic);
  }
  own_log().failure(
      is_quiet ? level::info : level::warning,
      is_quiet ? "the server takes no log records; none are shipped for this offering"
               : "log records were refused and are dropped",
      why,
      {{"offering", topic}, {"records", std::to_string(records)}}
  );
}

} // namespace siteagent::observe
