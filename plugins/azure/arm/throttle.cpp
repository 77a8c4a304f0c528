// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/throttle.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace siteagent::azure::arm {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr double share = 0.8; // of Azure's figures: others use the subscription, too
constexpr milliseconds longest_guess = std::chrono::minutes(5);
constexpr milliseconds longest_pause = std::chrono::hours(1); // an advice beyond it is a mistake
constexpr std::size_t many_buckets = 512;
constexpr double scarce = 0.1;
constexpr std::int64_t smallest_telling = 10; // below, a tenth says nothing

constexpr milliseconds front_door_refill = seconds(10);
constexpr milliseconds compute_refill = std::chrono::minutes(3);

struct policy_row {
  std::string_view name;
  double alone_per_minute; // per machine or operation; 0: not counted alone
  double alone_capacity;
  double region_per_minute;
  double region_capacity;
};

constexpr std::array<policy_row, 7> compute_buckets{{
    {"PutVM", 4, 12, 500, 1'500},
    {"UpdateVM", 4, 12, 500, 1'500},
    {"DeleteVM", 4, 12, 500, 1'500},
    {"LowCostGet", 12, 36, 8'000, 24'000},
    {"HighCostGet", 0, 0, 300, 900},
    {"GetOperation", 15, 45, 5'000, 15'000},
    {"GuestPatch", 2, 6, 200, 600},
}};

constexpr double network_seconds = 300;
constexpr double network_reads = 10'000;
constexpr double network_writes = 1'000;

bucket_size front_door(call_kind kind) {
  return kind == call_kind::read ? bucket_size{250, 25} : bucket_size{200, 10};
}

std::string kind_word(call_kind kind) {
  return kind == call_kind::read ? "read" : kind == call_kind::write ? "write" : "delete";
}

struct sized_key {
  std::string key;
  bucket_size size; // Azure's own figures
};

// Every bucket a call takes a turn in.
std::vector<sized_key> buckets_of(const call_class& c) {
  std::vector<sized_key> out;
  out.push_back(
      {(c.of_tenant ? "tenant " : "subscription ") + kind_word(c.kind), front_door(c.kind)}
  );
  if (c.provider == "microsoft.network") {
    const bool reads = c.kind == call_kind::read;
    const double size = reads ? network_reads : network_writes;
    out.push_back(
        {std::string("network ") + (reads ? "read " : "write ") + c.region,
         {size, size / network_seconds}}
    );
  }
  for (const policy_row& row : compute_buckets) {
    if (row.name != c.policy) {
      continue;
    }
    const std::string name = "compute " + c.policy + " ";
    out.push_back({name + c.region, {row.region_capacity, row.region_per_minute / 60}});
    if (row.alone_capacity > 0 && !c.subject.empty()) {
      out.push_back({name + c.subject, {row.alone_capacity, row.alone_per_minute / 60}});
    }
  }
  return out;
}

// How far pauses and remainders reach, from all calls of a kind to one bucket.
std::string all_of(call_kind kind) {
  return kind_word(kind) + " *";
}

std::string provider_key(const call_class& c) {
  return kind_word(c.kind) + " " + c.provider;
}

std::string policy_key(std::string_view policy) {
  return "policy " + std::string(policy);
}

std::vector<std::string> keys_of(const call_class& c) {
  std::vector<std::string> out{all_of(c.kind), provider_key(c)};
  if (!c.policy.empty()) {
    out.push_back(policy_key(c.policy));
  }
  return out;
}

std::string reach_of(const call_class& c, const error_body& body) {
  const bool everything = body.find("SubscriptionRequestsThrottled") != nullptr ||
                          body.find("TenantRequestsThrottled") != nullptr;
  if (everything) {
    return all_of(c.kind);
  }
  for (const error_node& node : body.nodes) {
    const std::string_view policy = policy_of_bucket(node.target);
    if (!policy.empty() && c.provider == "microsoft.compute") {
      return policy_key(policy);
    }
  }
  return provider_key(c);
}

// Time in units of `unit`, which is at most a second.
milliseconds scaled(milliseconds time, milliseconds unit) {
  const std::int64_t ms = std::clamp<std::int64_t>(unit.count(), 1, 1'000);
  return milliseconds(time.count() * ms / 1'000);
}

bucket_size ours(bucket_size azure, milliseconds unit) {
  const std::int64_t ms = std::clamp<std::int64_t>(unit.count(), 1, 1'000);
  return {azure.capacity * share, azure.per_second * share * 1'000 / static_cast<double>(ms)};
}

bool holds(const std::string& paused_region, const std::string& region) {
  return paused_region.empty() || region.empty() || paused_region == region;
}

std::optional<std::int64_t> number(std::string_view text) {
  text = base::trim(text);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = problem == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

} // namespace

milliseconds throttle::pause_left(const call_class& c, base::steady_time now) const {
  const std::lock_guard guard(mutex_);
  milliseconds left{0};
  for (const std::string& key : keys_of(c)) {
    const auto found = pauses_.find(key);
    if (found == pauses_.end()) {
      continue;
    }
    for (const auto& [region, p] : found->second) {
      if (holds(region, c.region) && p.until > now) {
        left = std::max(left, std::chrono::ceil<milliseconds>(p.until - now));
      }
    }
  }
  return left;
}

void throttle::forget_full(base::steady_time now) {
  if (buckets_.size() <= many_buckets) {
    return;
  }
  for (auto it = buckets_.begin(); it != buckets_.end();) {
    it = it->second.is_full(now) ? buckets_.erase(it) : std::next(it);
  }
}

std::optional<milliseconds> throttle::take_turn(
    const call_class& c, base::steady_time now, milliseconds unit, milliseconds longest
) {
  const std::lock_guard guard(mutex_);
  forget_full(now);
  std::vector<token_bucket*> all;
  milliseconds wait{0};
  for (const sized_key& wanted : buckets_of(c)) {
    token_bucket& b = buckets_.try_emplace(wanted.key, ours(wanted.size, unit), now).first->second;
    wait = std::max(wait, b.wait(now));
    all.push_back(&b);
  }
  if (wait > longest) {
    return std::nullopt;
  }
  for (token_bucket* b : all) {
    b->take(now);
  }
  return wait;
}

void throttle::give_back(const call_class& c, base::steady_time now) {
  const std::lock_guard guard(mutex_);
  for (const sized_key& wanted : buckets_of(c)) {
    const auto it = buckets_.find(wanted.key);
    if (it != buckets_.end()) {
      it->second.give_back(now);
    }
  }
}

milliseconds throttle::courtesy(const call_class& c, base::steady_time now) const {
  const std::lock_guard guard(mutex_);
  milliseconds wait{0};
  for (const std::string& key : keys_of(c)) {
    const auto found = left_.find(key);
    if (found == left_.end()) {
      continue;
    }
    for (const auto& [header, r] : found->second) {
      if (r.scarce_until > now) {
        wait = std::max(wait, std::chrono::ceil<milliseconds>(r.scarce_until - now));
      }
    }
  }
  return wait;
}

milliseconds throttle::refused(
    const call_class& c,
    const error_body& body,
    base::steady_time now,
    std::optional<milliseconds> advice,
    milliseconds unit
) {
  const std::lock_guard guard(mutex_);
  const std::string reach = reach_of(c, body);
  pause& p = pauses_[reach][reach == all_of(c.kind) ? std::string() : c.region];
  const unsigned doublings = std::min(p.strikes, 8U);
  const milliseconds guess = std::min<milliseconds>(unit * 10 * (1U << doublings), longest_guess);
  // An advice of 0 is no advice: repeating at once is what was refused.
  const bool usable = advice && *advice > milliseconds(0);
  const milliseconds time =
      std::clamp(usable ? *advice : guess, unit, std::max(unit, longest_pause));
  ++p.strikes;
  p.until = std::max(p.until, now + time);
  return std::chrono::ceil<milliseconds>(p.until - now);
}

void throttle::note_remainder(
    const std::string& key,
    std::string_view header,
    std::int64_t left,
    base::steady_time now,
    milliseconds refill
) {
  auto& rows = left_[key];
  const auto it = rows.find(header);
  remainder& r = it == rows.end() ? rows[std::string(header)] : it->second;
  r.highest = std::max(r.highest, left);
  r.scarce_until = {};
  if (r.highest < smallest_telling) {
    return;
  }
  const double part = static_cast<double>(left) / static_cast<double>(r.highest);
  if (part < scarce) {
    // Until the bucket holds its tenth again.
    const auto time =
        static_cast<std::int64_t>(static_cast<double>(refill.count()) * (scarce - part));
    r.scarce_until = now + milliseconds(std::max<std::int64_t>(time, 1));
  }
}

void throttle::answered(
    const call_class& c, const net::header_list& headers, base::steady_time now, milliseconds unit
) {
  constexpr std::string_view prefix = "x-ms-ratelimit-remaining-";
  const std::lock_guard guard(mutex_);
  for (const std::string& key : keys_of(c)) {
    const auto found = pauses_.find(key);
    if (found == pauses_.end()) {
      continue;
    }
    for (auto& [region, p] : found->second) {
      p.strikes = holds(region, c.region) ? 0 : p.strikes;
    }
  }
  for (const auto& [name, value] : headers) {
    if (name.rfind(prefix, 0) != 0) {
      continue;
    }
    if (name != "x-ms-ratelimit-remaining-resource") {
      if (const auto left = number(value)) {
        note_remainder(all_of(c.kind), name, *left, now, scaled(front_door_refill, unit));
      }
      continue;
    }
    // "Microsoft.Compute/PutVM3Min;237,Microsoft.Compute/PutVM30Min;1182", and it may come twice.
    for (const std::string_view item : base::split(value, ',')) {
      const auto slash = item.find('/');
      const auto semicolon = item.find(';');
      if (semicolon == std::string_view::npos || slash == std::string_view::npos ||
          slash > semicolon) {
        continue;
      }
      const std::string_view bucket = item.substr(slash + 1, semicolon - slash - 1);
      const std::string_view policy = policy_of_bucket(bucket);
      const auto left = number(item.substr(semicolon + 1));
      if (left && !policy.empty()) {
        note_remainder(policy_key(policy), bucket, *left, now, scaled(compute_refill, unit));
      }
    }
  }
}

} // namespace siteagent::azure::arm
