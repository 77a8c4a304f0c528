// SPDX-License-Identifier: MIT
// The public retail price list. Anybody may read it: no token is ever sent there.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/arm/scope.hpp"
#include "plugins/azure/prices.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace siteagent::azure {

struct price_options {
  std::string origin;   // "https://prices.azure.com"; empty: there is no price list
  std::string currency; // "USD": the price; others are conversions
  net::transport* transport = nullptr;
  const base::clock* clock = nullptr;
  arm::milliseconds floor{1'000}; // the unit of every pause
};

// [any thread] Every query is read to its last page or is an error; a 429 keeps all queries back.
class price_client {
public:
  explicit price_client(price_options options) : o_(std::move(options)) {}

  // Hours of every machine size of a location ("westeurope").
  base::result<prices_by_name> machines(const arm::scope& call, std::string_view location) const;
  // The same of one size, spelled as the list spells it.
  base::result<prices_by_name>
  machine(const arm::scope& call, std::string_view location, std::string_view size) const;
  // Months of the tiers of one product, "Premium SSD Managed Disks".
  base::result<prices_by_name>
  disks(const arm::scope& call, std::string_view location, std::string_view product) const;
  // Hours of a public address.
  base::result<prices_by_name> addresses(const arm::scope& call, std::string_view location) const;

  const std::string& origin() const { return o_.origin; }

  const std::string& currency() const { return o_.currency; }

private:
  using row_reader = void (*)(prices_by_name&, const base::json&, std::string_view);

  base::result<prices_by_name> query(
      const arm::scope& call, const std::string& filter, std::string_view location, row_reader add
  ) const;
  base::result<base::json> page(const arm::scope& call, const std::string& url) const;
  base::result<net::response> attempt(const arm::scope& call, const std::string& url) const;

  const price_options o_;
  mutable std::mutex mutex_;
  mutable base::steady_time not_before_{};
};

} // namespace siteagent::azure
