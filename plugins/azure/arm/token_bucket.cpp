// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/token_bucket.hpp"

#include <algorithm>
#include <cmath>

namespace siteagent::azure::arm {

using std::chrono::milliseconds;

namespace {

// Sums of fractions end a hair below the whole turn they mean.
constexpr double hair = 1e-6;

} // namespace

void token_bucket::refill(base::steady_time now) {
  if (now <= at_) {
    return;
  }
  const std::chrono::duration<double> passed = now - at_;
  level_ = std::min(size_.capacity, level_ + passed.count() * size_.per_second);
  at_ = now;
}

milliseconds token_bucket::wait(base::steady_time now) {
  refill(now);
  const double missing = 1.0 - level_;
  if (missing <= hair) {
    return milliseconds(0);
  }
  return milliseconds(static_cast<std::int64_t>(std::ceil(1'000.0 * missing / size_.per_second)));
}

void token_bucket::take(base::steady_time now) {
  refill(now);
  level_ -= 1.0;
}

void token_bucket::give_back(base::steady_time now) {
  refill(now);
  level_ = std::min(size_.capacity, level_ + 1.0);
}

bool token_bucket::is_full(base::steady_time now) {
  refill(now);
  return level_ >= size_.capacity - hair;
}

} // namespace siteagent::azure::arm
