// SPDX-License-Identifier: MIT
// The modes behind the scheduler's one interface.
#include "core/agent/mode_worker.hpp"

#include "core/agent/events/event_worker.hpp"
#include "core/agent/members/membership.hpp"
#include "core/agent/order_pass.hpp"
#include "core/agent/sweep.hpp"
#include "core/agent/usage_report.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

std::vector<service_record> services_of(mode m, std::string_view processor) {
  return {{std::string(name_of(m)), std::string(name_of(m)), std::string(processor)}};
}

class order_worker final : public mode_worker {
public:
  order_worker(offering_context& offering, portal& waldur, environment& env, environment& upkeep)
      : offering_(offering), pass_(offering, waldur, env), sweep_(offering, waldur, upkeep) {}

  base::result<void> pass() override { return pass_.start(); }

  void wait() override {
    pass_.wait();
    sweep_.wait();
  }

  std::optional<base::steady_time> next_due() const override { return pass_.next_due(); }

  void reconcile() override { sweep_.start(); }

  bool is_idle() const override { return pass_.is_idle() && sweep_.is_idle(); }

  std::vector<service_record> services() const override {
    return services_of(mode::order_process, "OfferingOrderProcessor");
  }

  std::string plugin_id() const override { return offering_.config().order_processing_backend; }

  std::vector<order_view> orders() const override { return pass_.orders(); }

private:
  offering_context& offering_;
  order_pass pass_;
  sweep sweep_;
};

class sync_worker final : public mode_worker {
public:
  sync_worker(offering_context& offering, portal& waldur, environment& env)
      : offering_(offering), sync_(offering, waldur, env) {}

  base::result<void> pass() override { return sync_.run(); }

  std::vector<service_record> services() const override {
    return services_of(mode::membership_sync, "OfferingMembershipProcessor");
  }

  std::string plugin_id() const override { return offering_.config().membership_sync_backend; }

private:
  offering_context& offering_;
  membership sync_;
};

class report_worker final : public mode_worker {
public:
  report_worker(offering_context& offering, portal& waldur, environment& env)
      : offering_(offering), report_(offering, waldur, env) {}

  base::result<void> pass() override { return report_.run(); }

  std::vector<service_record> services() const override {
    return services_of(mode::report, "OfferingReportProcessor");
  }

  std::string plugin_id() const override { return offering_.config().reporting_backend; }

private:
  offering_context& offering_;
  usage_report report_;
};

std::unique_ptr<mode_worker> make_event_worker(
    offering_context& offering,
    portal& waldur,
    environment& env,
    environment& upkeep,
    worker_extras extras
) {
  const config::offering& c = offering.config();
  std::unique_ptr<member_events> members;
  if (c.stomp_membership_sync_enabled && !c.membership_sync_backend.empty()) {
    members = std::make_unique<membership>(offering, waldur, upkeep);
  }
  return std::make_unique<event_worker>(
      offering, waldur, *waldur.find_events(), std::move(members), env, upkeep, std::move(extras)
  );
}

} // namespace

std::string_view name_of(mode m) {
  switch (m) {
  case mode::order_process:
    return "order_process";
  case mode::event_process:
    return "event_process";
  case mode::membership_sync:
    return "membership_sync";
  case mode::report:
    return "report";
  }
  return "unknown";
}

std::unique_ptr<mode_worker> make_worker(
    mode m,
    offering_context& offering,
    portal& waldur,
    environment& env,
    environment& upkeep,
    worker_extras extras
) {
  switch (m) {
  case mode::order_process:
    return std::make_unique<order_worker>(offering, waldur, env, upkeep);
  case mode::event_process:
    return make_event_worker(offering, waldur, env, upkeep, std::move(extras));
  case mode::membership_sync:
    return std::make_unique<sync_worker>(offering, waldur, upkeep);
  case mode::report:
    return std::make_unique<report_worker>(offering, waldur, upkeep);
  }
  return nullptr;
}

bool takes_part(const offering_context& offering, mode m) {
  const config::offering& c = offering.config();
  const std::string shown(name_of(m));
  const bool has_members = c.stomp_membership_sync_enabled && !c.membership_sync_backend.empty();
  const bool is_off = m == mode::order_process ? c.order_processing_backend.empty()
                      : m == mode::event_process
                          ? c.order_processing_backend.empty() && !has_members
                      : m == mode::membership_sync ? c.membership_sync_backend.empty()
                                                   : c.reporting_backend.empty();
  if (is_off) {
    offering.log().info("role is off for this offering", {{"mode", shown}});
    return false;
  }
  if (m == mode::event_process) {
    if (!c.stomp_enabled) {
      offering.log().info("offering is polled (stomp_enabled: false)", {{"mode", shown}});
    }
    return c.stomp_enabled;
  }
  const bool by_events = m == mode::order_process     ? c.stomp_enabled
                         : m == mode::membership_sync ? c.stomp_membership_sync_enabled
                                                      : false;
  if (by_events) {
    offering.log().info(
        "offering is driven by events (stomp_enabled), which mode event_process serves",
        {{"mode", shown}}
    );
  }
  return !by_events;
}

} // namespace siteagent::agent
