// SPDX-License-Identifier: MIT
// One offering in event mode.
#include "core/agent/events/event_worker.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes closest_status{10};

bool is_about_orders(const std::string& type) {
  return type == "order" || type == "importable_resources" || type == "resource_api_key_rotation" ||
         type == "resource_periodic_limits";
}

wanted_types types_of(const config::offering& offering, bool has_members) {
  wanted_roles roles;
  roles.orders = !offering.order_processing_backend.empty();
  roles.membership = has_members;
  roles.imports = roles.orders && offering.resource_import_enabled;
  if (const config::value* limits = offering.backend_settings.find("periodic_limits")) {
    const config::value* enabled = limits->find("enabled");
    roles.periodic_limits =
        enabled != nullptr && config::to_json(*enabled).boolean().value_or(false);
  }
  return types_for(roles);
}

} // namespace

event_worker::event_worker(
    offering_context& offering,
    portal& waldur,
    event_portal& events,
    std::unique_ptr<member_events> members,
    environment& env,
    environment& upkeep,
    worker_extras extras
)
    : offering_(offering), env_(env), timers_(extras.timers), once_(extras.once),
      members_(std::move(members)), types_(types_of(offering.config(), members_ != nullptr)),
      ledger_(offering.config().name, env.clock), orders_(offering, waldur, env),
      sweep_(offering, waldur, upkeep), handlers_(
                                            {offering,
                                             waldur,
                                             events,
                                             handles_orders() ? &orders_ : nullptr,
                                             members_.get(),
                                             ledger_,
                                             env,
                                             upkeep,
                                             timers_.stuck_after}
                                        ),
      sink_(*this), stream_(
                        offering,
                        events,
                        std::move(extras.sessions),
                        sink_,
                        ledger_,
                        env,
                        {types_, timers_.unhealthy_after, {}}
                    ) {}

event_worker::~event_worker() {
  wait();
}

bool event_worker::handles_orders() const {
  return !offering_.config().order_processing_backend.empty();
}

base::result<void> event_worker::pass() {
  const bool is_first = !std::exchange(has_begun_, true);
  if (is_first) {
    // First of all: what happens while we look is told by messages that wait for us. A failure is
    // logged there and tried again by the stream.
    (void)stream_.register_now();
  }
  seen_gaps_ = stream_.gaps();
  (void)handlers_.wants_order_pass();
  base::result<void> answer = handles_orders() ? orders_.start() : base::result<void>();
  if (is_first) {
    const base::steady_time now = env_.clock.steady();
    last_status_ = now;
    status_at_ = next_status(now);
    users_at_ = now + timers_.users;
    ping_at_ = now + timers_.ping;
    if (members_) {
      handlers_.refresh_users();
      handlers_.sync_everything();
    }
    if (!once_) {
      stream_.start();
    }
  }
  return answer;
}

void event_worker::wait() {
  stream_.stop();
  orders_.wait();
  handlers_.wait();
  sweep_.wait();
  if (!once_ && std::exchange(has_begun_, false)) {
    const event_snapshot all = snapshot();
    offering_.log().info(
        "event processing ended",
        {{"received", std::to_string(all.received)},
         {"handled", std::to_string(all.handled)},
         {"joined", std::to_string(all.joined)},
         {"ignored", std::to_string(all.ignored)},
         {"failed", std::to_string(all.failed)}}
    );
  }
}

std::optional<base::steady_time> event_worker::next_due() const {
  if (!handles_orders()) {
    return std::nullopt;
  }
  if (stream_.gaps() != seen_gaps_ || handlers_.is_order_pass_wanted()) {
    return env_.clock.steady();
  }
  return orders_.next_due();
}

void event_worker::reconcile() {
  if (handles_orders()) {
    sweep_.start();
  }
}

bool event_worker::is_idle() const {
  return !stream_.is_running() && orders_.is_idle() && handlers_.is_idle() && sweep_.is_idle();
}

// As the Python agent names them: one for the look at the start and one per kind of message.
std::vector<service_record> event_worker::services() const {
  const std::string mode = "event_process";
  const char* const for_orders = "OfferingOrderProcessor";
  const char* const for_members = "OfferingMembershipProcessor";
  std::vector<service_record> all = {
      {"initial-offering-process", mode, handles_orders() ? for_orders : for_members}};
  for (const std::string& type : types_.all()) {
    all.push_back({mode + "-" + type, mode, is_about_orders(type) ? for_orders : for_members});
  }
  return all;
}

std::string event_worker::plugin_id() const {
  return handles_orders() ? offering_.config().order_processing_backend
                          : offering_.config().membership_sync_backend;
}

void event_worker::sink::take(event_message message, std::shared_ptr<void> ticket) {
  owner_.handlers_.take(std::move(message), std::move(ticket));
}

void event_worker::sink::tick() {
  owner_.handlers_.tick();
  owner_.run_timers();
}

std::optional<base::steady_time> event_worker::next_status(base::steady_time now) const {
  return timers_.status.count() > 0 ? std::optional(now + timers_.status) : std::nullopt;
}

void event_worker::run_timers() {
  const base::steady_time now = env_.clock.steady();
  if (now >= ping_at_) {
    ping_at_ = now + timers_.ping;
    handlers_.ping();
  }
  if (!members_) {
    return;
  }
  if (const unsigned gaps = stream_.gaps(); gaps != std::exchange(gaps_synced_, gaps)) {
    // A broker that comes and goes is no reason to read everything each time.
    const base::steady_time at = last_status_ + closest_status;
    status_at_ = std::min(status_at_.value_or(at), at);
  }
  if (status_at_ && now >= *status_at_) {
    last_status_ = now;
    status_at_ = next_status(now);
    handlers_.sync_everything();
  }
  if (now >= users_at_) {
    users_at_ = now + timers_.users;
    handlers_.refresh_users();
  }
  if (const std::optional<base::steady_time> owed = members_->next_due(); owed && *owed <= now) {
    handlers_.retry_members();
  }
}

} // namespace siteagent::agent
