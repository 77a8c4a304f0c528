// SPDX-License-Identifier: MIT
// The call budget of one subscription, shared by all instances and orders: pauses that Azure asked
// for, own token buckets at 80 % of Azure's, so that it seldom has to ask, and what its answers say
// is left. Waiting is the caller's. [any thread]
#pragma once

#include "core/base/clock.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/arm/call_class.hpp"
#include "plugins/azure/arm/error_body.hpp"
#include "plugins/azure/arm/token_bucket.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::arm {

class throttle {
public:
  using milliseconds = std::chrono::milliseconds;

  // How long calls of this class must still wait because Azure said so; 0: go. A class without a
  // region is held by the pauses of all regions, and its own pauses hold all regions.
  milliseconds pause_left(const call_class& c, base::steady_time now) const;

  // Takes the call's turn in its buckets; the call goes after the returned wait. nullopt: that
  // would be longer than `longest`, nothing was taken. `unit`: what counts as a second (1 s;
  // rehearsals with shorter pauses have shorter seconds); a bucket keeps the unit it began with.
  std::optional<milliseconds>
  take_turn(const call_class& c, base::steady_time now, milliseconds unit, milliseconds longest);
  // A turn that was not used after all.
  void give_back(const call_class& c, base::steady_time now);

  // How long a read that can wait (metering, status lists) leaves what is left to the others; 0:
  // the last answers had more than 10 % of their highest value.
  milliseconds courtesy(const call_class& c, base::steady_time now) const;

  // A 429 came. Its words tell how far it reaches: the whole subscription (ARM's front door), one
  // bucket of the compute provider (details.target), else kind x provider x region. Without usable
  // advice: ten units, doubling up to five minutes while it goes on. At least a unit, at most an
  // hour. Returns the pause now in force.
  milliseconds refused(
      const call_class& c,
      const error_body& body,
      base::steady_time now,
      std::optional<milliseconds> advice,
      milliseconds unit
  );
  // Any other answer: the class works again. Reads x-ms-ratelimit-remaining-*.
  void answered(
      const call_class& c, const net::header_list& headers, base::steady_time now, milliseconds unit
  );

private:
  struct pause {
    base::steady_time until{};
    unsigned strikes = 0;
  };

  struct remainder {
    std::int64_t highest = 0;
    base::steady_time scarce_until{};
  };

  void note_remainder(
      const std::string& key,
      std::string_view header,
      std::int64_t left,
      base::steady_time now,
      milliseconds refill
  );
  void forget_full(base::steady_time now);

  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, pause>> pauses_; // by key, then region
  std::map<std::string, token_bucket> buckets_;
  std::map<std::string, std::map<std::string, remainder, std::less<>>> left_; // by key, then header
};

} // namespace siteagent::azure::arm
