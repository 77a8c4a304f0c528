// SPDX-License-Identifier: MIT
// The loops of the running agent.
#include "core/agent/scheduler.hpp"

#include "core/agent/mode_worker.hpp"
#include "core/agent/order_pass.hpp"
#include "core/agent/status_sync.hpp"
#include "core/agent/sweep.hpp"
#include "core/agent/usage_report.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::seconds tick{1};
constexpr std::chrono::seconds closest_passes{5};
constexpr std::chrono::minutes registration_interval{5};
constexpr std::chrono::hours complaint_interval{1};
// A pass over thousands of machines takes its time; one that takes longer than this is stuck.
constexpr std::chrono::hours longest_pass{6};

class order_worker final : public mode_worker {
public:
  order_worker(offering_context& offering, portal& waldur, environment& env, environment& upkeep)
      : offering_(offering), pass_(offering, waldur, env), sweep_(offering, waldur, upkeep) {}

  base::result<void> pass() override { return pass_.start(); }

  void wait() override {
    pass_.wait();
    sweep_.wait();
  }

  std::optional<base::steady_time> next_due() const override { return pass_.next_due(); }

  void reconcile() override { sweep_.start(); }

  std::string_view processor() const override { return "OfferingOrderProcessor"; }

  std::string_view plugin_id() const override {
    return offering_.config().order_processing_backend;
  }

private:
  offering_context& offering_;
  order_pass pass_;
  sweep sweep_;
};

class sync_worker final : public mode_worker {
public:
  sync_worker(offering_context& offering, portal& waldur, environment& env)
      : offering_(offering), sync_(offering, waldur, env) {}

  base::result<void> pass() override { return sync_.run(); }

  std::string_view processor() const override { return "OfferingMembershipProcessor"; }

  std::string_view plugin_id() const override { return offering_.config().membership_sync_backend; }

private:
  offering_context& offering_;
  status_sync sync_;
};

class report_worker final : public mode_worker {
public:
  report_worker(offering_context& offering, portal& waldur, environment& env)
      : offering_(offering), report_(offering, waldur, env) {}

  base::result<void> pass() override { return report_.run(); }

  std::string_view processor() const override { return "OfferingReportProcessor"; }

  std::string_view plugin_id() const override { return offering_.config().reporting_backend; }

private:
  offering_context& offering_;
  usage_report report_;
};

// `upkeep` has a pool of its own: what is not an order must not queue up behind long creates.
std::unique_ptr<mode_worker> make_worker(
    mode m, offering_context& offering, portal& waldur, environment& env, environment& upkeep
) {
  switch (m) {
  case mode::order_process:
    return std::make_unique<order_worker>(offering, waldur, env, upkeep);
  case mode::membership_sync:
    return std::make_unique<sync_worker>(offering, waldur, upkeep);
  case mode::report:
    return std::make_unique<report_worker>(offering, waldur, upkeep);
  }
  return nullptr;
}

// Does this offering take part in that mode? Says why not.
bool takes_part(const offering_context& offering, mode m) {
  const config::offering& c = offering.config();
  const std::string& plugin = m == mode::order_process     ? c.order_processing_backend
                              : m == mode::membership_sync ? c.membership_sync_backend
                                                           : c.reporting_backend;
  if (plugin.empty()) {
    offering.log().info("role is off for this offering", {{"mode", std::string(name_of(m))}});
    return false;
  }
  const bool by_events = m == mode::order_process     ? c.stomp_enabled
                         : m == mode::membership_sync ? c.stomp_membership_sync_enabled
                                                      : false;
  if (by_events) {
    offering.log().warning(
        "offering is driven by events (stomp_enabled), which this version does not serve yet; "
        "set stomp_enabled: false to have it polled",
        {{"mode", std::string(name_of(m))}}
    );
  }
  return !by_events;
}

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

} // namespace

std::string_view name_of(mode m) {
  switch (m) {
  case mode::order_process:
    return "order_process";
  case mode::membership_sync:
    return "membership_sync";
  case mode::report:
    return "report";
  }
  return "unknown";
}

periods periods_from_environment() {
  periods p;
  p.order_process = minutes_from("WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES", p.order_process);
  p.membership_sync =
      minutes_from("WALDUR_SITE_AGENT_MEMBERSHIP_SYNC_PERIOD_MINUTES", p.membership_sync);
  p.report = minutes_from("WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES", p.report);
  p.reconciliation =
      minutes_from("WALDUR_SITE_AGENT_RECONCILIATION_PERIOD_MINUTES", p.reconciliation);
  return p;
}

// One offering in one mode. Driven by one thread.
class agent::loop {
public:
  loop(agent& owner, offering_context& offering, mode m, std::unique_ptr<portal> waldur)
      : owner_(owner), offering_(offering), mode_(m), waldur_(std::move(waldur)),
        worker_(make_worker(m, offering, *waldur_, owner.env_, owner.upkeep_)),
        log_(offering.log().with("mode", std::string(name_of(m)))) {}

  bool same_offering(const loop& other) const { return &offering_ == &other.offering_; }

  bool run_once() {
    if (owner_.env_.stop.stop_requested()) {
      return true;
    }
    pass();
    worker_->wait();
    worker_->reconcile();
    worker_->wait();
    if (!owner_.env_.stop.stop_requested()) {
      register_now();
    }
    return fine_ && !offering_.breaker().is_open();
  }

  void run() {
    const base::steady_time start = owner_.env_.clock.steady();
    base::steady_time reconcile_at = start;
    base::steady_time register_at = start;
    std::optional<base::steady_time> last;
    while (!owner_.env_.stop.stop_requested()) {
      if (is_due(last)) {
        pass();
        last = owner_.env_.clock.steady();
      }
      const base::steady_time now = owner_.env_.clock.steady();
      if (now >= reconcile_at) {
        worker_->reconcile();
        reconcile_at = now + owner_.options_.periods.reconciliation;
      }
      if (now >= register_at && !owner_.env_.stop.stop_requested()) {
        register_now();
        register_at = owner_.env_.clock.steady() + registration_interval;
      }
      owner_.env_.pause(tick);
    }
    worker_->wait();
  }

private:
  std::chrono::milliseconds period() const {
    const periods& p = owner_.options_.periods;
    return mode_ == mode::order_process     ? p.order_process
           : mode_ == mode::membership_sync ? p.membership_sync
                                            : p.report;
  }

  bool is_due(const std::optional<base::steady_time>& last) const {
    const base::steady_time now = owner_.env_.clock.steady();
    if (!last || now - *last >= period()) {
      return true;
    }
    const std::optional<base::steady_time> early = worker_->next_due();
    return fine_ && early && *early <= now && now - *last >= closest_passes;
  }

  void pass() {
    const progress_board::activity activity =
        owner_.progress_.begin("pass of " + offering_.config().name, longest_pass);
    base::result<void> answer = worker_->pass();
    fine_ = answer.has_value();
    if (!fine_ && !owner_.env_.stop.stop_requested()) {
      log_.failure(observe::level::error, "offering could not run", answer.error());
    }
  }

  void register_now() {
    const std::lock_guard one_mode(offering_.registration());
    const base::result<void> answer = waldur_->register_agent(
        name_of(mode_),
        worker_->processor(),
        "siteagent." + std::string(worker_->plugin_id()),
        owner_.started_at_
    );
    const base::steady_time now = owner_.env_.clock.steady();
    if (!answer && (!complained_ || now - *complained_ >= complaint_interval)) {
      log_.failure(
          observe::level::warning, "the agent could not be registered in Waldur", answer.error()
      );
      complained_ = now;
    }
  }

  agent& owner_;
  offering_context& offering_;
  const mode mode_;
  std::unique_ptr<portal> waldur_;
  std::unique_ptr<mode_worker> worker_;
  const observe::logger log_;
  bool fine_ = true;
  std::optional<base::steady_time> complained_;
};

agent::agent(
    const config::agent_config& config,
    agent_options options,
    portal_factory portals,
    const backend_factory& backends,
    const base::clock& clock,
    waiter& waits,
    const std::stop_token& stop
)
    : options_(std::move(options)), portals_(std::move(portals)), progress_(clock),
      pool_(options_.workers),
      upkeep_pool_(options_.workers), env_{clock, waits, stop, progress_, locks_, pool_},
      upkeep_{clock, waits, stop, progress_, locks_, upkeep_pool_},
      started_at_(base::to_rfc3339(clock.wall())) {
  const agent_settings settings{
      config.timezone, config.reporting_periods, config.expose_backend_error_details};
  for (const config::offering& offering : config.offerings) {
    offerings_.push_back(std::make_unique<offering_context>(offering, settings, backends, env_));
  }
}

agent::~agent() = default;

bool agent::drive(loop& l) const {
  try {
    if (options_.once) {
      return l.run_once();
    }
    l.run();
    return true;
  } catch (const std::exception& e) {
    observe::logger("agent").error(
        "a loop ended with an exception; this is a bug", {{"error", e.what()}}
    );
    return false;
  }
}

bool agent::run() {
  bool fine = true;
  for (const std::unique_ptr<offering_context>& offering : offerings_) {
    for (const mode m : options_.modes) {
      if (!takes_part(*offering, m)) {
        continue;
      }
      base::result<std::unique_ptr<portal>> waldur = portals_(offering->config(), m);
      if (!waldur) {
        offering->log().failure(observe::level::error, "offering could not run", waldur.error());
        fine = false;
        continue;
      }
      loops_.push_back(std::make_unique<loop>(*this, *offering, m, *std::move(waldur)));
    }
  }
  std::atomic<bool> all_fine{fine};
  {
    std::vector<std::jthread> threads;
    for (auto first = loops_.begin(); first != loops_.end();) {
      // A single pass takes the modes of an offering one after the other: what the orders made is
      // there when it is metered. Running on, each mode has its own thread.
      auto last =
          options_.once
              ? std::find_if(
                    first, loops_.end(), [&](const auto& l) { return !l->same_offering(**first); }
                )
              : first + 1;
      threads.emplace_back([this, first, last, &all_fine] {
        for (auto l = first; l != last; ++l) {
          if (!drive(**l)) {
            all_fine = false;
          }
        }
      });
      first = last;
    }
  }
  loops_.clear();
  return all_fine;
}

} // namespace siteagent::agent
