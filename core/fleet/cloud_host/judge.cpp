// SPDX-License-Identifier: MIT
// Is a host busy, idle, or idle for too long? No I/O here.
#include "core/fleet/cloud_host/reap.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace siteagent::fleet::cloud_host {

namespace {

constexpr std::int64_t largest_skew = 3600;

std::string busy_cause(const host_reading& r) {
  std::vector<std::string> parts;
  std::vector<std::string> kept;
  std::size_t running = 0;
  for (const standing_run& run : r.runs) {
    if (run.state == "kept") {
      kept.push_back(run.name);
    } else if (run.state != "dead") {
      ++running;
    }
  }
  if (running > 0) {
    parts.push_back(std::to_string(running) + " run(s)");
  }
  if (!kept.empty()) {
    parts.push_back("kept: " + base::join(kept, ", "));
  }
  if (r.cargo > 0) {
    parts.push_back(std::to_string(r.cargo) + " cargo");
  }
  if (r.rustc > 0) {
    parts.push_back(std::to_string(r.rustc) + " rustc");
  }
  if (r.is_booting) {
    parts.push_back("the first boot is not finished");
  }
  return base::join(parts, ", ");
}

std::string rfc3339_of(std::int64_t epoch) {
  return base::to_rfc3339(base::wall_time{std::chrono::seconds(epoch)});
}

} // namespace

judgement judge(
    const cloud_declaration& cloud,
    const host_reading& reading,
    base::wall_time now,
    std::chrono::milliseconds longest_boot
) {
  judgement out;
  const auto created_time = base::parse_rfc3339(cloud.created_at);
  // A broken cloud-init may say for ever that it is at work.
  const bool is_booting = reading.is_booting && created_time && now - *created_time <= longest_boot;
  if (reading.is_busy() || is_booting) {
    out.state = "busy";
    out.cause = busy_cause(reading);
    return out;
  }
  if (cloud.idle_minutes < 1) {
    out.state = "unread"; // a slip in the registry must not return a host
    out.cause = "cloud.idle_minutes is no whole number from 1 on";
    return out;
  }
  const std::int64_t here =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::int64_t skew = reading.now - here;
  std::optional<std::int64_t> created;
  if (created_time) {
    created =
        std::chrono::duration_cast<std::chrono::seconds>(created_time->time_since_epoch()).count();
  }
  // An area older than the host was baked into the image: no run ever came.
  const bool is_of_this_host =
      reading.changed && (!created || *reading.changed >= *created - std::abs(skew));
  std::int64_t idle = 0;
  if (is_of_this_host) {
    idle = reading.now - *reading.changed;
    out.since = rfc3339_of(*reading.changed);
  } else if (!created) {
    out.state = "unread";
    out.cause = "no run ever came, and cloud.created_at is no time";
    return out;
  } else if (std::abs(skew) > largest_skew) {
    out.state = "unread";
    out.cause = "clock: the host's differs from this machine's by " +
                std::to_string(std::abs(skew) / 60) + " min";
    return out;
  } else {
    idle = here - *created;
    out.since = rfc3339_of(*created);
  }
  out.idle_seconds = std::max<std::int64_t>(idle, 0);
  // Whole minutes first: a huge number of them has no seconds.
  const std::int64_t past = *out.idle_seconds / 60;
  const bool is_past =
      past > cloud.idle_minutes || (past == cloud.idle_minutes && *out.idle_seconds % 60 > 0);
  out.state = is_past ? "reapable" : "idle";
  return out;
}

} // namespace siteagent::fleet::cloud_host
