// SPDX-License-Identifier: MIT
// The resource backend: each method turns the host's request into calls of the parts, and their
// results into emitted objects and failures.
#pragma once

#include "core/base/clock.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/metadata.hpp"
#include "plugins/azure/metering.hpp"
#include "plugins/azure/services.hpp"
#include "plugins/azure/settings.hpp"

#include <sagent/cpp/plugin.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace siteagent::azure {

// What differs between the product and its tests.
struct dependencies {
  std::function<std::unique_ptr<net::transport>(const settings& s)> make_transport;
  const base::clock* clock = nullptr;
  registry* shared = nullptr;
};

// [any thread] Every method may run many times at once.
class backend : public sagent::resource_backend {
public:
  // Throws sagent::failure (SAGENT_E_INVALID) for settings that cannot work.
  backend(sagent::host host, const sagent::request& request, const dependencies& d);

  static const char* settings_schema() { return azure::settings_schema(); }

  static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;

  void ping(sagent::call& call, const sagent::request& request) override;
  void evaluate_order(sagent::call& call, const sagent::request& request) override;
  void create_resource(sagent::call& call, const sagent::request& request) override;
  void delete_resource(sagent::call& call, const sagent::request& request) override;
  void pause(sagent::call& call, const sagent::request& request) override;
  void downscale(sagent::call& call, const sagent::request& request) override;
  void restore(sagent::call& call, const sagent::request& request) override;
  void pull_resources(sagent::call& call, const sagent::request& request) override;
  void report_usage(sagent::call& call, const sagent::request& request) override;
  void list_resources(sagent::call& call, const sagent::request& request) override;
  void set_resource_limits(sagent::call& call, const sagent::request& request) override;
  void diagnostics(sagent::call& call, const sagent::request& request) override;
  void describe(sagent::call& call, const sagent::request& request) override;
  void add_members(sagent::call& call, const sagent::request& request) override;
  void remove_members(sagent::call& call, const sagent::request& request) override;

private:
  void change_power(sagent::call& call, const sagent::request& request, bool to_running);
  void list_objects(sagent::call& call, const base::json& body, const arm::scope& scope);
  void list_machines(sagent::call& call, const base::json& body, const arm::scope& scope);

  // usage.cpp
  struct usage_reading;
  usage_reading read_usage(const arm::scope& scope, const base::json& body) const;
  base::json total_of(
      const arm::scope& scope,
      const machine_facts& facts,
      const base::json& components,
      const usage_reading& reading
  ) const;
  std::optional<base::json> measure_hours(
      const arm::scope& scope,
      const machine_facts& facts,
      const base::json& components,
      const usage_reading& reading
  ) const;
  // What a machine of that size has; nullopt: not known, and said.
  std::optional<allocation> allocation_of(
      const arm::scope& scope,
      const base::json& model,
      const std::string& size,
      const std::map<std::string, std::int64_t>& disks
  ) const;
  // Snapshot figures of one machine in the components' units; null: cannot be measured.
  base::json measure(
      const arm::scope& scope,
      const base::json& model,
      const base::json& components,
      const std::map<std::string, std::int64_t>& disks
  ) const;

  const settings s_;
  const base::clock& clock_;
  const std::unique_ptr<net::transport> transport_;
  const services cloud_;
};

} // namespace siteagent::azure
