// SPDX-License-Identifier: MIT
// One offering in one mode at run time: when its next turn is due, and what came of the last ones.
#pragma once

#include "core/agent/mode_worker.hpp"
#include "core/agent/registration.hpp"
#include "core/observe/log.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace siteagent::agent {

struct periods {
  std::chrono::milliseconds order_process{std::chrono::minutes(5)};
  std::chrono::milliseconds membership_sync{std::chrono::minutes(5)};
  std::chrono::milliseconds report{std::chrono::minutes(30)};
  // Sweep; in event mode also the look at all orders.
  std::chrono::milliseconds reconciliation{std::chrono::minutes(10)};
  event_timers events;
};

// WALDUR_SITE_AGENT_*_PERIOD_MINUTES, fractions allowed; nonsense is warned about and ignored.
periods periods_from_environment();

// What the passes of a track came to.
struct pass_record {
  unsigned long passes = 0;
  unsigned long failed = 0;
  unsigned failures_in_a_row = 0;
  std::optional<base::wall_time> running_since;
  std::optional<base::wall_time> last_success;
  std::string last_error;                     // "" after a success
  std::optional<base::steady_time> next_pass; // unknown while one runs
};

// turn(), run_once() and wait() are called by one thread at a time, the rest by any.
class track {
public:
  // References must outlive it; `started_at` is the process's start for Waldur.
  track(
      offering_context& offering,
      mode m,
      const periods& periods,
      std::unique_ptr<portal> waldur,
      environment& env,
      environment& upkeep,
      std::string started_at,
      worker_extras extras
  );

  // Something may be done now: the offering is still configured, its lease held, and a time came.
  bool is_due() const;
  // Does it. Blocks for as long as a pass takes; work that a pass begins may go on.
  void turn();
  // The next pass is due at once.
  void hurry();
  // One pass, the work it began, the leftovers, the registration. False: the offering could not
  // run.
  bool run_once();

  void wait() { worker_->wait(); }

  bool is_idle() const { return worker_->is_idle(); }

  void retire() { worker_->retire(); }

  mode what() const { return mode_; }

  const mode_worker& worker() const { return *worker_; }

  pass_record record() const;

  // Null: this portal has no place for it.
  registration* find_registration() { return registration_.get(); }

private:
  std::chrono::milliseconds period() const;
  bool is_pass_due(base::steady_time now) const; // needs the lock
  void pass();
  std::vector<std::pair<std::string, std::string>> plugins() const;
  base::json statistics() const;

  offering_context& offering_;
  const mode mode_;
  const periods& periods_;
  environment& env_;
  std::unique_ptr<portal> waldur_;
  std::unique_ptr<mode_worker> worker_;
  std::unique_ptr<registration> registration_;
  const observe::logger log_;

  mutable std::mutex mutex_;
  std::optional<base::steady_time> last_pass_;
  base::steady_time reconcile_at_;
  bool fine_ = true;
  pass_record record_;
};

} // namespace siteagent::agent
