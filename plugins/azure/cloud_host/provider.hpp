// SPDX-License-Identifier: MIT
// The cloud host provider: each method turns the host's request into calls of the parts, and their
// results into emitted objects and failures.
#pragma once

#include "plugins/azure/backend.hpp"
#include "plugins/azure/cloud_host/access.hpp"
#include "plugins/azure/cloud_host/host_settings.hpp"

#include <sagent/cpp/plugin.hpp>

#include <memory>

namespace siteagent::azure::cloud_host {

// [any thread] Every method may run many times at once.
class provider : public sagent::cloud_host_provider {
public:
  // Throws sagent::failure (SAGENT_E_INVALID) for settings that cannot work.
  provider(sagent::host host, const sagent::request& request, const dependencies& d);

  static const char* settings_schema() { return host_settings_schema(); }

  static const char* describe() { return description(); }

  static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;

  void validate_host(sagent::call& call, const sagent::request& request) override;
  void price_size(sagent::call& call, const sagent::request& request) override;
  void credit_balance(sagent::call& call, const sagent::request& request) override;
  void admit_addresses(sagent::call& call, const sagent::request& request) override;
  void create_host(sagent::call& call, const sagent::request& request) override;
  void host_state(sagent::call& call, const sagent::request& request) override;
  void list_hosts(sagent::call& call, const sagent::request& request) override;
  void delete_host(sagent::call& call, const sagent::request& request) override;
  void check(sagent::call& call, const sagent::request& request) override;

private:
  // Signed in, or the call fails.
  const services& entered(const sagent::call& call, const sagent::request& request) const;

  const host_settings s_;
  const base::clock& clock_;
  const std::unique_ptr<net::transport> transport_;
  const access access_;
  const price_client prices_;
};

// Local rules of Azure's; `invalid` with detail {"field"}. The size in Azure's spelling.
base::result<std::string> checked_place(const base::json& body);

} // namespace siteagent::azure::cloud_host
