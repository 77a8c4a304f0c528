// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/throttle.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure::arm {

using std::chrono::milliseconds;

std::string throttle::class_of(std::string_view method, std::string_view url) {
  const std::string lower = base::to_lower(url.substr(0, url.find('?')));
  const std::string kind = method == "GET" || method == "HEAD" ? "read"
                           : method == "DELETE"                ? "delete"
                                                               : "write";
  const auto at = lower.find("/providers/");
  if (at == std::string::npos) {
    return kind + " resources";
  }
  const std::string rest = lower.substr(at + std::string_view("/providers/").size());
  return kind + " " + rest.substr(0, rest.find('/'));
}

milliseconds throttle::pause_left(const std::string& call_class, base::steady_time now) const {
  const std::lock_guard guard(mutex_);
  const auto it = classes_.find(call_class);
  if (it == classes_.end() || it->second.until <= now) {
    return milliseconds(0);
  }
  return std::chrono::ceil<milliseconds>(it->second.until - now);
}

milliseconds throttle::refused(
    const std::string& call_class,
    base::steady_time now,
    std::optional<milliseconds> advice,
    milliseconds first
) {
  const std::lock_guard guard(mutex_);
  state& s = classes_[call_class];
  const unsigned doublings = std::min(s.strikes, 8U);
  const milliseconds guess =
      std::min<milliseconds>(first * 10 * (1U << doublings), std::chrono::minutes(5));
  // An advice of 0 is no advice: repeating at once is what was refused.
  const milliseconds pause = advice && *advice > milliseconds(0) ? std::max(*advice, first) : guess;
  ++s.strikes;
  s.until = std::max(s.until, now + pause);
  return std::chrono::ceil<milliseconds>(s.until - now);
}

void throttle::accepted(const std::string& call_class) {
  const std::lock_guard guard(mutex_);
  const auto it = classes_.find(call_class);
  if (it != classes_.end()) {
    it->second.strikes = 0;
  }
}

} // namespace siteagent::azure::arm
