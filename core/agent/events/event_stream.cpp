// SPDX-License-Identifier: MIT
// The connection of one offering to its event queue.
#include "core/agent/events/event_stream.hpp"

#include "core/net/retry.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::seconds tick{1};
constexpr std::chrono::seconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause = std::chrono::minutes(2);
constexpr std::chrono::minutes first_refused_pause{1};
constexpr std::chrono::milliseconds longest_refused_pause = std::chrono::minutes(15);
// A connection that lasted so long was a good one: the pauses begin anew.
constexpr std::chrono::minutes good_connection{1};
constexpr std::chrono::minutes longest_hold{2};
constexpr std::chrono::hours complaint_interval{1};

// Waldur understood and said no: asking again soon would be told the same.
bool is_refused(const base::error& e) {
  return e.code == base::error_code::auth || (e.http_status >= 400 && e.http_status < 500 &&
                                              e.http_status != 408 && e.http_status != 429);
}

bool is_unknown_call(const base::error& e) {
  return e.http_status == 404 || e.http_status == 405;
}

bool needs_registration(const base::error& e) {
  return e.code == base::error_code::auth || e.code == base::error_code::not_found;
}

const char* advice_for(const base::error& e) {
  if (e.http_status == 409) {
    return "the event queue belongs to another user of Waldur, because the agent's token changed "
           "its user: delete this agent's identity in Waldur or use the former user's token; "
           "until then orders are looked for by the timers";
  }
  if (is_unknown_call(e)) {
    return "this Waldur offers no event queues: set stomp_enabled: false to have the offering "
           "polled; until then orders are looked for by the timers";
  }
  return "the event queue cannot be registered; orders are looked for by the timers";
}

} // namespace

void event_stream::inbox::put(item i) {
  const std::lock_guard lock(mutex);
  items.push_back(std::move(i));
  arrived.notify_all();
}

void event_stream::inbox::put_end(std::uint64_t generation, base::error reason, bool discard) {
  const std::lock_guard lock(mutex);
  if (discard) {
    std::erase_if(items, [&](const item& i) { return i.generation == generation; });
  }
  items.push_back({generation, std::nullopt, std::move(reason)});
  arrived.notify_all();
}

event_stream::event_stream(
    const offering_context& offering,
    event_portal& waldur,
    session_opener open,
    event_sink& sink,
    event_ledger& ledger,
    environment& env,
    stream_options options
)
    : offering_(offering), waldur_(waldur), open_(std::move(open)), sink_(sink), ledger_(ledger),
      env_(env), options_(std::move(options)), log_(offering.log().with("part", "events")),
      acknowledgements_(acknowledgements::make(env.clock, [&offering, stop = env.stop] {
        return stop.stop_requested() || offering.is_retired();
      })) {}

event_stream::~event_stream() {
  stop();
}

std::size_t event_stream::behind() const {
  const std::lock_guard lock(inbox_->mutex);
  return inbox_->items.size() + acknowledgements_->in_hand();
}

base::result<void> event_stream::register_now() {
  return try_register();
}

void event_stream::start() {
  is_running_ = true;
  thread_ = std::thread([this] { run(); });
}

void event_stream::stop() {
  stop_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
  drop_sessions();
  down_.reset();
}

void event_stream::run() {
  const std::stop_callback with_process(env_.stop, [this] { stop_.request_stop(); });
  while (!stop_.stop_requested()) {
    try {
      turn();
    } catch (const std::exception& e) {
      log_.error("the event stream met an exception; this is a bug", {{"error", e.what()}});
    }
    std::unique_lock lock(inbox_->mutex);
    inbox_->arrived.wait_for(lock, stop_.get_token(), tick, [this] {
      return !inbox_->items.empty();
    });
  }
  drop_sessions();
  down_.reset(); // on this thread, which began it
  is_running_ = false;
}

void event_stream::turn() {
  drain();
  if (!is_stopped() && must_register_ && env_.clock.steady() >= register_at_) {
    (void)try_register();
  }
  for (channel& c : channels_) {
    if (is_stopped()) {
      break;
    }
    if (c.generation == 0 && !must_register_ && env_.clock.steady() >= c.not_before) {
      connect(c);
    }
  }
  acknowledgements_->settle(longest_hold);
  update_state();
  sink_.tick();
}

void event_stream::drain() {
  std::deque<item> items;
  {
    const std::lock_guard lock(inbox_->mutex);
    items.swap(inbox_->items);
  }
  for (item& i : items) {
    const auto from = std::find_if(channels_.begin(), channels_.end(), [&](const channel& c) {
      return c.generation == i.generation;
    });
    if (from == channels_.end()) {
      continue; // of a connection that is over
    }
    if (i.message) {
      receive(*from, *std::move(i.message));
    } else {
      disconnected(*from, *i.end);
    }
  }
  find_silent_ends();
}

// For a session that is closed and never said so.
void event_stream::find_silent_ends() {
  for (channel& c : channels_) {
    if (c.generation == 0 || c.session->is_open()) {
      c.seems_closed = false;
    } else if (!std::exchange(c.seems_closed, true)) {
      continue;
    } else {
      disconnected(c, {base::error_code::transient, "the connection is closed"});
    }
  }
}

void event_stream::receive(const channel& c, net::stomp_message message) {
  const std::size_t size = message.body.size();
  base::result<event_message> read = read_message(message, c.type);
  // Legacy queues acknowledge by themselves.
  std::shared_ptr<void> ticket =
      acknowledgements_->issue(is_legacy_ ? 0 : c.generation, std::move(message));
  if (read) {
    ledger_.note_received(read->object_type);
    sink_.take(*std::move(read), std::move(ticket));
    return;
  }
  ledger_.note_received("");
  ledger_.note_ignored();
  if (complaint_ != read.error().message) {
    complaint_ = read.error().message;
    log_.failure(
        observe::level::warning,
        "a message could not be read and was dropped",
        read.error(),
        {{"bytes", std::to_string(size)}}
    );
  }
}

base::result<void> event_stream::try_register() {
  base::result<std::vector<channel>> fresh = register_queues();
  const base::steady_time now = env_.clock.steady();
  if (!fresh) {
    may_have_missed_ = true;
    const bool refused = is_refused(fresh.error());
    // 400 is also what Waldur says while it cannot reach the broker itself.
    const std::chrono::milliseconds longest =
        fresh.error().http_status == 400 ? longest_pause : longest_refused_pause;
    const std::chrono::milliseconds wait = std::max(
        refused ? pause(register_failures_, first_refused_pause, longest)
                : pause(register_failures_, first_pause, longest_pause),
        fresh.error().retry_after.value_or(std::chrono::milliseconds(0))
    );
    ++register_failures_;
    register_at_ = now + wait;
    ledger_.note_error(fresh.error());
    ledger_.note_next_attempt(wait);
    complain(advice_for(fresh.error()), fresh.error());
    return std::move(fresh).error();
  }
  register_failures_ = 0;
  must_register_ = false;
  adopt(*std::move(fresh));
  return {};
}

base::result<std::vector<event_stream::channel>> event_stream::register_queues() {
  base::result<waldur::event_queue> queue = waldur_.register_queue(options_.types.all());
  if (!queue && queue.error().http_status == 400 && !options_.types.others.empty()) {
    log_.failure(
        observe::level::warning,
        "Waldur does not know every kind of event, asking for the essential ones",
        queue.error()
    );
    queue = waldur_.register_queue(options_.types.essential);
  }
  if (queue) {
    is_legacy_ = false;
    std::vector<channel> one(1);
    one.front().queue = *std::move(queue);
    return one;
  }
  if (!is_unknown_call(queue.error())) {
    return std::move(queue).error();
  }
  return register_legacy();
}

base::result<std::vector<event_stream::channel>> event_stream::register_legacy() {
  std::vector<channel> made;
  const std::vector<std::string>& essential = options_.types.essential;
  for (const std::string& type : options_.types.all()) {
    base::result<waldur::event_queue> queue = waldur_.register_legacy_queue(type);
    if (queue) {
      channel c;
      c.queue = *std::move(queue);
      c.type = type;
      made.push_back(std::move(c));
      continue;
    }
    const bool is_essential =
        std::find(essential.begin(), essential.end(), type) != essential.end();
    if (is_essential || queue.error().http_status != 400) {
      return std::move(queue).error();
    }
    log_.failure(
        observe::level::warning,
        "Waldur does not know this kind of event",
        queue.error(),
        {{"object_type", type}}
    );
  }
  is_legacy_ = true;
  return made;
}

// Connections that are still right stay.
void event_stream::adopt(std::vector<channel> fresh) {
  for (channel& f : fresh) {
    const auto old = std::find_if(channels_.begin(), channels_.end(), [&](const channel& c) {
      return c.type == f.type;
    });
    if (old == channels_.end()) {
      may_have_missed_ |= !channels_.empty(); // the other protocol's queue
      continue;
    }
    f.failures = old->failures;
    f.not_before = old->not_before;
    f.was_connected = old->was_connected;
    if (old->queue.queue == f.queue.queue && old->queue.login == f.queue.login) {
      f.generation = std::exchange(old->generation, 0);
      f.session = std::move(old->session);
      f.since = old->since;
    }
  }
  drop_sessions();
  channels_ = std::move(fresh);
  const std::string_view protocol = is_legacy_ ? "legacy" : "unified";
  ledger_.note_registered(protocol, channels_.empty() ? "" : channels_.front().queue.queue);
  log_.info(
      "event queue registered",
      {{"protocol", std::string(protocol)},
       {"queue", channels_.empty() ? "" : channels_.front().queue.queue}}
  );
}

void event_stream::connect(channel& c) {
  const std::uint64_t generation = ++last_generation_;
  const bool discard = !is_legacy_;
  base::result<std::unique_ptr<net::stomp_session>> opened = open_(
      c.queue,
      [box = inbox_, generation](net::stomp_message message) {
        box->put({generation, std::move(message), std::nullopt});
      },
      [box = inbox_, generation, discard](const base::error& reason) {
        box->put_end(generation, reason, discard);
      }
  );
  if (!opened) {
    disconnected(c, opened.error());
    return;
  }
  c.session = *std::move(opened);
  c.generation = generation;
  c.since = env_.clock.steady();
  if (!is_legacy_) {
    acknowledgements_->open(generation, c.session);
  }
  c.session->subscribe(c.queue.queue, is_legacy_ ? 0 : prefetch);
  log_.info("connected to the event queue", {{"queue", c.queue.queue}});
  complaint_.clear();
  if (c.was_connected || may_have_missed_) {
    ++gaps_;
  }
  if (std::exchange(c.was_connected, true)) {
    ledger_.note_reconnected();
  }
  may_have_missed_ = false;
}

// Also for an attempt that failed.
void event_stream::disconnected(channel& c, const base::error& reason) {
  const base::steady_time now = env_.clock.steady();
  if (c.generation != 0) {
    acknowledgements_->close(std::exchange(c.generation, 0));
    c.session.reset();
    if (now - c.since >= good_connection) {
      c.failures = 0;
    }
  }
  const std::chrono::milliseconds wait = pause(c.failures, first_pause, longest_pause);
  ++c.failures;
  c.not_before = now + wait;
  if (needs_registration(reason)) {
    must_register_ = true;
    may_have_missed_ |= reason.code == base::error_code::not_found;
    register_at_ = std::max(register_at_, c.not_before);
  }
  ledger_.note_error(reason);
  ledger_.note_next_attempt(wait);
  complain("the connection to the event queue is lost, trying again", reason);
}

void event_stream::drop_sessions() {
  for (channel& c : channels_) {
    if (c.generation != 0) {
      acknowledgements_->close(std::exchange(c.generation, 0));
      c.session->close();
      c.session.reset();
    }
  }
}

void event_stream::update_state() {
  const bool is_connected =
      !channels_.empty() && std::all_of(channels_.begin(), channels_.end(), [](const channel& c) {
        return c.generation != 0;
      });
  ledger_.note_connected(is_connected);
  if (is_connected) {
    ledger_.note_next_attempt(std::nullopt);
    down_.reset();
  } else if (!down_) {
    // By itself: the work that goes on meanwhile is no sign of life of the connection.
    const progress_board::guard apart({});
    down_.emplace(env_.progress.begin(
        "connection to the event queue of " + offering_.config().name, options_.unhealthy_after
    ));
  }
}

void event_stream::complain(const char* what, const base::error& e) {
  const base::steady_time now = env_.clock.steady();
  const bool is_new = complaint_ != e.message || now - complained_ >= complaint_interval;
  if (!is_new || env_.stop.stop_requested()) {
    return;
  }
  complaint_ = e.message;
  complained_ = now;
  // What only an operator can mend is an error; a broker that restarts is not.
  const bool somebody_must_act =
      is_refused(e) || e.code == base::error_code::permanent || e.code == base::error_code::invalid;
  log_.failure(somebody_must_act ? observe::level::error : observe::level::warning, what, e);
}

std::chrono::milliseconds event_stream::pause(
    unsigned failures, std::chrono::milliseconds first, std::chrono::milliseconds cap
) const {
  constexpr unsigned most_doublings = 16;
  constexpr double most_jitter = 0.25;
  const std::chrono::milliseconds wait =
      std::min(first * (1U << std::min(failures, most_doublings)), cap);
  const double jitter = options_.jitter ? options_.jitter() : net::random_jitter();
  return wait + std::chrono::milliseconds(static_cast<std::int64_t>(
                    static_cast<double>(wait.count()) * most_jitter * jitter
                ));
}

} // namespace siteagent::agent
