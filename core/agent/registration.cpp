// SPDX-License-Identifier: MIT
// Registration in Waldur.
#include "core/agent/registration.hpp"

#include <algorithm>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes interval{5};
// N5 keeps an active service active; one that fell idle is shown as active by N4 alone.
constexpr std::chrono::minutes show_again{9};
constexpr std::chrono::hours complaint_interval{1};
constexpr std::chrono::milliseconds between_requests{50};

class client_registry final : public registry {
public:
  client_registry(waldur::client& client, base::uuid offering)
      : client_(client), offering_(offering) {}

  base::result<base::uuid> register_service(
      const waldur::agent_build& build, std::string_view name, std::string_view mode
  ) override {
    return client_.register_service(offering_, build, name, mode);
  }

  base::result<void> register_processor(
      const base::uuid& service,
      std::string_view name,
      std::string_view backend_type,
      std::string_view backend_version
  ) override {
    return client_.register_processor(service, name, backend_type, backend_version);
  }

  base::result<void>
  set_statistics(const base::uuid& service, const base::json& statistics) override {
    return client_.set_statistics(service, statistics);
  }

private:
  waldur::client& client_;
  const base::uuid offering_;
};

// The server, not the object, is without it.
bool is_unknown_call(const base::error& e) {
  return e.http_status == 404 || e.http_status == 405;
}

} // namespace

std::unique_ptr<registry> make_registry(waldur::client& client, base::uuid offering) {
  return std::make_unique<client_registry>(client, offering);
}

registration::registration(
    registry& waldur, registration_facts facts, const base::clock& clock, observe::logger log
)
    : waldur_(waldur), facts_(std::move(facts)), clock_(clock), log_(std::move(log)) {
  for (const service_record& record : facts_.services) {
    services_.push_back({record, std::nullopt, {}});
  }
}

bool registration::renew(const std::function<void()>& pace) {
  for (service& s : services_) {
    const base::result<void> answer = renew_one(s, pace);
    if (answer) {
      continue;
    }
    s.id.reset(); // somebody may have deleted it
    const base::steady_time now = clock_.steady();
    if (answer.error().code != base::error_code::cancelled &&
        (!complained_ || now - *complained_ >= complaint_interval)) {
      log_.failure(
          observe::level::warning, "the agent could not be registered in Waldur", answer.error()
      );
      complained_ = now;
    }
    return base::class_of(answer.error().code) != base::error_class::transient;
  }
  return true;
}

base::result<void> registration::renew_one(service& s, const std::function<void()>& pace) {
  const std::vector<std::pair<std::string, std::string>> plugins = facts_.plugins();
  if (!s.id || clock_.steady() - s.shown >= show_again) {
    const base::result<base::uuid> id = waldur_.register_service(
        {SITEAGENT_VERSION, facts_.started_at, plugins}, s.record.name, s.record.mode
    );
    if (!id) {
      return id.error();
    }
    s.id = *id;
    s.shown = clock_.steady();
    if (pace) {
      pace();
    }
  }
  const auto own = std::find_if(plugins.begin(), plugins.end(), [&](const auto& p) {
    return p.first == facts_.plugin;
  });
  const std::string version = own == plugins.end() || own->second.empty() ? "unknown" : own->second;
  base::result<void> told =
      waldur_.register_processor(*s.id, s.record.processor, "siteagent." + facts_.plugin, version);
  if (!told || !takes_statistics_) {
    return told;
  }
  if (pace) {
    pace();
  }
  const base::result<void> taken = waldur_.set_statistics(*s.id, facts_.statistics());
  if (!taken && is_unknown_call(taken.error())) {
    takes_statistics_ = false;
    log_.debug("this Waldur takes no statistics of agents");
    return {};
  }
  return taken;
}

registrar::registrar(const environment& env) : env_(env) {}

registrar::~registrar() = default;

void registrar::add(registration& r) {
  const std::lock_guard lock(mutex_);
  due_.emplace(&r, env_.clock.steady());
  ++ticks_;
  changed_.notify_all();
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
}

void registrar::remove(registration& r) {
  std::unique_lock lock(mutex_);
  due_.erase(&r);
  changed_.wait(lock, [&] { return current_ != &r; });
}

void registrar::tick() {
  const std::lock_guard lock(mutex_);
  ++ticks_;
  changed_.notify_all();
}

registration* registrar::take_due() {
  const base::steady_time now = env_.clock.steady();
  std::erase_if(silent_until_, [&](const auto& s) { return s.second <= now; });
  auto first = due_.end();
  for (auto at = due_.begin(); at != due_.end(); ++at) {
    if (at->second <= now && !silent_until_.contains(at->first->waldur_address()) &&
        (first == due_.end() || at->second < first->second)) {
      first = at;
    }
  }
  if (first == due_.end()) {
    return nullptr;
  }
  first->second = now + interval;
  current_ = first->first;
  return current_;
}

void registrar::run(const std::stop_token& stop) {
  const auto pace = [&] { env_.waits.wait_for(between_requests, stop); };
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !env_.stop.stop_requested()) {
    registration* const next = take_due();
    if (next == nullptr) {
      const std::uint64_t seen = ticks_;
      changed_.wait(lock, stop, [&] { return ticks_ != seen; });
      continue;
    }
    lock.unlock();
    const bool answered = next->renew(pace);
    pace();
    lock.lock();
    if (!answered) {
      silent_until_[next->waldur_address()] = env_.clock.steady() + interval;
    }
    current_ = nullptr;
    changed_.notify_all();
  }
}

} // namespace siteagent::agent
