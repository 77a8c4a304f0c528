// SPDX-License-Identifier: MIT
// One offering at run time, shared by its modes: configuration, what Waldur says about it (kept for
// 5 minutes), its plugin instances, and the circuit that opens when its credentials are refused.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/portal.hpp"
#include "core/config/config.hpp"
#include "core/observe/log.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::agent {

// Settings of the whole file that the machines need.
struct agent_settings {
  base::time_zone timezone;
  unsigned reporting_periods = 2;
  bool expose_backend_error_details = true;
};

struct offering_info {
  waldur::offering server;
  std::vector<config::component> components; // local and server's
  base::json components_body;
};

// Open = no calls. A probe is allowed after a pause that doubles from 1 to 15 minutes. [any thread]
class circuit {
public:
  explicit circuit(const base::clock& clock) : clock_(clock) {}

  bool is_open() const;
  bool may_probe() const; // open, and the pause is over
  // true when it was closed before: tell the operator.
  bool open();
  void close();

private:
  const base::clock& clock_;
  mutable std::mutex mutex_;
  unsigned openings_ = 0; // 0 = closed
  base::steady_time probe_at_{};
};

// [any thread]
class offering_context {
public:
  offering_context(
      config::offering offering, agent_settings settings, backend_factory factory, environment& env
  );

  const config::offering& config() const { return offering_; }

  const agent_settings& settings() const { return settings_; }

  const observe::logger& log() const { return log_; }

  // Waldur's word, at most 5 minutes old; an older one serves while Waldur cannot be read.
  base::result<std::shared_ptr<const offering_info>> info(portal& waldur);
  // Opened on first use, tried again after a failure.
  base::result<std::shared_ptr<backend>> backend_for(const std::string& plugin_id);

  circuit& breaker() { return breaker_; }

  const circuit& breaker() const { return breaker_; }

  // Checks an open circuit with one ping when its pause is over. An error: leave the plugin alone.
  base::result<void> admit(backend& cloud);
  // The credentials were refused: opens the circuit and tells the operator once.
  void hold(const base::error& e);

  // A running call waits until then because the cloud limits calls; nullopt: none does.
  void note_throttled(base::steady_time until);
  std::optional<base::steady_time> throttled_until() const;

  // The offering is no longer configured like this: nothing new is begun, what runs goes on.
  void retire() { is_retired_ = true; }

  bool is_retired() const { return is_retired_; }

  // From here on the polled modes work only while `held` says so. Before the first use.
  void set_lease(std::function<bool()> held) { lease_ = std::move(held); }

  bool holds_lease() const { return !lease_ || lease_(); }

  // May another order be begun? Those that events bring are shared out by the broker's queue.
  bool may_begin() const { return !is_retired_ && (offering_.stomp_enabled || holds_lease()); }

  // true the first time a text is given: for warnings wanted once per offering.
  bool first_time(const std::string& what);

private:
  const config::offering offering_;
  const agent_settings settings_;
  const backend_factory factory_;
  environment& env_;
  const observe::logger log_;
  circuit breaker_;

  std::mutex info_mutex_;
  std::shared_ptr<const offering_info> info_;
  base::steady_time info_read_{};

  std::mutex backend_mutex_;
  std::map<std::string, std::shared_ptr<backend>> backends_; // shared by the roles

  std::atomic<bool> is_retired_{false};
  std::function<bool()> lease_;

  mutable std::mutex throttle_mutex_;
  base::steady_time throttled_until_{};

  std::mutex said_mutex_;
  std::set<std::string> said_;
};

} // namespace siteagent::agent
