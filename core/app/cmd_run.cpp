// SPDX-License-Identifier: MIT
// Running the agent: signals, logs, exit codes around agent::agent.
#include "core/agent/board.hpp"
#include "core/agent/heartbeat.hpp"
#include "core/agent/lease_keeper.hpp"
#include "core/agent/scheduler.hpp"
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/app/log_shipping.hpp"
#include "core/app/reload.hpp"
#include "core/config/config.hpp"
#include "core/net/proxy.hpp"
#include "core/observe/log.hpp"

#include <csignal>
#include <ctime>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace siteagent::app {

namespace {

// After a signal: time for the workers to reach a checkpoint. Killing them later is safe, too.
constexpr std::chrono::seconds grace{15};
constexpr long look_interval_ns = 50'000'000;

std::vector<agent::mode> modes_of(const std::string& name) {
  using agent::mode;
  if (name == "report") {
    return {mode::report};
  }
  if (name == "membership_sync") {
    return {mode::membership_sync};
  }
  if (name == "event_process") {
    return {mode::event_process};
  }
  if (name == "all") {
    return {mode::order_process, mode::event_process, mode::membership_sync, mode::report};
  }
  return {mode::order_process};
}

// nullopt: the agent must not start; findings are on stderr.
std::optional<config::agent_config> load(const std::string& file) {
  base::result<config::agent_config> config = config::load(file);
  if (!config) {
    std::cerr << config.error().message << '\n';
    return std::nullopt;
  }
  for (const config::finding& f : config->findings) {
    std::cerr << f.text() << '\n';
  }
  if (config->has_global_errors()) {
    return std::nullopt;
  }
  // The environment's are looked at here, too: before threads, and before any work.
  if (const auto proxies = net::proxies_from(config->global_proxy); !proxies) {
    std::cerr << file << ": error: " << proxies.error().message << '\n';
    return std::nullopt;
  }
  return *std::move(config);
}

// Blocked before any thread starts, so that only wait_for_end() sees them, whatever a plugin does
// to their handlers.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGQUIT);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// The signal that came within one look; 0: none.
int take_signal(const sigset_t& set) {
  const timespec time{0, look_interval_ns};
  return std::max(sigtimedwait(&set, nullptr, &time), 0);
}

// Until the agent ended by itself or was asked to by a signal and did; when its grace is over,
// calls `last_words` and ends the process. Calls `reload` for each SIGHUP before that.
void wait_for_end(
    const sigset_t& set,
    const std::atomic<bool>& ended,
    std::stop_source& stop,
    const std::function<void()>& reload,
    const std::function<void()>& last_words
) {
  const observe::logger log("agent");
  std::optional<base::steady_time> asked;
  while (!ended) {
    const int signal = take_signal(set);
    if (signal == SIGHUP && !asked) {
      reload();
    } else if (signal != 0 && signal != SIGHUP && !asked) {
      log.info("asked to stop; running work stops at its next checkpoint");
      asked = base::real_clock().steady();
      stop.request_stop();
    }
    if (asked && base::real_clock().steady() - *asked > grace) {
      log.warning("work did not stop in time; leaving, the next start finds what it made");
      last_words();
      (void)std::fflush(nullptr);
      std::_Exit(exit_fine);
    }
  }
}

// Null: no leases are wanted. An error: they cannot be had.
base::result<std::unique_ptr<agent::lease_keeper>> make_leases(const command_line& line) {
  const char* variable =
      std::getenv("WALDUR_SITE_AGENT_LEASE_NAMESPACE"); // NOLINT(concurrency-mt-unsafe)
  const std::string name_space =
      line.lease_namespace.empty() && variable != nullptr ? variable : line.lease_namespace;
  if (name_space.empty() || line.once) {
    return std::unique_ptr<agent::lease_keeper>();
  }
  base::result<agent::lease_options> options = agent::leases_in_cluster(name_space, line.mode);
  if (!options) {
    return std::move(options).error();
  }
  base::result<std::unique_ptr<net::transport>> transport = agent::make_lease_transport(*options);
  if (!transport) {
    return base::with_context(std::move(transport).error(), "leases");
  }
  return std::make_unique<agent::lease_keeper>(
      *std::move(options), *std::move(transport), base::real_clock()
  );
}

} // namespace

int run_agent(const command_line& line) {
  const std::optional<config::agent_config> config = load(line.config_file);
  if (!config) {
    return exit_failed;
  }
  if (config->offerings.empty() && config->has_errors()) {
    std::cerr << line.config_file << ": error: offerings: none is usable\n";
    return exit_failed;
  }
  base::result<std::unique_ptr<agent::lease_keeper>> leases = make_leases(line);
  if (!leases) {
    std::cerr << "waldur-site-agent: " << leases.error().message << '\n';
    return exit_failed;
  }
  const sigset_t signals = block_signals();
  observe::set_up_logs(level_of(config->log_level));
  const std::unique_ptr<log_shipping> shipping = log_shipping::start(*config);
  std::stop_source stop;
  agent::agent_options options;
  options.modes = modes_of(line.mode);
  options.once = line.once;
  options.workers = line.workers;
  options.periods = agent::periods_from_environment();
  observe::logger("agent").info(
      "agent started",
      {{"version", SITEAGENT_VERSION},
       {"mode", line.mode},
       {"offerings", std::to_string(config->offerings.size())}}
  );
  const auto parts = [&](const config::agent_config& from) {
    if (shipping) {
      shipping->use(from);
    }
    agent::agent_parts made{
        make_portals(stop.get_token()),
        make_backends(from, line.plugin_directories),
        make_sessions(from, stop.get_token())};
    if (*leases) {
      made.leases = [&keeper = **leases](const config::offering& o) { return keeper.add(o); };
    }
    return made;
  };
  agent::agent agent(
      *config,
      std::move(options),
      parts(*config),
      base::real_clock(),
      agent::real_waiter(),
      stop.get_token()
  );
  const agent::heartbeat_monitor heartbeat(
      agent.progress(), base::real_clock(), agent::heartbeat_path()
  );
  std::optional<agent::status_writer> status;
  std::optional<reloader> reloads;
  if (!line.once) {
    status.emplace(
        [&agent] { return agent.describe(); },
        line.config_file,
        line.mode,
        base::real_clock(),
        line.status_file
    );
    reloads.emplace(agent, line.config_file, parts);
  }
  if (*leases) {
    (*leases)->start();
  }
  bool fine = false;
  std::atomic<bool> ended{false};
  {
    const std::jthread runner([&] {
      fine = agent.run();
      ended = true;
    });
    const auto reload = [&reloads] {
      if (reloads) {
        reloads->request();
      }
    };
    const auto last_words = [&shipping, &leases] {
      if (*leases) {
        (*leases)->give_back();
      }
      if (shipping) {
        shipping->finish();
      }
    };
    wait_for_end(signals, ended, stop, reload, last_words);
  }
  observe::logger("agent").info("agent ended");
  if (stop.stop_requested()) {
    return exit_fine;
  }
  return fine && !config->has_errors() ? exit_fine : exit_failed;
}

} // namespace siteagent::app
