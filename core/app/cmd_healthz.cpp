// SPDX-License-Identifier: MIT
// healthz: the probe of a container. Liveness: the heartbeat file is young. Readiness: Waldur knows
// the token of at least one offering. Always ends within 10 s, which is what probes are given.
#include "core/agent/heartbeat.hpp"
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/config/config.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>

namespace siteagent::app {

namespace {

constexpr std::chrono::seconds budget{8};
constexpr std::size_t most_probes = 8; // asked at the same time

bool say(bool fine, std::string_view what, const std::string& detail) {
  std::cout << (fine ? "ok      " : "FAILED  ") << what << ": "
            << base::global_redactor().scrub(detail) << '\n';
  return fine;
}

bool is_alive(const command_line& line) {
  const std::string path =
      line.heartbeat_file.empty() ? agent::heartbeat_path() : line.heartbeat_file;

  struct stat info {};

  if (::stat(path.c_str(), &info) != 0) {
    return say(
        false,
        "liveness",
        "heartbeat file " + path + ": " + std::generic_category().message(errno) +
            "; the agent is not running, or writes another file (WALDUR_SITE_AGENT_HEARTBEAT_PATH)"
    );
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(base::real_clock().wall().time_since_epoch()
      );
  const std::int64_t age = now.count() - info.st_mtim.tv_sec;
  const std::string text = "heartbeat file " + path + " is " + std::to_string(age) + " s old";
  if (age >= line.max_age_s) {
    return say(
        false,
        "liveness",
        text + ", allowed are " + std::to_string(line.max_age_s) + " s; restart the agent"
    );
  }
  return say(true, "liveness", text);
}

bool is_same_account(const config::offering& a, const config::offering& b) {
  return a.waldur_api_url == b.waldur_api_url &&
         a.waldur_api_token.reveal() == b.waldur_api_token.reveal() &&
         a.oidc_token_url == b.oidc_token_url && a.oidc_client_id == b.oidc_client_id;
}

// One offering for each account at each Waldur: the others would get the same answer.
std::vector<const config::offering*> accounts_of(const config::agent_config& config) {
  std::vector<const config::offering*> out;
  for (const config::offering& o : config.offerings) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const config::offering* other) {
      return is_same_account(*other, o);
    });
    if (!known) {
      out.push_back(&o);
    }
  }
  return out;
}

// Asks all until one answers well or the time is over.
class readiness {
public:
  explicit readiness(std::vector<const config::offering*> asked) : asked_(std::move(asked)) {}

  bool run() {
    std::vector<std::jthread> probes;
    const std::size_t count = std::min(most_probes, asked_.size());
    {
      std::unique_lock lock(mutex_);
      running_ = count;
      for (std::size_t i = 0; i < count; ++i) {
        probes.emplace_back([this] { probe(); });
      }
      is_late_ =
          !changed_.wait_for(lock, budget, [this] { return running_ == 0 || !ready_.empty(); });
    }
    stop_.request_stop();
    probes.clear(); // joins: each sees the stop within moments
    if (!ready_.empty()) {
      return say(true, "readiness", "Waldur knows the token of offering '" + ready_ + "'");
    }
    return say(
        false,
        "readiness",
        is_late_ ? "no Waldur answered within " + std::to_string(budget.count()) + " s" : why_
    );
  }

private:
  void probe() {
    for (std::size_t i = next_++; i < asked_.size() && !stop_.stop_requested(); i = next_++) {
      const base::result<void> answer = ask(*asked_[i]);
      const std::lock_guard lock(mutex_);
      if (answer && ready_.empty()) {
        ready_ = asked_[i]->name;
        changed_.notify_all();
      } else if (!answer && why_.empty() && !stop_.stop_requested()) {
        why_ = "offering '" + asked_[i]->name + "': " + answer.error().message;
      }
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  base::result<void> ask(const config::offering& offering) const {
    const auto waldur = make_client(offering, "healthz", nullptr, stop_.get_token());
    if (!waldur) {
      return waldur.error();
    }
    return (*waldur)->check_access();
  }

  const std::vector<const config::offering*> asked_;
  std::stop_source stop_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ = 0;
  std::string ready_; // the offering's name
  std::string why_;   // the first failure
  bool is_late_ = false;
};

bool is_ready(const command_line& line) {
  const base::result<config::agent_config> config = config::load(line.config_file);
  if (!config) {
    return say(false, "readiness", config.error().message);
  }
  if (config->offerings.empty() && !config->has_errors()) {
    return say(true, "readiness", "the file has no offerings; nobody to ask");
  }
  if (config->offerings.empty()) {
    return say(false, "readiness", line.config_file + ": no usable offering; see 'validate'");
  }
  return readiness(accounts_of(*config)).run();
}

} // namespace

int run_healthz(const command_line& line) {
  const bool fine = is_alive(line) && (line.liveness_only || is_ready(line));
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
