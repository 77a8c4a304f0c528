// SPDX-License-Identifier: MIT
#include "core/fleet/limits.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>

namespace siteagent::fleet {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t most_seconds = 86'400;

struct rule {
  std::string_view key;
  milliseconds host_limits::*field;
  milliseconds unit;
};

constexpr std::array rules{
    rule{"ssh_up", &host_limits::ssh_up, seconds(1)},
    rule{"probe_ms", &host_limits::probe, milliseconds(1)},
    rule{"boot", &host_limits::boot, seconds(1)},
    rule{"channel_read", &host_limits::channel_read, seconds(1)},
    rule{"egress", &host_limits::egress, seconds(1)},
    rule{"operation", &host_limits::operation, seconds(1)},
    rule{"rollback_retry", &host_limits::rollback_retry, seconds(1)},
    rule{"poll_ms", &host_limits::poll, milliseconds(1)},
    rule{"reap_pass", &host_limits::reap_pass, seconds(1)},
    rule{"lock_wait", &host_limits::lock_wait, seconds(1)},
};
constexpr std::string_view marker_stale = "marker_stale";

base::error broken(std::string_view key, const std::string& rule) {
  return {
      base::error_code::invalid,
      "cloud_host.limits" + (key.empty() ? "" : "." + std::string(key)) + " " + rule};
}

base::result<milliseconds> read(std::string_view key, const base::json& value, milliseconds unit) {
  const std::int64_t most = seconds(most_seconds) / unit;
  const auto number = value.is_number() ? value.integer() : std::nullopt;
  if (!number || *number < 1 || *number > most) {
    return broken(
        key,
        "is no whole number of " + std::string(unit == seconds(1) ? "seconds" : "milliseconds") +
            " from 1 to " + std::to_string(most)
    );
  }
  return *number * unit;
}

base::error unknown(std::string_view key) {
  std::vector<std::string_view> names{marker_stale};
  std::transform(rules.begin(), rules.end(), std::back_inserter(names), [](const rule& r) {
    return r.key;
  });
  const std::string_view near = base::nearest(key, names);
  return broken(
      key, "is no limit" + (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?")
  );
}

} // namespace

base::result<host_limits> limits_of(const base::json& section) {
  host_limits limits;
  if (!section.is_null() && !section.is_object()) {
    return broken("", "is no object");
  }
  for (const auto& [key, value] : section.members()) {
    if (key.starts_with("_")) {
      continue; // a comment
    }
    const auto* r = std::find_if(
        rules.begin(),
        rules.end(),
        [&, k = std::string_view(key)](const rule& candidate) { return candidate.key == k; }
    );
    if (r == rules.end() && key != marker_stale) {
      return unknown(key);
    }
    const auto time = read(key, value, r == rules.end() ? milliseconds(seconds(1)) : r->unit);
    if (!time) {
      return time.error();
    }
    if (r == rules.end()) {
      limits.marker_stale = std::chrono::duration_cast<seconds>(*time);
    } else {
      limits.*(r->field) = *time;
    }
  }
  return limits;
}

base::result<host_limits> limits_of(const profile& p) {
  const base::json* section = p.find("cloud_host.limits");
  auto limits = limits_of(section == nullptr ? base::json() : *section);
  return limits ? std::move(limits) : with_context(std::move(limits).error(), p.file());
}

} // namespace siteagent::fleet
