// SPDX-License-Identifier: MIT
// The running agent: every mode of every offering in one process.
//
// One thread looks each second which offering and mode (track) is due and hands out turns; a turn
// is a pass, on a thread of a pool. A turn that takes longer than 2 s waits for somebody and does
// not count: 32 others may begin, so that offerings whose Waldur or cloud is slow hold up nobody,
// and a thousand idle offerings need no thread. Orders, status changes and sweeps run on two
// further pools, of which no offering gets more than its share (worker_pool.hpp).
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/lease.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/track.hpp"
#include "core/config/config.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

struct agent_options {
  std::vector<mode> modes;
  bool once = false;     // one pass of each mode, and the work it began
  unsigned workers = 64; // at least 1
  agent::periods periods;
};

// One client per offering and mode: the mode is part of the user agent Waldur sees.
using portal_factory =
    std::function<base::result<std::unique_ptr<portal>>(const config::offering& offering, mode m)>;

// How the events of an offering are reached.
using session_factory = std::function<session_opener(const config::offering& offering)>;

// What an offering is made of. Called from one thread at a time.
struct agent_parts {
  portal_factory portals;
  backend_factory backends;
  session_factory sessions = {}; // mode event_process needs it
  lease_factory leases = {};     // empty: no leases
};

// What a new configuration changed.
struct reload_summary {
  std::size_t added = 0; // new, or with new settings
  std::size_t retired = 0;
  std::size_t kept = 0;
};

class agent {
public:
  // `clock` and `waits` must outlive it; `stop` ends run().
  agent(
      const config::agent_config& config,
      agent_options options,
      agent_parts parts,
      const base::clock& clock,
      waiter& waits,
      const std::stop_token& stop
  );
  ~agent();

  // Blocks until stopped (or, with once, until the passes are over). false: an offering could not
  // run its last pass. Never throws.
  bool run();

  // Takes over a new configuration while run() goes on. Offerings without a change go on as if
  // nothing had happened. Those that are gone or changed begin nothing new under their old
  // settings; what runs ends under them. All or nothing: the error, of an offering whose plugin or
  // address cannot be used, leaves everything as it was. Blocks while plugins are opened. One
  // thread at a time, beside run(); not with once.
  base::result<reload_summary> reconfigure(const config::agent_config& config, agent_parts parts);

  const progress_board& progress() const { return progress_; }

  // What `status` shows of the offerings (packaging/schema/status.schema.json). [any thread]
  base::json describe() const;

  // Nothing is under way. [any thread]
  bool is_idle() const;

private:
  // A track and what the scheduler does with it.
  struct slot {
    enum class state : std::uint8_t { idle, ready, running };

    std::unique_ptr<track> job;
    state at = state::idle;
    base::steady_time started{};
  };

  // An offering under one configuration.
  struct unit {
    std::size_t digest = 0; // of all that the configuration says about it
    std::unique_ptr<offering_context> offering;
    std::shared_ptr<offering_lease> lease; // shared with the offering's question for it
    std::vector<std::unique_ptr<slot>> slots;
    bool is_retired = false;
  };

  std::unique_ptr<unit> make_unit(
      const config::offering& offering,
      const config::agent_config& config,
      const agent_parts& parts,
      base::error* failure
  );
  base::result<void> open_plugins(const unit& u) const;
  bool run_once();
  void run_on();
  void start(const unit& u);
  void close(unit& u);
  void find_due();
  void hand_out(); // as many turns as may begin
  void turn(slot& s);
  void let_go(); // of retired units whose work has ended

  const agent_options options_;
  const std::string started_at_;
  progress_board progress_;
  resource_locks locks_;
  worker_pool pool_;
  worker_pool upkeep_pool_; // status sync and sweep
  worker_pool turn_pool_;
  environment env_;
  environment upkeep_; // as env_, with the other pool
  registrar registrar_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<unit>> units_;
  std::deque<slot*> ready_;
  std::vector<slot*> running_;
  bool fine_ = true;
  task_group turns_;
  task_group farewells_;
};

} // namespace siteagent::agent
