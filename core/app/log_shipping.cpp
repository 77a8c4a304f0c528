// SPDX-License-Identifier: MIT
#include "core/app/log_shipping.hpp"

#include "core/app/reload.hpp"
#include "core/base/clock.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::app {

namespace {

// Waldur's words for the levels.
std::string name_of(observe::level at) {
  switch (at) {
  case observe::level::debug:
    return "DEBUG";
  case observe::level::info:
    return "INFO";
  case observe::level::warning:
    return "WARNING";
  case observe::level::error:
    return "ERROR";
  }
  return "ERROR";
}

std::vector<waldur::log_line> lines_of(const std::vector<observe::log_record>& records) {
  std::vector<waldur::log_line> out;
  for (const observe::log_record& r : records) {
    out.push_back({r.time, name_of(r.at), r.message, r.logger});
  }
  return out;
}

observe::shipping_options options_of(const config::log_shipping& wanted) {
  observe::shipping_options out;
  out.lowest = level_of(wanted.level);
  out.interval = wanted.interval;
  out.buffer_bytes = std::size_t{wanted.buffer_mb} << 20U;
  return out;
}

} // namespace

std::unique_ptr<log_shipping> log_shipping::start(const config::agent_config& config) {
  return config.log_shipping.enabled ? std::make_unique<log_shipping>(config) : nullptr;
}

log_shipping::log_shipping(const config::agent_config& config)
    : build_{SITEAGENT_VERSION, base::to_rfc3339(base::real_clock().wall())},
      offerings_(config.offerings),
      shipper_(std::make_unique<observe::log_shipper>(
          options_of(config.log_shipping),
          [this](const auto& topic, const auto& records, const std::stop_token& stop) {
            return send(topic, records, stop);
          }
      )) {}

void log_shipping::use(const config::agent_config& config) {
  {
    const std::lock_guard lock(mutex_);
    offerings_ = config.offerings;
    clients_.clear();
    make_client_ = nullptr;
  }
  shipper_->forget_refusals();
}

base::result<void> log_shipping::send(
    const std::string& topic,
    const std::vector<observe::log_record>& records,
    const std::stop_token& stop
) {
  std::shared_ptr<waldur::client> client;
  base::uuid offering;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(offerings_.begin(), offerings_.end(), [&](const auto& o) {
      return topic.empty() || o.name == topic;
    });
    if (found == offerings_.end()) {
      return base::error{
          .code = base::error_code::not_found, .message = "no offering has this name"};
    }
    if (!make_client_) {
      make_client_ = make_clients("log_shipping", stop);
    }
    std::shared_ptr<waldur::client>& known = clients_[found->name];
    if (!known) {
      base::result<std::unique_ptr<waldur::client>> made = make_client_(*found);
      if (!made) {
        return std::move(made).error();
      }
      known = *std::move(made);
    }
    client = known;
    offering = found->uuid;
  }
  return client->ship_logs(offering, build_, lines_of(records));
}

} // namespace siteagent::app
