// SPDX-License-Identifier: MIT
// What one instance works with: the pipeline, one client per Azure service built on first use, and
// what all instances of a subscription share.
#pragma once

#include "plugins/azure/activity_log.hpp"
#include "plugins/azure/arm/cached.hpp"
#include "plugins/azure/arm/pipeline.hpp"
#include "plugins/azure/clients/compute.hpp"
#include "plugins/azure/clients/monitor.hpp"
#include "plugins/azure/clients/network.hpp"
#include "plugins/azure/clients/prices.hpp"
#include "plugins/azure/clients/resources.hpp"
#include "plugins/azure/machine_slots.hpp"
#include "plugins/azure/settings.hpp"

#include <sagent/cpp/plugin.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace siteagent::azure {

// Every machine of the subscription: {"id","tags"}.
struct machine_census {
  base::steady_time begun{}; // when the list was asked for
  std::vector<base::json> machines;
};

// Facts about a subscription that change slowly. [any thread]
struct catalogue {
  arm::cached<sizes_by_name> sizes;     // by location
  arm::cached<figures_by_name> figures; // by location
  arm::cached<quota_by_name> compute_quota;
  arm::cached<quota_by_name> network_quota;
  arm::cached<image_info> images; // by location and text
  arm::cached<std::vector<std::string>> locations;
  arm::cached<network_facts> networks; // by id
  arm::cached<prices_by_name> prices;  // by list, currency, what is sold and location
  arm::cached<machine_census> census;
  arm::cached<activity_log> activity;
};

// Names being given out by this process at this moment, so that two orders that look at the same
// free name do not both take it. [any thread]
class name_claims {
public:
  // False: another resource holds the name. A resource may claim the same name again.
  bool take(const std::string& name, const std::string& resource);
  void release_all(const std::string& resource);

private:
  std::mutex mutex_;
  std::map<std::string, std::string> holders_;
};

// Shared by the instances of one subscription (of one cloud).
struct shared_by_subscription {
  arm::throttle throttling;
  arm::registrar providers;
  catalogue facts;
  name_claims names;
  machine_slots slots;
};

// Everything shared by the instances of this plugin; grows by principal and subscription, both few.
class registry {
public:
  std::shared_ptr<arm::token_source> tokens(const arm::principal& who);
  std::shared_ptr<shared_by_subscription>
  subscription(const std::string& resource_manager, const std::string& id);

private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<arm::token_source>> tokens_;
  std::map<std::string, std::shared_ptr<shared_by_subscription>> subscriptions_;
};

// The process's registry. Never destroyed: instances may outlive static destruction.
registry& process_registry();

// [any thread]
class services {
public:
  services(
      const settings& s,
      const sagent::host& host,
      net::transport& transport,
      const base::clock& clock,
      registry& shared
  );

  const arm::pipeline& arm() const { return arm_; }

  const base::clock& clock() const { return clock_; }

  catalogue& facts() const { return shared_->facts; }

  name_claims& names() const { return shared_->names; }

  machine_slots& slots() const { return shared_->slots; }

  const std::optional<host_waits>& hosts() const { return hosts_; }

  const resources_client& resources() const;
  const compute_client& compute() const;
  const network_client& network() const;
  const monitor_client& monitor() const;
  const price_client& prices() const;

  void info(std::string_view text) const { host_.log(SAGENT_LOG_INFO, text); }

  void warn(std::string_view text) const { host_.log(SAGENT_LOG_WARNING, text); }

  void protect(std::string_view secret) const { host_.protect(secret); }

private:
  const std::string subscription_;
  const std::string price_origin_;
  const std::string currency_;
  const std::optional<host_waits> hosts_;
  const sagent::host host_;
  const base::clock& clock_;
  std::shared_ptr<shared_by_subscription> shared_;
  arm::pipeline arm_;
  mutable std::once_flag resources_once_;
  mutable std::once_flag compute_once_;
  mutable std::once_flag network_once_;
  mutable std::once_flag monitor_once_;
  mutable std::once_flag prices_once_;
  mutable std::unique_ptr<resources_client> resources_;
  mutable std::unique_ptr<compute_client> compute_;
  mutable std::unique_ptr<network_client> network_;
  mutable std::unique_ptr<monitor_client> monitor_;
  mutable std::unique_ptr<price_client> prices_;
};

} // namespace siteagent::azure
