// SPDX-License-Identifier: MIT
// Who the provider is in Azure: the managed identity of this machine, else the stored service
// principal. Chosen with the first call that needs it.
#pragma once

#include "plugins/azure/cloud_host/host_settings.hpp"
#include "plugins/azure/services.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace siteagent::azure::cloud_host {

// [any thread] Everything referred to must outlive it.
class access {
public:
  access(
      const host_settings& s,
      const sagent::host& host,
      net::transport& transport,
      const base::clock& clock,
      registry& shared
  )
      : s_(s), host_(host), transport_(transport), clock_(clock), shared_(shared) {}

  // The identity gets two seconds. Refused by both: one error that names both refusals.
  base::result<const services*> enter(const sagent::call& call, std::string_view trace_id) const;

  // After enter: "managed identity of this machine" or "service principal ...".
  std::string who() const;

  // By the billing credential, at the billing origin. Needs s.billing.
  const services& billing() const;

private:
  base::result<void> try_identity(const sagent::call& call, std::string_view trace_id) const;

  const host_settings& s_;
  const sagent::host host_;
  net::transport& transport_;
  const base::clock& clock_;
  registry& shared_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<services> identity_;
  mutable std::unique_ptr<services> principal_;
  mutable std::unique_ptr<services> billing_;
  mutable const services* chosen_ = nullptr;
};

} // namespace siteagent::azure::cloud_host
