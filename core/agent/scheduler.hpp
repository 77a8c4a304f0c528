// SPDX-License-Identifier: MIT
// The running agent: one loop per offering and mode, so that no offering, mode or plugin waits for
// another. Order: construct, run(), destroy.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/config/config.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

enum class mode : std::uint8_t { order_process, membership_sync, report };

std::string_view name_of(mode m);

struct periods {
  std::chrono::milliseconds order_process{std::chrono::minutes(5)};
  std::chrono::milliseconds membership_sync{std::chrono::minutes(5)};
  std::chrono::milliseconds report{std::chrono::minutes(30)};
  std::chrono::milliseconds reconciliation{std::chrono::minutes(10)}; // sweep
};

// WALDUR_SITE_AGENT_*_PERIOD_MINUTES, fractions allowed; nonsense is warned about and ignored.
periods periods_from_environment();

// One client per offering and mode: the mode is part of the user agent Waldur sees.
using portal_factory =
    std::function<base::result<std::unique_ptr<portal>>(const config::offering& offering, mode m)>;

struct agent_options {
  std::vector<mode> modes;
  bool once = false;     // one pass of each mode, and the work it began
  unsigned workers = 64; // at least 1
  agent::periods periods;
};

class agent {
public:
  // `clock` and `waits` must outlive it; `stop` ends run().
  agent(
      const config::agent_config& config,
      agent_options options,
      portal_factory portals,
      const backend_factory& backends,
      const base::clock& clock,
      waiter& waits,
      const std::stop_token& stop
  );
  ~agent();

  // Blocks until stopped (or, with once, until the passes are over). false: an offering could not
  // run its last pass. Never throws.
  bool run();

  const progress_board& progress() const { return progress_; }

  // No order, sync or sweep is under way on the pool. [any thread]
  bool is_idle() const { return pool_.is_idle() && upkeep_pool_.is_idle(); }

private:
  class loop;

  bool drive(loop& l) const;

  const agent_options options_;
  const portal_factory portals_;
  progress_board progress_;
  resource_locks locks_;
  worker_pool pool_;
  worker_pool upkeep_pool_; // status sync and sweep
  environment env_;
  environment upkeep_; // as env_, with the other pool
  std::string started_at_;
  std::vector<std::unique_ptr<offering_context>> offerings_;
  std::vector<std::unique_ptr<loop>> loops_;
};

} // namespace siteagent::agent
