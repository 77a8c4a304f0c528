// SPDX-License-Identifier: MIT
// SIGHUP: the file and its secrets read again, and the running agent brought in line with them.
#pragma once

#include "core/agent/scheduler.hpp"
#include "core/config/config.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace siteagent::app {

// The error says why the file must not be used: every "file:line:column: error: key: why". Warnings
// are logged.
base::result<config::agent_config> load_for_reload(const std::string& file);

observe::level level_of(const std::string& log_level);

// Reloads on a thread of its own, because a plugin that is opened may take its time, and the signal
// to stop must be seen meanwhile. A file with an error changes nothing.
class reloader {
public:
  using parts_of = std::function<agent::agent_parts(const config::agent_config&)>;

  // `running` must outlive it.
  reloader(agent::agent& running, std::string file, parts_of parts);

  // Soon; requests that come while one is being carried out are one more. [any thread]
  void request();

private:
  void run(const std::stop_token& stop);
  void reload();

  agent::agent& running_;
  const std::string file_;
  const parts_of parts_;
  std::mutex mutex_;
  std::condition_variable_any wanted_;
  bool is_wanted_ = false;
  std::jthread thread_;
};

} // namespace siteagent::app
