// SPDX-License-Identifier: MIT
// One offering at run time.
#include "core/agent/offering_context.hpp"

#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes info_age{5};
constexpr std::chrono::minutes first_probe{1};
constexpr unsigned longest_probe_minutes = 15;

} // namespace

bool circuit::is_open() const {
  const std::lock_guard lock(mutex_);
  return openings_ > 0;
}

bool circuit::may_probe() const {
  const std::lock_guard lock(mutex_);
  return openings_ > 0 && clock_.steady() >= probe_at_;
}

bool circuit::open() {
  const std::lock_guard lock(mutex_);
  const bool was_closed = openings_ == 0;
  // Many orders fail at once: only a probe that failed makes the next pause longer.
  if (was_closed || clock_.steady() >= probe_at_) {
    const unsigned minutes = std::min(1U << std::min(openings_, 4U), longest_probe_minutes);
    probe_at_ = clock_.steady() + first_probe * minutes;
    ++openings_;
  }
  return was_closed;
}

void circuit::close() {
  const std::lock_guard lock(mutex_);
  openings_ = 0;
}

offering_context::offering_context(
    config::offering offering, agent_settings settings, backend_factory factory, environment& env
)
    : offering_(std::move(offering)), settings_(std::move(settings)), factory_(std::move(factory)),
      env_(env), log_(observe::logger("agent").with("offering", offering_.name)),
      breaker_(env.clock) {}

base::result<std::shared_ptr<const offering_info>> offering_context::info(portal& waldur) {
  const std::lock_guard lock(info_mutex_);
  if (info_ && env_.clock.steady() - info_read_ < info_age) {
    return info_;
  }
  base::result<waldur::offering> read = waldur.get_offering();
  if (!read) {
    if (info_ && react_to(read.error()) == reaction::retry) {
      log_.failure(
          observe::level::warning,
          "offering not readable, going on with an older copy",
          read.error()
      );
      return info_;
    }
    return base::with_context(std::move(read).error(), "read offering " + offering_.uuid.hex());
  }
  auto fresh = std::make_shared<offering_info>();
  fresh->components = merge_components(offering_.components, read->components);
  fresh->components_body = components_to_json(fresh->components);
  fresh->server = *std::move(read);
  info_ = fresh;
  info_read_ = env_.clock.steady();
  return info_;
}

base::result<std::shared_ptr<backend>> offering_context::backend_for(const std::string& plugin_id) {
  const std::lock_guard lock(backend_mutex_);
  const auto known = backends_.find(plugin_id);
  if (known != backends_.end()) {
    return known->second;
  }
  base::result<std::shared_ptr<backend>> opened = factory_(offering_, plugin_id);
  if (opened) {
    backends_.emplace(plugin_id, *opened);
  }
  return opened;
}

base::result<void> offering_context::admit(backend& cloud) {
  if (!breaker_.is_open()) {
    return {};
  }
  if (!breaker_.may_probe()) {
    return base::error{
        .code = base::error_code::not_ready,
        .message = "the cloud refused the credentials; the next check is due later"};
  }
  host::call_options options;
  options.stop = env_.stop;
  base::result<std::vector<base::json>> answer = cloud.call(host::operation::ping, {}, options);
  if (!answer) {
    breaker_.open();
    return base::with_context(std::move(answer).error(), "check the cloud's credentials");
  }
  breaker_.close();
  log_.info("the cloud accepts the credentials again");
  return {};
}

void offering_context::hold(const base::error& e) {
  if (breaker_.open()) {
    log_.failure(
        observe::level::error,
        "the cloud refused the credentials: every order of this offering waits; check "
        "backend_settings and the account's validity",
        e
    );
  }
}

void offering_context::note_throttled(base::steady_time until) {
  const std::lock_guard lock(throttle_mutex_);
  throttled_until_ = std::max(throttled_until_, until);
}

std::optional<base::steady_time> offering_context::throttled_until() const {
  const std::lock_guard lock(throttle_mutex_);
  return throttled_until_ > env_.clock.steady() ? std::optional(throttled_until_) : std::nullopt;
}

bool offering_context::first_time(const std::string& what) {
  const std::lock_guard lock(said_mutex_);
  return said_.insert(what).second;
}

} // namespace siteagent::agent
