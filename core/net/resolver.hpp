// SPDX-License-Identifier: MIT
// Host names to addresses on threads of our own, with a deadline and a short memory: a hung name
// server must stop neither the caller nor the HTTP library.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::net {

// Runs on a resolver thread and may block there; several at once. Text addresses, best first.
using lookup_function =
    std::function<base::result<std::vector<std::string>>(const std::string& host)>;

// getaddrinfo: IPv4 and IPv6 as the machine has them. `transient` on failure.
base::result<std::vector<std::string>> system_lookup(const std::string& host);

class resolver {
public:
  // An answer is remembered for `keep`; a failure is not.
  explicit resolver(
      lookup_function lookup = system_lookup,
      std::chrono::milliseconds keep = std::chrono::seconds(30)
  );
  // Does not wait for lookups under way: they end on their own and are then forgotten.
  ~resolver();
  resolver(const resolver&) = delete;
  resolver& operator=(const resolver&) = delete;

  // [any thread]; blocks at most until `deadline`. One lookup per name runs at a time, whoever
  // asks; at least one address in a value. Errors: `transient` (lookup failed, or too many hang),
  // `deadline`, `cancelled` (`stop_requested`, polled about every 50 ms, said so; may be empty).
  base::result<std::vector<std::string>> resolve(
      const std::string& host,
      base::steady_time deadline,
      const std::function<bool()>& stop_requested
  );
  // The remembered answer did not help: ask again next time.
  void forget(const std::string& host);

private:
  struct state;
  std::shared_ptr<state> state_; // shared with the lookup threads, which may outlive us
};

// Is the text an IPv4 or IPv6 address, so that there is nothing to look up?
bool is_address(const std::string& host);

} // namespace siteagent::net
