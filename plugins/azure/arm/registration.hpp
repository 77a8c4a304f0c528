// SPDX-License-Identifier: MIT
// Resource providers a subscription has not registered yet: registered on the first write that
// needs them, by one thread at a time, for all instances of the subscription.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/arm/error_body.hpp"
#include "plugins/azure/arm/scope.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

class pipeline;

// The namespace a MissingSubscriptionRegistration names, "Microsoft.Compute"; "" when the answer is
// another one, or names nothing that can be a namespace.
std::string missing_provider(const error_body& body);

// [any thread]
class registrar {
public:
  // Registers `provider` in the subscription of `url` (path or absolute) and waits until Azure
  // reports Registered, at most ten minutes. Blocks while another thread does it. Errors: not_ready
  // (reason configuration) naming the missing right and the command for an owner, remembered for a
  // minute; stopped; whatever the calls met.
  base::result<void>
  ensure(const pipeline& arm, const scope& call, std::string_view url, const std::string& provider);

private:
  struct entry {
    bool busy = false;
    std::optional<base::error> refusal;
    base::steady_time until{};
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, entry> entries_; // by provider, lower case
};

} // namespace siteagent::azure::arm
