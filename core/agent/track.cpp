// SPDX-License-Identifier: MIT
// One offering in one mode.
#include "core/agent/track.hpp"

#include "core/base/secret.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::seconds closest_passes{5};
// Every answer of Waldur and every step of a plugin counts as progress; one of them takes minutes
// at most.
constexpr std::chrono::minutes longest_silence{30};
constexpr std::size_t longest_error = 300;

std::chrono::milliseconds minutes_from(const char* variable, std::chrono::milliseconds fallback) {
  const char* text = std::getenv(variable); // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr || *text == '\0') {
    return fallback;
  }
  const base::result<std::chrono::milliseconds> period =
      config::parse_period(variable, text, std::chrono::minutes(1));
  if (!period) {
    observe::logger("agent").failure(
        observe::level::warning, "period ignored, using the default", period.error()
    );
    return fallback;
  }
  return *period;
}

std::chrono::milliseconds minutes_or_off(const char* variable, std::chrono::milliseconds fallback) {
  const char* text = std::getenv(variable); // NOLINT(concurrency-mt-unsafe)
  const bool is_off = text != nullptr && base::trim(text) == "0";
  return is_off ? std::chrono::milliseconds(0) : minutes_from(variable, fallback);
}

} // namespace

periods periods_from_environment() {
  periods p;
  p.order_process = minutes_from("WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES", p.order_process);
  p.membership_sync =
      minutes_from("WALDUR_SITE_AGENT_MEMBERSHIP_SYNC_PERIOD_MINUTES", p.membership_sync);
  p.report = minutes_from("WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES", p.report);
  p.reconciliation =
      minutes_from("WALDUR_SITE_AGENT_RECONCILIATION_PERIOD_MINUTES", p.reconciliation);
  event_timers& events = p.events;
  events.status =
      minutes_or_off("WALDUR_SITE_AGENT_RESOURCE_STATUS_RECONCILIATION_MINUTES", events.status);
  events.unhealthy_after =
      minutes_from("WALDUR_SITE_AGENT_STOMP_UNHEALTHY_AFTER_MINUTES", events.unhealthy_after);
  events.stuck_after =
      minutes_from("WALDUR_SITE_AGENT_STOMP_HANDLER_STUCK_AFTER_MINUTES", events.stuck_after);
  return p;
}

track::track(
    offering_context& offering,
    mode m,
    const periods& periods,
    std::unique_ptr<portal> waldur,
    environment& env,
    environment& upkeep,
    std::string started_at,
    worker_extras extras
)
    : offering_(offering), mode_(m), periods_(periods), env_(env), waldur_(std::move(waldur)),
      worker_(make_worker(m, offering, *waldur_, env, upkeep, std::move(extras))),
      log_(offering.log().with("mode", std::string(name_of(m)))),
      reconcile_at_(env.clock.steady()) {
  if (registry* found = waldur_->find_registry()) {
    registration_ = std::make_unique<registration>(
        *found,
        registration_facts{
            .services = worker_->services(),
            .plugin = worker_->plugin_id(),
            .waldur = offering.config().waldur_api_url,
            .started_at = std::move(started_at),
            .plugins = [this] { return plugins(); },
            .statistics = [this] { return statistics(); }},
        env.clock,
        log_
    );
  }
}

std::chrono::milliseconds track::period() const {
  return mode_ == mode::order_process     ? periods_.order_process
         : mode_ == mode::event_process   ? periods_.reconciliation
         : mode_ == mode::membership_sync ? periods_.membership_sync
                                          : periods_.report;
}

bool track::is_pass_due(base::steady_time now) const {
  if (!last_pass_ || now - *last_pass_ >= period()) {
    return true;
  }
  if (!fine_ || now - *last_pass_ < closest_passes) {
    return false;
  }
  const std::optional<base::steady_time> early = worker_->next_due();
  // Whoever answers "now" looked at the clock after us.
  return early && *early <= env_.clock.steady();
}

bool track::is_due() const {
  if (offering_.is_retired() || (worker_->needs_lease() && !offering_.holds_lease())) {
    return false;
  }
  const base::steady_time now = env_.clock.steady();
  const std::lock_guard lock(mutex_);
  return now >= reconcile_at_ || is_pass_due(now);
}

void track::hurry() {
  const std::lock_guard lock(mutex_);
  last_pass_.reset();
}

void track::turn() {
  if (env_.stop.stop_requested()) {
    return;
  }
  const base::steady_time now = env_.clock.steady();
  std::unique_lock lock(mutex_);
  const bool reconcile = now >= reconcile_at_;
  const bool look = is_pass_due(now);
  lock.unlock();
  if (look) {
    pass();
  }
  if (reconcile && !env_.stop.stop_requested()) {
    worker_->reconcile();
    lock.lock();
    reconcile_at_ = env_.clock.steady() + periods_.reconciliation;
  }
}

bool track::run_once() {
  if (env_.stop.stop_requested()) {
    return true;
  }
  pass();
  worker_->wait();
  worker_->reconcile();
  worker_->wait();
  if (registration_ && !env_.stop.stop_requested()) {
    registration_->renew();
  }
  const std::lock_guard lock(mutex_);
  return fine_ && !offering_.breaker().is_open();
}

void track::pass() {
  {
    const std::lock_guard lock(mutex_);
    record_.running_since = env_.clock.wall();
  }
  base::result<void> answer;
  {
    const progress_board::activity activity = env_.progress.begin(
        std::string(name_of(mode_)) + " of " + offering_.config().name, longest_silence
    );
    answer = worker_->pass();
  }
  if (!answer && !env_.stop.stop_requested()) {
    log_.failure(observe::level::error, "offering could not run", answer.error());
  }
  const std::lock_guard lock(mutex_);
  fine_ = answer.has_value();
  last_pass_ = env_.clock.steady();
  record_.running_since.reset();
  ++record_.passes;
  if (fine_) {
    record_.failures_in_a_row = 0;
    record_.last_error.clear();
    record_.last_success = env_.clock.wall();
    return;
  }
  ++record_.failed;
  ++record_.failures_in_a_row;
  record_.last_error =
      base::truncated(base::global_redactor().scrub(answer.error().message), longest_error);
}

pass_record track::record() const {
  const std::lock_guard lock(mutex_);
  pass_record out = record_;
  if (!record_.running_since) {
    out.next_pass = last_pass_ ? *last_pass_ + period() : env_.clock.steady();
    if (const auto early = worker_->next_due(); early && fine_ && last_pass_) {
      out.next_pass = std::min(*out.next_pass, std::max(*early, *last_pass_ + closest_passes));
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> track::plugins() const {
  const config::offering& c = offering_.config();
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& id : std::set<std::string>{
           c.order_processing_backend, c.membership_sync_backend, c.reporting_backend}) {
    if (id.empty()) {
      continue;
    }
    if (const auto opened = offering_.backend_for(id)) {
      found.emplace_back(id, (*opened)->plugin_version());
    }
  }
  return found;
}

base::json track::statistics() const {
  const pass_record r = record();
  base::json out = base::json::object(
      {{"passes", static_cast<std::int64_t>(r.passes)},
       {"failed_passes", static_cast<std::int64_t>(r.failed)},
       {"failures_in_a_row", static_cast<std::int64_t>(r.failures_in_a_row)},
       {"last_success",
        r.last_success ? base::json(base::to_rfc3339(*r.last_success)) : base::json()},
       {"last_error", r.last_error}}
  );
  if (mode_ == mode::order_process) {
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    for (const order_view& o : worker_->orders()) {
      ++(o.at == order_view::phase::running ? running : waiting);
    }
    out.set("orders_in_flight", running);
    out.set("queue_depth", waiting);
  }
  if (base::json events = worker_->events(); !events.is_null()) {
    out.set("events", std::move(events));
  }
  return out;
}

} // namespace siteagent::agent
