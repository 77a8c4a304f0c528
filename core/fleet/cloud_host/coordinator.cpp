// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/coordinator.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace siteagent::fleet::cloud_host {

namespace {

constexpr std::string_view prefix = "cloud-host reaper: ";
constexpr std::chrono::seconds shortest_interval{15};
constexpr std::chrono::seconds longest_interval{std::chrono::hours(24)};

// Stops with the outer token, or when its time is over.
class bounded_stop {
public:
  bounded_stop(const std::stop_token& outer, std::chrono::milliseconds longest)
      : outer_(outer, [this] { source_.request_stop(); }),
        timer_([this, longest](const std::stop_token& ended) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any wake;
          if (!wake.wait_for(lock, ended, longest, [] { return false; }) &&
              !ended.stop_requested()) {
            source_.request_stop();
          }
        }) {}

  std::stop_token token() const { return source_.get_token(); }

private:
  struct request {
    std::function<void()> act;

    void operator()() const { act(); }
  };

  std::stop_source source_;
  std::stop_callback<request> outer_;
  std::jthread timer_;
};

// The providers of declared hosts, in the registry's order, each once.
std::vector<std::string> declared_providers(const base::json& registry) {
  std::vector<std::string> out;
  for (const target& t : targets_of(registry)) {
    if (t.cloud && !t.cloud->provider.empty() &&
        std::find(out.begin(), out.end(), t.cloud->provider) == out.end()) {
      out.push_back(t.cloud->provider);
    }
  }
  return out;
}

void run_pass(const workplace& w, const std::string& provider, const log_function& log) {
  const auto say = [&](const std::string& text) { log(std::string(prefix) + text); };
  const auto limits = limits_of(*w.settings);
  if (!limits) {
    say(limits.error().message);
    return;
  }
  const bounded_stop bound(w.stop, limits->reap_pass);
  workplace bounded = w;
  bounded.stop = bound.token();
  const auto opened = open_session(bounded, provider);
  if (!opened) {
    say(provider + ": " + opened.error().message);
    return;
  }
  const auto report = reap(opened->at, true, false);
  if (!report) {
    const bool is_held = report.error().code == base::error_code::conflict;
    say((is_held ? "skipped this tick: " : "") + report.error().message);
    return;
  }
  for (const std::string& line : lines_of(*report)) {
    log(line);
  }
  if (report->was_cut_short && !w.stop.stop_requested()) {
    say("the pass took too long; what is left is done on the next tick");
  }
}

std::string minutes(std::int64_t seconds) {
  return std::to_string(seconds / 60);
}

} // namespace

base::result<coordinator_entry>
find_coordinator(const base::json& registry, std::string_view name) {
  std::vector<const base::json*> found;
  std::vector<std::string> names;
  for (const base::json& entry : registry["coordinators"].items()) {
    const std::string own = entry["name"].string_or("");
    names.push_back(own);
    const bool is_active = entry["active"].boolean().value_or(true);
    if (name.empty() ? is_active : own == name) {
      found.push_back(&entry);
    }
  }
  if (found.size() != 1) {
    const std::string there = names.empty() ? "none" : base::join(names, ", ");
    return base::error{
        .code = base::error_code::refused,
        .message = name.empty()
                       ? "the registry names no single active coordinator (coordinators: " + there +
                             "); name one with --name, or run --once"
                       : "the registry has no coordinator " + std::string(name) +
                             " (coordinators: " + there + ")"};
  }
  coordinator_entry out;
  out.name = (*found.front())["name"].string_or("");
  if (const auto seconds = (*found.front())["interval_seconds"].integer()) {
    // A number from a registry: one that no clock can hold would come due at once, and for ever.
    out.interval = std::clamp(std::chrono::seconds(*seconds), shortest_interval, longest_interval);
  }
  return out;
}

std::vector<std::string> lines_of(const reap_report& r) {
  std::vector<std::string> out;
  for (const egress_failure& f : r.egress_errors) {
    out.push_back(std::string(prefix) + "addresses: " + f.host + ": " + f.cause.message);
  }
  if (r.admission_error) {
    out.push_back(std::string(prefix) + "addresses: " + r.admission_error->message);
  }
  for (const reaped_host& h : r.hosts) {
    if (h.state == "reaped") {
      out.push_back(
          std::string(prefix) + "reaped " + h.name + " (idle " +
          minutes(h.idle_seconds.value_or(0)) + " min, limit " + std::to_string(h.idle_minutes) +
          " min)"
      );
    } else if (h.state == "reap_failed") {
      out.push_back(std::string(prefix) + "failed to reap " + h.name + ": " + h.cause);
    } else if (h.state == "unread") {
      out.push_back(std::string(prefix) + "could not read " + h.name + ": " + h.cause);
    }
  }
  return out;
}

void tick(const workplace& w, const log_function& log) {
  const auto registry = w.registry->read();
  if (!registry) {
    log(std::string(prefix) + registry.error().message);
    return;
  }
  for (const std::string& provider : declared_providers(registry->document)) {
    if (w.stop.stop_requested()) {
      return;
    }
    // Not enabled here: another machine's coordinator takes care of it.
    if (check_enabled(*w.settings, provider)) {
      run_pass(w, provider, log);
    }
  }
}

void tick_forever(const workplace& w, std::chrono::seconds interval, const log_function& log) {
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!w.stop.stop_requested()) {
    const auto next = std::chrono::steady_clock::now() + interval;
    tick(w, log);
    std::unique_lock lock(mutex);
    wake.wait_until(lock, w.stop, next, [] { return false; });
  }
}

} // namespace siteagent::fleet::cloud_host
