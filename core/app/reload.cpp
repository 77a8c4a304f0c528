// SPDX-License-Identifier: MIT
// Reloading.
#include "core/app/reload.hpp"

#include "core/base/text.hpp"
#include "core/net/proxy.hpp"
#include "core/observe/log.hpp"

#include <exception>
#include <utility>

namespace siteagent::app {

base::result<config::agent_config> load_for_reload(const std::string& file) {
  base::result<config::agent_config> config = config::load(file);
  if (!config) {
    return config;
  }
  std::string errors;
  for (const config::finding& f : config->findings) {
    if (f.fatal) {
      errors += (errors.empty() ? "" : "; ") + f.text();
    } else {
      observe::logger("reload").warning("finding in the configuration", {{"finding", f.text()}});
    }
  }
  if (!errors.empty()) {
    return base::error{.code = base::error_code::invalid, .message = errors};
  }
  if (const auto proxies = net::proxies_from(config->global_proxy); !proxies) {
    return base::with_context(proxies.error(), file);
  }
  return config;
}

observe::level level_of(const std::string& log_level) {
  const std::string lower = base::to_lower(log_level);
  return lower == "debug"                          ? observe::level::debug
         : lower == "warning"                      ? observe::level::warning
         : lower == "error" || lower == "critical" ? observe::level::error
                                                   : observe::level::info;
}

reloader::reloader(agent::agent& running, std::string file, parts_of parts)
    : running_(running), file_(std::move(file)), parts_(std::move(parts)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void reloader::request() {
  {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
  }
  wanted_.notify_one();
}

void reloader::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wanted_.wait(lock, stop, [this] { return is_wanted_; })) {
    is_wanted_ = false;
    lock.unlock();
    try {
      reload();
    } catch (const std::exception& e) {
      observe::logger("reload").error(
          "reloading ended with an exception; this is a bug", {{"error", e.what()}}
      );
    }
    lock.lock();
  }
}

void reloader::reload() {
  const observe::logger log("reload");
  const base::result<config::agent_config> config = load_for_reload(file_);
  if (!config) {
    log.failure(
        observe::level::error,
        "the configuration was not reloaded; the agent goes on with the one it has",
        config.error()
    );
    return;
  }
  const base::result<agent::reload_summary> done = running_.reconfigure(*config, parts_(*config));
  if (!done) {
    log.failure(
        observe::level::error,
        "the configuration was not reloaded; the agent goes on with the one it has",
        done.error(),
        {{"file", file_}}
    );
    return;
  }
  observe::set_lowest_level(level_of(config->log_level));
  log.info(
      "the configuration was reloaded",
      {{"file", file_},
       {"new_or_changed", std::to_string(done->added)},
       {"gone_or_changed", std::to_string(done->retired)},
       {"unchanged", std::to_string(done->kept)}}
  );
}

} // namespace siteagent::app
