// SPDX-License-Identifier: MIT
// Retry arithmetic as pure functions: what a status means, what Retry-After says, how long to wait.
#pragma once

#include "core/base/clock.hpp"
#include "core/net/transport.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace siteagent::net {

// Retry-After in seconds (also fractional) or as an HTTP date, retry-after-ms and
// x-ms-retry-after-ms in milliseconds. Past dates and negative values read as 0; nonsense as
// nullopt. Capped at 24 h. The milliseconds win; a date is measured from the answer's own Date
// header when it has one (the two clocks may differ), else from `now`.
std::optional<std::chrono::milliseconds> retry_after(const response& r, base::wall_time now);

// 408, 429, 500, 502, 503, 504: the same request may work later.
bool is_transient_status(int status);

struct backoff {
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds cap{60'000};

  // Attempt 0, 1, 2, ...: first * 2^attempt up to cap, times 0.5 + jitter/2 with jitter in [0,1].
  // Never before `advice`.
  std::chrono::milliseconds delay(
      unsigned attempt, double jitter, std::optional<std::chrono::milliseconds> advice = {}
  ) const;
};

double random_jitter(); // [0,1); [any thread]

// The page number of rel="next" in a Link header (Waldur). nullopt: no next page. The URL's host
// is never looked at. Empty: there is a next page, but its URL does not say which: an error, or the
// list would end early.
std::optional<std::string> next_page(const response& r);

} // namespace siteagent::net
